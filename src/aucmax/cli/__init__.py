"""The command line: `process` begins and ends it, `app` runs it, and `commands` has one file for each command."""
