"""Making, proving and managing environments."""
