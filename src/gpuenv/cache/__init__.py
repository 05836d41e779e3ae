"""gpuenv's cache: what is in it, how large it is, emptying it."""
