"""Many machines: groups, Ansible, Slurm, the report."""
