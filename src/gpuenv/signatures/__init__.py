"""Known error messages, and looking for them in a text."""
