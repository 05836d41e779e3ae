"""Environments on disk: where they are, their records, locks, transactions and roll-back."""
