"""Prints exceptions as one line, or as one JSON object, and maps them to exit statuses."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from ..errors import MemoristError, NotFound, UsageError
from ..extras import install_command
from .display import cell, echo, without_passwords

_FIRST = ("--url", "--hot", "--org")
"""Options of `memorist` itself."""
_FELL_SHORT, _WRONG_USAGE, _STOPPED = 1, 2, 130


def end(problem: BaseException, *, as_json: bool) -> NoReturn:
    """Print an error and exit. An unexpected exception is raised again, with its traceback."""
    if isinstance(problem, click.Abort | KeyboardInterrupt):
        _tell("Stopped", "stopped", as_json)
        sys.exit(_STOPPED)
    if isinstance(problem, BrokenPipeError):
        # The reader closed the pipe (as `| head` does); keep the interpreter from complaining about it at exit.
        sys.stderr.close()
        sys.exit(0)
    if isinstance(problem, click.NoSuchOption) and problem.option_name in _FIRST:
        name = problem.option_name
        problem = click.UsageError(f"{name} goes before the command: memorist {name} … COMMAND", problem.ctx)
    if isinstance(problem, click.ClickException):
        # Whoever forgets `--url` passes a URL where Click expects something else, and Click quotes it.
        message = problem.format_message()
        if as_json:
            _tell("UsageError", message, True)
        else:
            click.UsageError(without_passwords(message), getattr(problem, "ctx", None)).show()
        sys.exit(_WRONG_USAGE)
    if isinstance(problem, ModuleNotFoundError):
        problem = _missing(problem)
    if not isinstance(problem, MemoristError | OSError):
        raise problem
    _tell(type(problem).__name__, str(problem), as_json)
    sys.exit(_WRONG_USAGE if isinstance(problem, UsageError) and not isinstance(problem, NotFound) else _FELL_SHORT)


def _tell(kind: str, message: str, as_json: bool) -> None:
    message = without_passwords(message)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode({"error": {"type": kind, "message": message}}).decode(), err=True)
    else:
        echo(f"{click.style('memorist:', fg='red')} {cell(message)}", err=True)


def _missing(problem: ModuleNotFoundError) -> BaseException:
    """Return a UsageError with the install command if a package of an extra is missing, otherwise the exception
    itself.
    """
    needed = (problem.name or "").split(".")[0]
    extra = extra_of(needed)
    if extra is None:
        return problem
    return UsageError(f"{needed} is not installed; install it with: {install_command(extra)}")


def extra_of(module: str) -> str | None:
    """Return the extra that installs a module, from the package's metadata."""
    import re
    from importlib.metadata import PackageNotFoundError, requires

    def plain(name: str) -> str:
        return re.split(r"[^A-Za-z0-9._-]", name)[0].replace("-", "_").replace(".", "_").lower()

    try:
        declared = requires("memorist") or []
    except PackageNotFoundError:
        declared = []
    for line in declared:
        needed, _, marker = line.partition(";")
        named = re.search(r"extra == ['\"]([\w-]+)['\"]", marker)
        if named and named[1] != "all" and plain(needed) == module.lower():
            return named[1]
    return None
