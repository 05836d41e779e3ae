"""The checks of the matrices: rows against rows, and against published files."""
