"""What gpuenv does while it does it: programs that it runs, addresses that it asks."""
