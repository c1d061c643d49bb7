"""The test suites of the frameworks, run with our classes in the place of theirs. `python -m tests.upstream --help`."""
