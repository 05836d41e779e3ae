"""Why torch does not use the GPU: findings, checks, the root cause, the repair."""
