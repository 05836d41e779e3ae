"""Who runs the node program on many machines: Ansible or Slurm, as the lab has them."""
