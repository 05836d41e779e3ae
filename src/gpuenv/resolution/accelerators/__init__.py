"""Builds for accelerators that are no NVIDIA GPUs: which kind a machine gets, and which builds there are."""
