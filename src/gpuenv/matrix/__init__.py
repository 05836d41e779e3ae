"""`gpuenv matrix`: show, inspect, refresh."""
