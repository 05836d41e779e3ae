"""Changes of an existing environment: `install`, `uninstall`, `update`."""
