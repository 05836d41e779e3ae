"""Untrusted text: parsed within bounds, printed without control characters."""
