"""Command line of recollect, one module per command group."""
