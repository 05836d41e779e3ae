"""`gpuenv mirrors`: check, use, reset."""
