"""What a command has in hand: the memory it opens, and how it prints."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..errors import NotFound
from .display import SHORT, cell, echo, pairs, table

if TYPE_CHECKING:
    from ..blocking.memory import Memory

DEFAULT_FILE = "recollect.db"
SETTLE_SECONDS = 10.0
"""How long a command that reads works on what is still waiting to be derived."""
_FILES = ("", "-wal", "-shm", "-journal", "-ballast")


class Session:
    """One run of the command line."""

    def __init__(self, url: str | None, hot: str | None, org: str, user: str | None, as_json: bool) -> None:
        self._url = url
        self._hot = hot
        self._org = org
        self.user = user
        """Only what this user may see, where one is named."""
        self.as_json = as_json
        self._told = False
        """Whether the command has begun to say what it did: then it did something."""
        self._wrote_nothing = False

    @property
    def url(self) -> str:
        """The URL given, or the file in this folder."""
        return self._url or DEFAULT_FILE

    @property
    def hot(self) -> str | None:
        """The hot store in front, if one was named."""
        return self._hot

    @property
    def org(self) -> str:
        """The tenant this run is for."""
        return self._org

    @contextmanager
    def memory(self, *, create: bool = False, settle: bool = False, **options: Any) -> Iterator[Memory]:
        """The memory, closed at the end.

        Only `create` makes a file, and a command that fails or wrote nothing leaves none behind. Commands write without
        deriving, so that they end at once; with `settle`, what a file has waiting is derived first. Servers have
        workers for that.
        """
        from ..blocking.memory import Memory

        path = _file(self.url)
        made = path is not None and not os.path.exists(path)
        if made and not create:
            raise NotFound(f"there is no memory at {self.url!r}; name one with --url or RECOLLECT_URL")
        options = {"worker": False, **options}
        unused = False
        try:
            if settle and path is not None:
                # The outbox is the org's: a user's handle may not work through it.
                with Memory(self.url, hot=self._hot, org=self._org, **options) as whole:
                    left = _settled(whole)
                if left:
                    echo(f"{left} jobs are still waiting; `recollect worker --once` does them", err=True)
            with Memory(self.url, hot=self._hot, org=self._org, user=self.user, **options) as memory:
                try:
                    yield memory
                except BaseException:
                    unused = made and not self._told and _is_empty(memory)
                    raise
                unused = made and self._wrote_nothing and _is_empty(memory)
        finally:
            if unused and path is not None:
                _remove(path)

    def show(self, rows: Sequence[Any], columns: Sequence[str], *, empty: str = "nothing") -> None:
        """Records as a table, or as a JSON list."""
        self._told = True
        dicts = [row if isinstance(row, dict) else plain(row) for row in rows]
        if self.as_json:
            self.print_json(dicts)
        elif not dicts:
            echo(cell(empty), err=True)
        else:
            table(dicts, columns)

    def one(self, record: Any, *, missing: str) -> None:
        """A record as its fields, or as JSON; NotFound where there is none."""
        if record is None:
            raise NotFound(missing)
        self.fields(record if isinstance(record, dict) else plain(record))

    def fields(self, fields: dict[str, Any]) -> None:
        """Names and values, or JSON; what is empty is left out for people."""
        self._told = True
        if self.as_json:
            self.print_json(fields)
        else:
            pairs([(name, value) for name, value in fields.items() if value not in (None, "", [], {}, ())])

    def done(self, fact: dict[str, Any], said: str) -> None:
        """What was done: a sentence, or JSON."""
        self._told = True
        if self.as_json:
            self.print_json(fact)
        else:
            echo(cell(said))

    def wrote_nothing(self) -> None:
        """Say that the command only looked: a file that was made to open the memory is taken away again."""
        self._wrote_nothing = True

    def gone(self, was_there: bool, what: str, *, missing: str) -> None:
        """That something was deleted; NotFound where it was not there."""
        if not was_there:
            raise NotFound(missing)
        self.done({"deleted": True}, f"deleted {what}")

    @staticmethod
    def print_json(value: Any) -> None:
        """JSON on one line."""
        click.echo(msgspec.json.encode(value, enc_hook=str).decode())


def thread_id(memory: Memory, given: str) -> str:
    """The id of a thread, from its id or from the end of it that tables show."""
    if len(given.removeprefix("…")) < SHORT or memory.threads.get(given) is not None:
        return given
    return ending(given, [one.id for ns in memory.stats().namespaces for one in memory.threads.list(ns)])


def ending(given: str, ids: Sequence[str]) -> str:
    """An id from the end of it that tables show, where only one ends so."""
    end = given.removeprefix("…")
    found = [id for id in ids if id.endswith(end)] if len(end) >= SHORT else []
    return found[0] if len(found) == 1 else given


def _settled(memory: Memory) -> int:
    """Derive what is waiting; how many jobs are left."""
    memory.jobs.drain(seconds=SETTLE_SECONDS)
    return sum(one.waiting - one.failing for one in memory.jobs.backlog())


def _is_empty(memory: Memory) -> bool:
    return not any(value for value in msgspec.structs.astuple(memory.stats()) if isinstance(value, int))


def _remove(path: str) -> None:
    """Take away the file that a command made and put nothing into."""
    for end in _FILES:
        with suppress(FileNotFoundError):
            os.unlink(path + end)


def _file(url: str) -> str | None:
    """The path of a memory that is a file; None for servers."""
    scheme, found, rest = url.partition("://")
    if not found:
        return None if url == ":memory:" else url
    from urllib.parse import unquote

    # sqlite:///relative.db and sqlite:////absolute.db, as in Memory(url).
    return unquote(rest).removeprefix("/") if scheme in ("sqlite", "file") else None


def plain(record: Any) -> dict[str, Any]:
    """A record as a dict of plain values; times stay times."""
    made: dict[str, Any] = msgspec.to_builtins(record, builtin_types=(datetime,))
    if "id" not in made and hasattr(record, "id"):
        made = {"id": record.id, **made}
    return made


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
