"""Container images to start from."""
