"""Runs the command line for `python -m recollect`."""

from recollect.cli.main import main

if __name__ == "__main__":
    main()
