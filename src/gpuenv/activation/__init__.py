"""What entering an environment changes, for shells, `gpuenv run`, subshells and Jupyter."""
