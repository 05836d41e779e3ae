"""`gpuenv demo`: machines that are not here, and what gpuenv says to each."""
