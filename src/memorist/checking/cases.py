"""Defines a case: a conversation, a question, and expectations about the next request."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec

from ..errors import InvalidValue
from ..ports import as_datetime
from ..values import JsonMapping, JsonObject

FIRST_MOMENT = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""The default time of the first message in a case. It is fixed, so that requests are the same in every run."""
BETWEEN_MESSAGES = timedelta(minutes=1)
FILE_ENDINGS = (".memory.yaml", ".memory.yml", ".memory.json", ".memory.py")
"""The suffixes of case files' names."""
_ROLES = ("user", "assistant", "system", "tool")
_FIXTURE_FIELDS = ("user", "conversation", "conversations", "facts", "documents")


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Holds one item that a case stores before it asks its question: a message, a fact or a document."""

    kind: str
    """This is `message`, `fact` or `document`."""
    user: str
    text: str
    at: datetime
    thread: str = ""
    role: str = "user"
    key: str = ""
    value: Any = None
    name: str | None = None

    def __str__(self) -> str:
        return f"{self.key} = {self.value}" if self.kind == "fact" else self.text


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tests what a memory contains and sends. A case has a conversation, a question, and expectations.

    The request starts a new conversation, unless `continue` is true. A case without a store uses an empty one, whose
    clock starts at a fixed time.
    """

    name: str
    ask: str
    user: str = "user"
    """This user asks the question, and wrote all messages that do not name another user."""
    org: str = "default"
    conversation: Sequence[Any] = ()
    """The messages are texts by the user, or mappings such as `{assistant: Noted., at: 2026-01-05T09:00Z}`."""
    conversations: Sequence[JsonMapping] = ()
    """A case can have several conversations, such as `{user: bob, messages: [...]}`."""
    facts: JsonMapping = {}
    """These are facts about the user, by key, as a program would write them."""
    documents: Sequence[Any] = ()
    """The documents are texts, or mappings with `title` and `text`."""
    fixture: str | Sequence[str] = ()
    """These are the names of fixtures in the file, or of functions to call with the memory, as `module:function`."""
    store: str | None = None
    """This is an existing store: a file, which is copied first, or the URL of a server, which is only read."""
    at: Any = None
    """This is the time of the question, as ISO text or a datetime. The default is one minute after the last message."""
    continues: bool = msgspec.field(default=False, name="continue")
    """This is True if the question continues the user's last conversation."""
    thread: str | None = None
    """This is the thread of the store that the question continues."""
    budget: int | str = 8000
    system: str | None = None
    embedder: str | None = "default"
    answers: str | None = None
    """This file contains recorded answers from the model that writes memories. Without it, no model is used."""
    expect: Sequence[JsonMapping] | JsonMapping = ()
    snapshot: bool = False
    """This is True if the whole request must equal the recorded one."""
    file: str = ""
    """This is the file that contains the case."""

    @property
    def slug(self) -> str:
        """This is the name of the case in a form that is safe for file names."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.casefold()).strip("-")[:80] or "case"

    @property
    def reads_server(self) -> bool:
        """This is True if the store is the URL of a server, which is never written to."""
        return self.store is not None and "://" in self.store and not self.store.startswith("sqlite:")

    @property
    def store_name(self) -> str:
        """This is the name of the file in which `--keep` saves the store of the case."""
        return f"{self.slug}.case.db"

    def expectations(self) -> Iterator[tuple[str, object]]:
        """Yield the expectations one by one. Each value in a list is a separate expectation."""
        groups = [self.expect] if isinstance(self.expect, Mapping) else self.expect
        for group in groups:
            for kind, value in group.items():
                several = kind in ("contains", "not_contains", "nothing_about", "source") and isinstance(value, list)
                yield from ((kind, item) for item in value) if several else ((kind, value),)

    def pieces(self, fixtures: Mapping[str, JsonMapping] | None = None) -> list[Piece]:
        """Return the pieces that the case stores, in order."""
        writing = _Writing(self)
        for name in self.fixture_names():
            if ":" not in name:
                if fixtures is None or name not in fixtures:
                    raise InvalidValue(f"case {self.name!r}: there is no fixture {name!r} in its file")
                writing.check_names(fixtures[name], _FIXTURE_FIELDS, f"the fixture {name!r}")
                writing.add(fixtures[name])
        writing.add(msgspec.structs.asdict(self))
        return writing.pieces

    def fixture_names(self) -> list[str]:
        """Return the fixtures of the case."""
        return [self.fixture] if isinstance(self.fixture, str) else list(self.fixture)


class _Writing:
    """Collects the pieces of a case. A message without a time is dated one minute after the previous one."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._moment = FIRST_MOMENT
        self._threads = 0
        self.pieces: list[Piece] = []

    def add(self, material: JsonMapping) -> None:
        """Add the facts, documents and conversations of a case or fixture."""
        user = str(material.get("user") or self._case.user)
        for key, value in (material.get("facts") or {}).items():
            self._put("fact", user, key=str(key), value=value, text=f"{key}: {value}")
        for document in material.get("documents") or ():
            fields = {"text": document} if isinstance(document, str) else document
            self.check_names(fields, ("text", "title"), "a document")
            if "text" not in fields:
                raise InvalidValue(f"case {self._case.name!r}: a document is a text, or {{title: …, text: …}}")
            self._put("document", user, text=str(fields["text"]), name=fields.get("title"))
        talks: list[JsonMapping] = list(material.get("conversations") or ())
        if material.get("conversation"):
            talks.append({"user": user, "messages": material["conversation"]})
        for talk in talks:
            self._talk(talk, user)

    def check_names(self, fields: object, names: Sequence[str], what: str) -> None:
        """Raise `InvalidValue` if a part of a case is not a mapping, or contains an unknown name."""
        if not isinstance(fields, Mapping):
            raise InvalidValue(f"case {self._case.name!r}: {what} is a mapping of {', '.join(names)}, not {fields!r}")
        unknown = sorted(str(name) for name in fields if name not in names)
        if unknown:
            raise InvalidValue(f"case {self._case.name!r}: {what} has {', '.join(names)}, not {', '.join(unknown)}")

    def _talk(self, talk: JsonMapping, user: str) -> None:
        self._threads += 1
        self.check_names(talk, ("user", "id", "messages"), "a conversation")
        thread = str(talk.get("id") or f"conversation-{self._threads}")
        for turn in talk.get("messages") or ():
            role, text, more = _read_turn(turn, self._case.name)
            if "at" in more:
                self._moment = read_moment(more["at"])
            name = more.get("name")
            self._put("message", str(talk.get("user") or user), text=text, role=role, thread=thread, name=name)

    def _put(self, kind: str, user: str, **fields: Any) -> None:
        self.pieces.append(Piece(kind=kind, user=user, at=self._moment, **fields))
        self._moment += BETWEEN_MESSAGES


def rerun_command(file: str, case: str, option: str, *values: str) -> str:
    """Return the command that runs one case again with an option: of `memorist test`, or of pytest for a case in a test
    function."""
    if file.endswith(FILE_ENDINGS):
        return shlex.join(["memorist", "test", file, "-k", case, f"--{option}", *values])
    return shlex.join(["pytest", file, "-k", case, f"--memorist-{option}", *values])


def read_moment(value: Any) -> datetime:
    """Parse a time in a case, which is text or a date that YAML has parsed. Times without a zone are UTC."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return as_datetime(value, "at")


def _read_turn(turn: object, case: str) -> tuple[str, str, JsonObject]:
    """Return the role, the text and the other fields of a message in a case."""
    if isinstance(turn, str):
        return "user", turn, {}
    if isinstance(turn, Mapping):
        more = {name: value for name, value in turn.items() if name in ("at", "name")}
        if "role" in turn and "content" in turn and set(turn) <= {"role", "content", "at", "name"}:
            return str(turn["role"]), str(turn["content"]), more
        roles = [role for role in _ROLES if role in turn]
        if len(roles) == 1 and set(turn) <= {roles[0], "at", "name"}:
            return roles[0], str(turn[roles[0]]), more
    raise InvalidValue(f"case {case!r}: a message is a text, or a mapping such as {{assistant: Noted.}}: {turn!r}")
