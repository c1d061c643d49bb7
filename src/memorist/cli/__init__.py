"""The command line has one module per group of commands, and each command is a thin call of `Memory`."""
