"""Doctor's checks: one module a check, each judging the same findings; `checks` has them in order."""
