"""Reads messages in OpenAI's or Anthropic's format, from JSON lines or from one JSON file.

A line is a message, a list of messages, or an object with `messages` (a request, a training example, a log). Each of
the last two becomes a thread. A single message belongs to the thread it names. If it names none, it belongs to one
thread for the whole file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ..errors import InvalidValue
from ..messages.message import ROLES
from ..values import JsonMapping
from .files import JsonStream, Part, SourceFiles, decoded, lines
from .items import Item, MessageItem, Problem, ThreadItem, listed, moment, moment_or_none, named

THREADS = ("thread", "thread_id", "conversation_id", "session_id", "conversation", "session")
TIMES = ("created_at", "timestamp", "create_time", "time", "date")
OWNERS = ("user_id", "user")
IDS = ("id", "message_id", "uuid")
APART = frozenset((*THREADS, *TIMES, *OWNERS, *IDS))
"""Fields that are not part of the message itself."""
MAX_THREADS = 100_000
"""The number of threads to remember as already yielded. Yielding one twice is harmless."""


def recognises(source: SourceFiles) -> bool:
    """Return whether the file begins with a message or a list of messages."""
    if not source.is_file:
        return False
    head = source.head().removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith((b"{", b"[")):
        return False
    try:
        first = _first(head)
    except ValueError:
        return False
    return _is_message(first) or _is_thread(first)


def _first(head: bytes) -> object:
    """Return the value of the first line, or the first element of an array."""
    line = head.split(b"\n", 1)[0]
    try:
        first = decoded(line)
    except ValueError:
        return _begun(head)
    if isinstance(first, list) and first and not _is_message(first[0]):
        return first[0]
    return first


def _begun(head: bytes) -> object:
    """Return the first element or message list of a JSON file with several lines, or None if its first bytes contain
    none."""
    import io

    from ..errors import CorruptRecord

    stream = JsonStream(io.BytesIO(head), "")
    try:
        if stream.peek() == "[":
            return next(stream.elements(), None)
        for name in stream.members():
            if name == "messages":
                return {"messages": [next(stream.elements(), None)]}
            stream.value()
    except CorruptRecord:
        return None
    return None


def read(source: SourceFiles) -> Iterator[Item]:
    """Yield the threads and messages of a file."""
    for part in source.parts():
        yield from Reading(source.stem).items(part)


class Reading:
    """Reads one file, and counts the messages in each thread in order to number those without an id."""

    def __init__(self, stem: str) -> None:
        self._stem = stem
        self._counts: dict[str, int] = {}
        self._lonely: str | None = None
        """The thread of messages that do not name one."""

    def items(self, part: Part) -> Iterator[Item]:
        """Yield the items of a file of JSON lines, or of one JSON value."""
        if _is_lines(part):
            for number, line in lines(part):
                try:
                    element = decoded(line)
                except ValueError as problem:
                    yield Problem(f"line {number}", str(problem))
                    continue
                if type(element) is dict and type(element.get("role")) is str:
                    # Fast path for a single message, without a generator per line.
                    name, new = self._belongs(element, f"line {number}")
                    if new is not None:
                        yield new
                    yield self._message(name, element, f"line {number}")
                else:
                    yield from self._read_line(element, f"line {number}", number)
            return
        with part.open() as file:
            stream = JsonStream(file, part.name)
            if stream.peek() == "[":
                for number, element in enumerate(stream.elements(), 1):
                    yield from self._read_line(element, f"element {number}", number)
            else:
                yield from self._read_line(stream.value(), "the file", 1)
            stream.done()

    def _read_line(self, line: object, position: str, number: int) -> Iterator[Item]:
        if isinstance(line, Mapping) and isinstance(line.get("role"), str):
            name, new = self._belongs(line, position)
            if new is not None:
                yield new
            yield self._message(name, line, position)
        elif _is_thread(line):
            yield from self._thread(line, position, number)
        else:
            yield Problem(position, "it is neither a message nor a list of messages")

    def _belongs(self, message: Mapping[str, object], position: str) -> tuple[str, ThreadItem | None]:
        """Return the thread of a single message, and its ThreadItem if it is new."""
        name = named(message, *THREADS)
        if name is None:
            if self._lonely is None:
                self._lonely = f"{self._stem}-{_digest(message)[:8]}"
            name = self._lonely
        if name in self._counts:
            return name, None
        if len(self._counts) >= MAX_THREADS:
            self._counts.clear()
        return name, ThreadItem(id=name, owner=named(message, *OWNERS), created_at=_quietly(message), position=position)

    def _thread(self, record: Any, position: str, number: int) -> Iterator[Item]:
        about: JsonMapping = record if isinstance(record, Mapping) else {}
        messages: list[object] = listed(about, "messages") if about else list(record)
        name = named(about, *IDS, *THREADS) or f"{self._stem}-{number}-{_digest(messages[:1])[:8]}"
        title = about.get("title")
        yield ThreadItem(
            id=name,
            title=title if isinstance(title, str) else None,
            owner=named(about, *OWNERS),
            created_at=_quietly(about),
            position=position,
        )
        self._counts.pop(name, None)
        if isinstance(about.get("system"), str | list):
            yield self._message(name, {"role": "system", "content": about["system"]}, f"{position}, system")
        times = listed(about, "times")
        for at, message in enumerate(messages, 1):
            if isinstance(message, Mapping):
                timed = {"created_at": times[at - 1], **message} if at <= len(times) else message
                yield self._message(name, timed, f"{position}, message {at}")
            else:
                yield Problem(f"{position}, message {at}", "a message is an object")
        self._counts.pop(name, None)

    def _message(self, thread: str, message: Mapping[str, object], position: str) -> Item:
        count = self._counts[thread] = self._counts.get(thread, 0) + 1
        fields = {name: value for name, value in message.items() if name not in APART}
        at = id = None
        if len(fields) < len(message):
            try:
                at = next((moment(message[name]) for name in TIMES if name in message), None)
            except InvalidValue as problem:
                return Problem(position, str(problem))
            id = named(message, *IDS)
        if id is not None:
            return MessageItem(thread, id, fields, at, {"id": id}, position)
        return MessageItem(thread, f"{count}:{_digest(message)}", fields, at, {}, position)


def _is_lines(part: Part) -> bool:
    """Return whether a file contains JSON lines, from its extension or because its first line is a complete JSON
    value."""
    with part.open() as file:
        first = file.readline(1024 * 1024)
        more = file.read(1)
    if part.name.endswith((".jsonl", ".ndjson")):
        return True
    try:
        element = decoded(first.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return False
    return bool(more) or _is_message(element)


def _is_message(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("role") in ROLES


def _is_thread(value: object) -> bool:
    if isinstance(value, Mapping):
        value = value.get("messages")
    return isinstance(value, list) and bool(value) and _is_message(value[0])


def _quietly(fields: Mapping[str, object]) -> Any:
    """Return the time of a thread, or None if it cannot be parsed."""
    return next((moment_or_none(fields[name]) for name in TIMES if name in fields), None)


def _digest(value: object) -> str:
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=8).hexdigest()
