"""The decision: candidates, rules, order of preference, refusals, advice, the plan."""
