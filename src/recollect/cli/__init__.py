"""The command line: one file per command group, each command a thin call of Memory."""
