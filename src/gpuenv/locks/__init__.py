"""Lock files: written from plans, and read back as plans."""
