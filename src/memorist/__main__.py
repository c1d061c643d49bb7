"""Runs the command line, for `memorist` and `python -m memorist`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. A hook runs without loading it, because agents wait for hooks at every prompt."""
    arguments = sys.argv[1:]
    if "hook" in arguments:
        from .agents.hook import main as run_hook
        from .agents.hook import read_options

        index = arguments.index("hook")
        options = read_options([*arguments[:index], *arguments[index + 1 :]])
        if options is not None:
            run_hook(options)
    from .cli.main import main as run_command

    run_command()


if __name__ == "__main__":
    main()
