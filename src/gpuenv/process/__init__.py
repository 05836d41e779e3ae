"""The one package that starts processes; signals, and what is printed by programs."""
