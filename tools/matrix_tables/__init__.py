"""What `build_matrices.py` is made of: one module a table, each from the facts to rows."""
