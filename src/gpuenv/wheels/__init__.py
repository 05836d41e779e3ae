"""What stands in a wheel, read without downloading it."""
