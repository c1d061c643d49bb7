"""Holds the state of one run of the command line, opens the memory, and prints results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from ..errors import NotFound, UsageError
from ..values import Json, JsonObject
from .display import SHORT_ID_CHARACTERS, cell, echo, pairs, table

if TYPE_CHECKING:
    from ..blocking.memory import Memory
    from ..memory import AsyncMemory

T = TypeVar("T")
DEFAULT_FILE = "memorist.db"
SETTLE_SECONDS = 10.0
"""The maximum number of seconds that a read command spends on waiting jobs before it reads."""
_FILES = ("", "-wal", "-shm", "-journal", "-ballast")


def confirm(question: str) -> None:
    """Ask for confirmation. If nobody can answer, raise an error that names the option."""
    try:
        agreed = click.confirm(question)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise UsageError(
            "this asks for confirmation, and there was no answer; pass --yes to skip the question"
        ) from None
    if not agreed:
        raise click.Abort


class Session(msgspec.Struct):
    """Holds the state of one run of the command line: the options before the command, and what it has printed."""

    url_option: str | None
    """The URL from `--url` or the environment, if any."""
    hot: str | None = None
    org: str = "default"
    user: str | None = None
    """The user that the memory is narrowed to, if any."""
    as_json: bool = False
    model: str | None = None
    extraction: Path | None = None
    embedder: str | None = None
    reranker: str | None = None
    key_file: Path | None = None
    _has_printed: bool = False
    """Whether the command has printed a result, so that the file it created must be kept."""
    _wrote_nothing: bool = False

    @property
    def url(self) -> str:
        """This is the given URL, or `memorist.db` in the current folder."""
        return self.url_option or DEFAULT_FILE

    def at(self, url: str) -> Session:
        """Return a session with the same settings for another memory."""
        return msgspec.structs.replace(self, url_option=url)

    def settings(self) -> dict[str, Any]:
        """Return the model, extraction, embedder, reranker and encryption to open the memory with. A server has its
        own."""
        if self.url.startswith(("http://", "https://")):
            return {}
        settings: dict[str, object] = {}
        if self.model:
            settings["model"] = self.model
        if self.extraction is not None:
            from ..extract.extraction_file import read_extraction

            settings["extract"] = read_extraction(self.extraction)
        if self.embedder:
            settings["embedder"] = None if self.embedder == "none" else self.embedder
        if self.reranker:
            settings["reranker"] = self.reranker
        if self.key_file is not None:
            from ..gate.encryption import Encryption

            settings["encryption"] = Encryption(self.key_file)
        return settings

    @contextmanager
    def memory(self, *, create: bool = False, settle: bool = False, **options: Any) -> Iterator[Memory]:
        """Open the memory, and close it at the end.

        A file is created only with `create`, and removed again if the command fails or writes nothing. Commands do not
        run the jobs that they create, so that they return immediately. With `settle`, a file's waiting jobs are run
        first (servers have workers for that).
        """
        from ..blocking.memory import Memory

        path = _file(self.url)
        is_new = path is not None and not os.path.exists(path)
        if is_new and not create:
            # What is not there may be a mistyped URL, with a password in it.
            name = os.path.basename(str(path)) if "@" not in self.url and ":" not in self.url else "that path"
            raise NotFound(f"there is no memory at {name!r}; name one with --url or MEMORIST_URL")
        options = {"worker": False, "user": self.user, **self.settings(), **options}
        unused = False
        try:
            if settle and path is not None:
                # Jobs belong to the org: a memory narrowed to a user may not run them.
                with Memory(self.url, hot=self.hot, org=self.org, **{**options, "user": None}) as whole:
                    jobs = _settled(whole)
                if jobs:
                    waiting = "1 job is" if jobs == 1 else f"{jobs} jobs are"
                    echo(f"{waiting} still waiting; run `memorist worker --once`", err=True)
            with Memory(self.url, hot=self.hot, org=self.org, **options) as memory:
                try:
                    yield memory
                except BaseException:
                    unused = is_new and not self._has_printed and _is_empty(memory)
                    raise
                unused = is_new and self._wrote_nothing and _is_empty(memory)
        finally:
            if unused and path is not None:
                _remove(path)

    def run_on_all_orgs(self, work: Callable[[AsyncMemory], Coroutine[object, None, T]], **options: Any) -> T:
        """Run a coroutine function over a memory that may access every org, such as the API keys."""
        from ..memory import stepped
        from ..runtime import run_blocking

        with self.memory(create=True, all_orgs=True, **options) as memory:
            return run_blocking(work(stepped(memory)))

    def show(self, rows: Sequence[object], columns: Sequence[str], *, empty: str = "nothing") -> None:
        """Print records as a table, or as a JSON list."""
        self._has_printed = True
        dicts = [row if isinstance(row, dict) else plain(row) for row in rows]
        if self.as_json:
            self.print_json(dicts)
        elif not dicts:
            echo(cell(empty), err=True)
        else:
            table(dicts, columns)

    def show_record(self, record: object, *, missing: str) -> None:
        """Print a record's fields. Raises NotFound if it is None."""
        if record is None:
            raise NotFound(missing)
        self.fields(record if isinstance(record, dict) else plain(record))

    def fields(self, fields: JsonObject) -> None:
        """Print names and values, or JSON. Without --json, empty values are left out."""
        self._has_printed = True
        if self.as_json:
            self.print_json(fields)
        else:
            pairs([(name, value) for name, value in fields.items() if value not in (None, "", [], {}, ())])

    def done(self, fact: JsonObject, text: str) -> None:
        """Print what was done, as a sentence or as JSON."""
        self._has_printed = True
        if self.as_json:
            self.print_json(fact)
        else:
            echo(cell(text))

    def wrote_nothing(self) -> None:
        """Record that the command only read data, so that a file created for it is removed again."""
        self._wrote_nothing = True

    def gone(self, was_there: bool, what: str, *, missing: str) -> None:
        """Print that something was deleted. Raises NotFound if it did not exist."""
        if not was_there:
            raise NotFound(missing)
        self.done({"deleted": True}, f"deleted {what}")

    def report(self, value: object, lines: Iterable[str]) -> None:
        """Print lines for people, or a value as JSON."""
        if self.as_json:
            self.print_json(value)
        else:
            for line in lines:
                echo(cell(line))

    @staticmethod
    def print_json(value: object) -> None:
        """Print a value as JSON on one line."""
        click.echo(msgspec.json.encode(value, enc_hook=str).decode())


def thread_id(memory: Memory, id_or_ending: str) -> str:
    """Return the id of a thread from the whole id or its last characters, as shown in tables."""
    if len(id_or_ending.removeprefix("…")) < SHORT_ID_CHARACTERS or memory.threads.get(id_or_ending) is not None:
        return id_or_ending
    return ending(id_or_ending, [thread.id for ns in memory.stats().namespaces for thread in memory.threads.list(ns)])


def ending(text: str, ids: Sequence[str]) -> str:
    """Return the only id that ends with the given characters, or the text unchanged if there is none or more than
    one.
    """
    end = text.removeprefix("…")
    matching = [id for id in ids if id.endswith(end)] if len(end) >= SHORT_ID_CHARACTERS else []
    return matching[0] if len(matching) == 1 else text


def _settled(memory: Memory) -> int:
    """Run the waiting jobs, and return how many are left."""
    memory.jobs.drain(seconds=SETTLE_SECONDS)
    return sum(queue.waiting - queue.failing for queue in memory.jobs.backlog())


def _is_empty(memory: Memory) -> bool:
    return not any(value for value in msgspec.structs.astuple(memory.stats()) if isinstance(value, int))


def _remove(path: str) -> None:
    """Remove an unused database file with its side files."""
    for end in _FILES:
        with suppress(FileNotFoundError):
            os.unlink(path + end)


def _file(url: str) -> str | None:
    """Return the path of a file URL, or None for servers."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return None if url == ":memory:" else url
    from urllib.parse import unquote

    # sqlite:///relative.db and sqlite:////absolute.db, as in Memory(url).
    return unquote(rest).removeprefix("/") if scheme in ("sqlite", "file") else None


def plain(record: object) -> JsonObject:
    """Return a record as a dict of plain values, except that times stay datetimes."""
    fields: JsonObject = msgspec.to_builtins(record, builtin_types=(datetime,))
    if "id" not in fields and hasattr(record, "id"):
        fields = {"id": getattr(record, "id"), **fields}  # noqa: B009  # not every record declares one
    return fields


def read_json(text: str) -> Json:
    """Parse an argument as JSON, or use it as text. Duplicate keys are refused, because one of them would be lost."""
    import json

    def unique(pairs: list[tuple[str, object]]) -> JsonObject:
        if len({name for name, _ in pairs}) < len(pairs):
            raise click.UsageError("a JSON object has the same key twice; remove one")
        return dict(pairs)

    try:
        value: Json = json.loads(text, object_pairs_hook=unique)
        return value
    except json.JSONDecodeError:
        return text


as_of_option = click.option(
    "--as-of", metavar="TIME", help="Show what was known at this time, such as 2026-11-16T09:30Z."
)
"""The option for commands that can look back in time."""


def read_filter(text: str | None) -> JsonObject | None:
    """Parse a filter, which must be a JSON object."""
    if text is None:
        return None
    value = read_json(text)
    if not isinstance(value, dict):
        raise click.UsageError("""a filter is a JSON object, such as '{"age": {"$gte": 18}}'""")
    return value


session_of = click.make_pass_decorator(Session)
