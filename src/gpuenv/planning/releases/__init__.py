"""The plan with the newest releases of projects that pin torch: read, then planned with."""
