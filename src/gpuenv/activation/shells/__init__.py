"""What shells are given to evaluate: one module a syntax."""
