"""The script that brings gpuenv and environments to a bare Linux machine."""
