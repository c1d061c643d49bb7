"""What a command has in hand: the memory it opens, and how it prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..errors import NotFound

if TYPE_CHECKING:
    from ..memory import Memory

DEFAULT_FILE = "recollect.db"


class Session:
    """One run of the command line."""

    def __init__(self, url: str | None, hot: str | None, org: str, user: str | None, as_json: bool) -> None:
        self._url = url
        self._hot = hot
        self._org = org
        self._user = user
        self.as_json = as_json

    @property
    def url(self) -> str:
        """The URL given, or the file in this folder."""
        return self._url or DEFAULT_FILE

    @contextmanager
    def memory(self, *, create: bool = False, **options: Any) -> Iterator[Memory]:
        """The memory, closed (and its outbox drained) at the end; reading commands do not create a file."""
        from ..memory import Memory

        url = self.url
        path = _file(url)
        if not create and path is not None and not os.path.exists(path):
            raise NotFound(f"there is no memory at {url!r}; name one with --url or RECOLLECT_URL")
        options.setdefault("worker", create)
        with Memory(url, hot=self._hot, org=self._org, user=self._user, **options) as memory:
            yield memory

    def show(self, rows: Sequence[Any], columns: Sequence[str], *, empty: str = "nothing") -> None:
        """Records as a table, or as a JSON list."""
        dicts = [row if isinstance(row, dict) else plain(row) for row in rows]
        if self.as_json:
            self.print_json(dicts)
        elif not dicts:
            click.echo(cell(empty), err=True)
        else:
            table(dicts, columns)

    def one(self, record: Any, *, missing: str) -> int:
        """A record as its fields, or as JSON; exit status 1 where there is none."""
        if record is None:
            click.echo(f"recollect: {cell(missing)}", err=True)
            return 1
        fields = record if isinstance(record, dict) else plain(record)
        if self.as_json:
            self.print_json(fields)
        else:
            pairs([(name, value) for name, value in fields.items() if value not in (None, "", [], {}, ())])
        return 0

    def done(self, fact: dict[str, Any], said: str) -> None:
        """What was done: a sentence, or JSON."""
        if self.as_json:
            self.print_json(fact)
        else:
            click.echo(cell(said))

    @staticmethod
    def print_json(value: Any) -> None:
        """JSON on one line."""
        click.echo(msgspec.json.encode(value, enc_hook=str).decode())


def _file(url: str) -> str | None:
    """The path of a memory that is a file; None for servers."""
    scheme, found, rest = url.partition("://")
    if not found:
        return url
    from urllib.parse import unquote

    # sqlite:///relative.db and sqlite:////absolute.db, as in Memory(url).
    return unquote(rest).removeprefix("/") if scheme in ("sqlite", "file") else None


def plain(record: Any) -> dict[str, Any]:
    """A record as a dict of plain values."""
    made: dict[str, Any] = msgspec.to_builtins(record)
    for name in ("id",):
        if name not in made and hasattr(record, name):
            made = {name: getattr(record, name), **made}
    return made


def _console(stderr: bool = False) -> Any:
    from rich.console import Console

    # Colours and width of the terminal only where there is one.
    stream = sys.stderr if stderr else sys.stdout
    return Console(
        stderr=stderr, highlight=False, soft_wrap=not stream.isatty(), width=None if stream.isatty() else 200
    )


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    """A table for people."""
    from rich.table import Table
    from rich.text import Text

    made = Table(show_header=True, header_style="bold", box=None, pad_edge=False)
    for name in columns:
        made.add_column(name, overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell(row.get(name))) for name in columns))
    _console().print(made)


def pairs(fields: Sequence[tuple[str, Any]]) -> None:
    """Names and values, one a line."""
    from rich.table import Table
    from rich.text import Text

    made = Table(show_header=False, box=None, pad_edge=False)
    made.add_column(style="bold")
    made.add_column(overflow="fold")
    for name, value in fields:
        made.add_row(name, Text(cell(value)))
    _console().print(made)


def cell(value: Any) -> str:
    """One value in a table: text as it is, without control characters that would move the cursor."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in text)


@contextmanager
def progress(label: str) -> Iterator[Any]:
    """A progress bar on a terminal, nothing elsewhere; call what it gives with how much more was done."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed}"), TimeElapsedColumn())
    with Progress(*columns, console=_console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda *given: bar.update(task, advance=next((n for n in given if isinstance(n, int)), 1))


def read_json(text: str) -> Any:
    """A JSON value as typed; plain words are text. The same key twice is refused: one of the two would be lost."""
    import json

    def unique(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in found}) < len(found):
            raise click.UsageError("the same key twice in a JSON object")
        return dict(found)

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError:
        return text


def read_filter(text: str | None) -> dict[str, Any] | None:
    """A filter as typed; anything but a JSON object is refused with an example."""
    if text is None:
        return None
    found = read_json(text)
    if not isinstance(found, dict):
        raise click.UsageError("""a filter is a JSON object, such as '{"age": {"$gte": 18}}'""")
    return found


session_of = click.make_pass_decorator(Session)
