"""`clone` and `rename`: environments copied and moved."""
