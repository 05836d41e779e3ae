"""The reference of commands and options, read from the program, as pages and as a manual page."""
