"""Texts by their ids, and their translations."""
