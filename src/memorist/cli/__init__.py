"""Implements the command line. There is one module per group of commands, and each command is a thin wrapper around
`Memory`."""
