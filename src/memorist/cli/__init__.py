"""The command line: one module per group of commands, each command a thin call of `Memory`."""
