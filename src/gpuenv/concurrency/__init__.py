"""Work in a thread beside."""
