"""The matrices as values, and the fields of their tables."""
