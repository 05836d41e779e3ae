"""What an error message or a log means: `gpuenv explain`."""
