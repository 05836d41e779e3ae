"""Large files brought to disk: resumed, in parallel ranges where that is faster, hashed as they come."""
