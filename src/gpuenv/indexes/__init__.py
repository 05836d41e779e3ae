"""Indexes, wheelhouses, channels and mirrors: reading pages, and the configuration of pip and uv."""
