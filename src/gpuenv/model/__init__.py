"""Plans, machines, builds, indexes, errors: frozen values, without IO and without decisions."""
