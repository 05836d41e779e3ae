"""Checks of findings, a module a subject, and the diagnosis made of them."""
