"""Passwords and tokens in addresses: hidden in texts, handed on by variables."""
