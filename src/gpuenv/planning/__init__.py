"""From options to a plan: reads what a decision depends on, then decides."""
