"""The command line: parses options, calls one function, prints."""
