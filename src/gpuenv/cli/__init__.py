"""Programs that start `gpuenv`; see `gpuenv.cli` for the commands."""
