"""Doctor's checks: a module a subject, a function a check, all judging the same findings."""
