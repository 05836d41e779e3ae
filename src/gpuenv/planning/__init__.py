"""From options to a plan: what a decision depends on is obtained, and the decision asked for."""
