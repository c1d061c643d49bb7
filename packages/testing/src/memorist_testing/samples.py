"""Provides sample records for tests: short constructors for common ones, and a full record of every kind."""

from __future__ import annotations

import typing
from datetime import datetime, timedelta
from typing import Any

import msgspec

from memorist.messages.message import Message
from memorist.ports import to_micros
from memorist.records import Fact, Job, Record, StateEntry, Thread
from memorist.stores.base import Append, Appended, ChangeResult
from memorist.stores.codec import Column, codec
from memorist.testing.clock import START

WHEN = START
NOW = to_micros(START)
SECOND = 1_000_000

# Ids that break code which pastes them into patterns, paths, globs, hash tags or SQL; some pairs differ only in Unicode
# normalisation or case.
ADVERSARIAL = (
    "a", "A", "b", "ab", "a:", "a:b", "a::b", ":", "a%", "%", "_", "a_b", "a*", "*", "?", "a?b", "{", "}", "{}", "{a}",
    "a}b{c",
    "[", "]", "[a-z]", "\\", "a\\b", "a\\", "\\n", "'", "''", '"', "a'b", 'a"b', "a;--", "' OR '1'='1", "a/b", "../a",
    ".", "..",
    "a#1", "#", "a|b", "a,b", " ", "a ", " a", "\t", "\n", "\r\n", "a\u0001", "\u007f", "0", "9", "10", "-1", "null",
    "None", "true",
    "\u00e9", "e\u0301", "\u00df", "ss", "\u0130", "i", "I", "\u0131", "\u202eabc", "\u200b", "\ufeff", "\ufffd",
    "\ufffe", "\uffff",
    "\u4e2d\u6587", "\U0001f600", "\U0010ffff", "\ud7ff", "\ue000", "\u0301" * 100, "\x1b[31mred\x1b[0m", "x" * 500,
)  # fmt: skip


def later(seconds: float) -> datetime:
    """Return the time that is the given number of seconds after the start of a test."""
    return WHEN + timedelta(seconds=seconds)


def fact(org: str, key: str = "k", value: Any = 1, *, ns: str = "global", **more: Any) -> Fact:
    """Return a fact that was created at the start."""
    return Fact(org=org, ns=ns, key=key, value=value, created_at=WHEN, updated_at=WHEN, **more)


def entry(org: str, key: str = "k", value: Any = 1, *, ns: str = "global", **more: Any) -> StateEntry:
    """Return a state entry that was created at the start."""
    return StateEntry(org=org, ns=ns, key=key, value=value, created_at=WHEN, updated_at=WHEN, **more)


def thread(org: str, id: str = "t", *, ns: str = "global", **more: Any) -> Thread:
    """Return an empty thread."""
    return Thread(org=org, id=id, ns=ns, created_at=WHEN, updated_at=WHEN, **more)


def message(org: str, text: Any, *, thread: str = "t", role: str = "user", **more: Any) -> Message:
    """Return a message as the engine passes it to a store, with its org, thread, time and token count."""
    more.setdefault("tokens", 1)
    return Message(org=org, thread=thread, role=role, content=text, created_at=WHEN, **more)


def appended(result: ChangeResult) -> Appended:
    """Return the result of an append."""
    assert isinstance(result, Appended)
    return result


def append(org: str, *texts: str, thread: str = "t", key: str | None = None, at: datetime = WHEN) -> Append:
    """Return an append of plain messages."""
    return Append(org, thread, tuple(message(org, text, thread=thread) for text in texts), at, key)


def job(org: str, item: str = "i", *, queue: str, run_at: datetime = WHEN, **more: Any) -> Job:
    """Return a job that is ready at a given time."""
    fields: dict[str, Any] = {"ns": "global", "created_at": WHEN, "updated_at": WHEN, **more}
    return Job(org=org, queue=queue, item=item, run_at=run_at, **fields)


def full(record_type: type[Record], org: str) -> Record:
    """Return a record of the given kind with every field set to a distinctive value."""
    return record_type(
        **{name: _telling(column, record_type) for name, column in _columns(record_type).items()} | {"org": org}
    )


def bare(record_type: type[Record], org: str) -> Record:
    """Return a record of the given kind with only its required fields set."""
    needed = {field.name for field in msgspec.structs.fields(record_type) if field.required}
    return record_type(
        **{name: _telling(c, record_type) for name, c in _columns(record_type).items() if name in needed} | {"org": org}
    )


def _columns(record_type: type[Record]) -> dict[str, Column]:
    return {column.name: column for column in codec(record_type).columns}


def _telling(column: Column, record_type: type[Record]) -> Any:
    hint = typing.get_type_hints(record_type)[column.name]
    if list[str] in typing.get_args(hint):
        return ["city"]
    if typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        return {str: ("t#1", "t#2"), int: (1, 2)}.get(item, ((7, "message", "t", "t#1"),))
    if column.name in ("metadata", "extra", "doc"):
        return {"b": 1, "a": [None, True, "x'\"\u00e9"], "": -0.0}
    values = {
        "text": f"{column.name}'\"%\u00e9\U0001f600",
        "int": 7,
        "real": 0.1,
        "bool": True,
        "time": later(86_400),
        "bytes": b"\x00\xff\x80",
        "json": {"z": [1, 2.5, "\u0000"], "a": None},
    }
    return values[column.kind]
