"""Edits of people's configuration files: only the keys asked for change, every other byte stays.

Each module knows one format and has the same two functions: `read_settings` and `write_settings`. What is
written is read again and compared before it is returned.
"""
