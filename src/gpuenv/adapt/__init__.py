"""Existing dependency files, changed as little as needed to run here: `plan --adapt`, `create --adapt`."""
