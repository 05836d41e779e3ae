"""People's configuration files: read, written in one step, and what was there before kept."""
