"""Runs cases by storing their data, asking their questions and checking the requests."""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal

import msgspec

from ..blocking.memory import Memory
from ..errors import InvalidValue, MemoristError
from ..stores.opening import NothingLasts
from ..testing import FakeClock
from ..values import JsonMapping, JsonObject
from .cases import BETWEEN_MESSAGES, FIRST_MOMENT, Case, Piece, read_moment
from .expectations import Failure, check
from .recorded import RecordedModel
from .request import CaseRequest
from .snapshots import compare_snapshot

DERIVE_SECONDS = 120.0
"""The maximum number of seconds for deriving memories from a case."""


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the result of a case."""

    name: str
    file: str
    status: Literal["passed", "failed", "error"]
    seconds: float
    tokens: int = 0
    failures: tuple[Failure, ...] = ()
    error: str | None = None
    """This is the reason the case could not be run."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the settings for running cases."""

    update: bool = False
    """This is True if snapshots are recorded again."""
    keep: Path | None = None
    """The store of each case is saved in this folder."""
    read: tuple[str, ...] = ()
    """The user who asks may also read these namespaces of others."""
    change: Callable[[Memory, FakeClock], object] | None = None
    """This function is called with the memory before the question is asked."""
    live: Any = None
    """The answers of this model are recorded."""


def run_case(
    case: Case,
    *,
    fixtures: JsonMapping | None = None,
    pieces: Sequence[Piece] | None = None,
    options: Options | None = None,
) -> CaseResult:
    """Run a case. If you pass `pieces`, it stores these instead of its own."""
    options = options or Options()
    start = time.perf_counter()
    try:
        written = case.pieces(fixtures) if pieces is None else list(pieces)
        with ask_case(case, written, options) as request:
            failures = check(request)
            if case.snapshot:
                failures += compare_snapshot(request, update=options.update)
    except MemoristError as problem:
        spent = time.perf_counter() - start
        return CaseResult(name=case.name, file=case.file, status="error", seconds=spent, error=str(problem))
    return CaseResult(
        name=case.name, file=case.file, status="failed" if failures else "passed", seconds=time.perf_counter() - start,
        tokens=request.context.tokens, failures=tuple(failures),
    )  # fmt: skip


def check_request(
    memory: Memory, ask: str, *, user: str | None = None, thread: str | None = None, **fields: Any
) -> list[Failure]:
    """Check the next request from a memory filled by a program, and return the failed expectations.

    Args:
        memory: The memory that the caller has filled.
        ask: The question.
        user: The user who asks. The default is the user of the handle.
        thread: The thread that the question continues.
        fields: Other fields of a `Case`, such as `budget` and `expect`.
    """
    name = user or memory.user
    if name is None:
        raise InvalidValue("pass user=, or use a memory that is limited to one user")
    case = Case(name=ask, ask=ask, user=name, thread=thread, **fields)
    return check(_ask(case, memory, memory.scope(user=name)))


@contextmanager
def ask_case(case: Case, pieces: Sequence[Piece], options: Options) -> Iterator[CaseRequest]:
    """Store the pieces of a case, and ask its question."""
    clock = FakeClock(min((piece.at for piece in pieces), default=FIRST_MOMENT))
    recorded = None if case.answers is None else RecordedModel(_beside(case, case.answers), options.live)
    with _opened(case, bool(pieces), clock, recorded, options) as whole:
        for name in case.fixture_names():
            if ":" in name:
                _fill(case, name, whole)
        newest = newest_moment(whole, case.user)
        if newest is not None:
            pieces = _said_after(newest, pieces)
        write_pieces(whole, pieces, clock)
        last = max([*(piece.at for piece in pieces), newest or FIRST_MOMENT])
        clock.set(last + BETWEEN_MESSAGES if case.at is None else read_moment(case.at))
        if options.change is not None:
            options.change(whole, clock)
        if not case.reads_server:
            whole.jobs.drain(seconds=DERIVE_SECONDS)
        thread = next((piece.thread for piece in reversed(pieces) if piece.user == case.user and piece.thread), None)
        request = _ask(case, whole, whole.scope(user=case.user, read=options.read), thread if case.continues else None)
        if recorded is not None:
            if recorded.missing:
                raise InvalidValue(
                    f"{len(recorded.missing)} prompts have no recorded answer in {case.answers}; record them with: "
                    "memorist test --record MODEL"
                )
            if options.live is not None:
                recorded.save()
        yield request


def newest_moment(whole: Memory, user: str) -> datetime | None:
    """Return the time of the last change to a user's memory, or None if it is empty."""
    namespace = f"user:{user}"
    moments = [thread.updated_at for thread in whole.threads.list(namespace)]
    moments += [item.updated_at for item in whole.memories.list(ns=namespace, limit=None)]
    return max(moments, default=None)


def _said_after(moment: datetime, pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Return the pieces, moved to a later time if the store already contains something newer than the first one."""
    delay = moment + BETWEEN_MESSAGES - min((piece.at for piece in pieces), default=moment)
    if delay <= timedelta(0):
        return pieces
    return [msgspec.structs.replace(piece, at=piece.at + delay) for piece in pieces]


def write_pieces(whole: Memory, pieces: Sequence[Piece], clock: FakeClock) -> None:
    """Store the pieces in order, each at its own time and for its own user."""
    for piece in pieces:
        memory = whole.scope(user=piece.user)
        clock.set(piece.at)
        match piece.kind:
            case "fact":
                memory.facts.set(f"user:{piece.user}", piece.key, piece.value)
            case "document":
                memory.documents.add(f"user:{piece.user}", piece.text, title=piece.name)
            case _:
                message: JsonObject = {"role": piece.role, "content": piece.text, "created_at": piece.at}
                if piece.name is not None:
                    message["name"] = piece.name
                memory.threads.append(piece.thread, message, create=f"user:{piece.user}")


def _ask(case: Case, whole: Memory, memory: Memory, thread: str | None = None) -> CaseRequest:
    thread = thread or case.thread
    context = memory.context(case.ask, thread=thread, system=case.system, budget=case.budget)
    return CaseRequest(case, whole, memory, context, thread)


@contextmanager
def _opened(case: Case, writes: bool, clock: Callable[[], datetime], model: Any, options: Options) -> Iterator[Memory]:
    """Open the memory of a case, which is empty, a copy of its file, or a server."""
    parts: dict[str, Any] = {"org": case.org, "embedder": case.embedder, "clock": clock, "worker": False}
    if model is not None:
        parts["model"] = model
    if case.reads_server:
        if writes:
            raise InvalidValue(
                f"case {case.name!r}: cases only read from a server; remove the conversation, or use a file"
            )
        # Its rows have the times of a real clock.
        with Memory(case.store, **{**parts, "clock": None}) as memory:
            yield memory
        return
    with tempfile.TemporaryDirectory() as folder:
        path = None
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            path = options.keep / case.store_name
            if case.store is not None and path.resolve() == _beside(case, case.store).resolve():
                raise InvalidValue(f"case {case.name!r}: its own store is {path}; keep the copy in another folder")
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
        elif case.store is not None:
            path = Path(folder) / "copy.db"
        if case.store is not None and path is not None:
            _copy(_beside(case, case.store), path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingLasts)
            memory = Memory("memory://" if path is None else path, **parts)
        with memory:
            yield memory


def _copy(original: Path, copy: Path) -> None:
    """Copy a SQLite file in its current state, including its write-ahead log."""
    if not original.exists():
        raise InvalidValue(f"there is no store at {original}")
    source, target = sqlite3.connect(f"file:{original}?mode=ro", uri=True), sqlite3.connect(copy)
    try:
        source.backup(target)
    finally:
        source.close()
        target.close()


def _beside(case: Case, name: str) -> Path:
    """Return the path of a file that a case names, relative to the case file."""
    return Path(os.path.dirname(case.file) or ".") / name.removeprefix("sqlite:///")


def _fill(case: Case, name: str, memory: Memory) -> None:
    """Call the fixture that a case names as `module:function`."""
    function = _function(case, name)
    try:
        function(memory)
    except MemoristError:
        raise
    except Exception as problem:
        raise InvalidValue(f"the fixture {name!r} raised {type(problem).__name__}: {problem}") from problem


def _function(case: Case, name: str) -> Callable[[Memory], object]:
    """Return the function that a case names as `module:function`. The module may be in the folder of the case file."""
    folder = os.path.abspath(os.path.dirname(case.file) or ".")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        function: Callable[[Memory], object] = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as problem:
        raise InvalidValue(f"there is no fixture {name!r}: {problem}") from problem
    return function
