"""Verification: a program that runs in an environment, its report and the verdict."""
