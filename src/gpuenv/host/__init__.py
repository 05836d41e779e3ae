"""What this machine is: driver, GPUs, system, toolkit, conda tools, Pythons."""
