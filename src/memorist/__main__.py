"""Runs the command line for `python -m memorist`."""

from memorist.cli.main import main

if __name__ == "__main__":
    main()
