"""`list`, `info` and `export`: reading what is there."""
