"""The command line: `app` runs it, and `commands` has one file for each command."""
