"""Benchmark conversations as stores: a file for each, kept between runs while what writes them is unchanged."""

from __future__ import annotations

import hashlib
import json
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from datasets import Conversation, Turn

import memorist
from memorist import FactExtractor, Memory

USER = "ada"
BATCH = 200
SOURCE = Path(memorist.__file__).parent
WRITES = (
    "extract", "languages", "recall/analyze.py", "recall/signals.py", "recall/features.py", "engine/derive/deriving.py",
    "engine/derive/indexing.py", "records.py", "embed/wordllama.py",
)  # fmt: skip
"""What decides the contents of a store; a change in one of them makes the kept files worthless."""


class Hands:
    """A clock that is set."""

    def __init__(self) -> None:
        self.at = datetime(2000, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def ask(self, when: datetime | None) -> None:
        """The time of a question; one dated by its day alone is asked at the end of that day."""
        if when is not None:
            given = aware(when)
            midnight = given.time() == datetime.min.time()
            self.at = given + timedelta(days=1) if midnight else given + timedelta(seconds=1)


class Store:
    """One conversation in a memory of its own user, with the ids of its turns."""

    def __init__(self, whole: Memory, clock: Hands, ids: dict[str, str] | None = None) -> None:
        self.whole = whole
        self.memory = whole.scope(user=USER)
        self.clock = clock
        self.turn_of: dict[str, str] = {} if ids is None else ids
        """The turn that each stored message is."""
        self._threads: dict[str, str] = {}

    def write(self, turns: Sequence[Turn]) -> None:
        """Append turns, one thread for each session, and derive from them."""
        for session in dict.fromkeys(turn.session for turn in turns):
            if session not in self._threads:
                self._threads[session] = self.memory.threads.create(f"user:{USER}").id
            said = [turn for turn in turns if turn.session == session]
            for at in range(0, len(said), BATCH):
                part = said[at : at + BATCH]
                sent = self.memory.threads.append(self._threads[session], *map(message_of, part))
                self.turn_of.update((receipt.message.id, turn.id) for receipt, turn in zip(sent, part, strict=True))
        if turns and turns[-1].timestamp is not None:
            self.clock.at = max(self.clock.at, aware(turns[-1].timestamp))
        self.memory.recall("anything", top_k=1)
        self.whole.process(FactExtractor)
        self.memory.recall("anything", top_k=1)


def message_of(turn: Turn) -> dict[str, Any]:
    """A turn as it is appended: with its speaker's name and its time."""
    role = "assistant" if turn.speaker.lower() in ("assistant", "ai", "bot") else "user"
    said: dict[str, Any] = {"role": role, "name": turn.speaker, "content": turn.text}
    return said if turn.timestamp is None else {**said, "created_at": aware(turn.timestamp)}


def aware(when: datetime) -> datetime:
    """The files carry no zone; their times are taken as UTC."""
    return when if when.tzinfo else when.replace(tzinfo=UTC)


@contextmanager
def fresh(embedder: str | None = "default") -> Iterator[Store]:
    """An empty store in RAM, for conversations that are asked about while they go on."""
    clock = Hands()
    org = f"bench-{uuid.uuid4().hex[:12]}"
    with Memory("memory://", org=org, embedder=embedder, clock=clock, worker=False) as memory:
        yield Store(memory, clock)


@contextmanager
def whole(
    name: str, talk: Conversation, embedder: str | None = "default", folder: Path | None = None
) -> Iterator[Store]:
    """The store of a whole conversation, made once."""
    place = (folder or Path(tempfile.gettempdir()) / "memorist-bench") / _stamp(embedder)
    place.mkdir(parents=True, exist_ok=True)
    path, ids = place / f"{name}-{talk.id}.db", place / f"{name}-{talk.id}.json"
    clock, known = Hands(), ids.exists()
    if not known:
        path.unlink(missing_ok=True)
    turns = json.loads(ids.read_text()) if known else None
    with Memory(path, org="bench", embedder=embedder, clock=clock, worker=False, durability="normal") as memory:
        store = Store(memory, clock, turns)
        if not known:
            store.write(talk.turns)
            ids.write_text(json.dumps(store.turn_of))
        yield store


def _stamp(embedder: str | None) -> str:
    made = hashlib.blake2b(str(embedder).encode(), digest_size=6)
    for name in WRITES:
        given = SOURCE / name
        for file in sorted(given.rglob("*.[pt][yo]*")) if given.is_dir() else [given]:
            if file.suffix in (".py", ".toml"):
                made.update(file.read_bytes())
    return made.hexdigest()
