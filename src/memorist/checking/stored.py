"""Writes the conversations of public datasets into stores, so that their questions can be asked."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from ..blocking.memory import Memory
from ..engine.processors import FactExtractor
from ..stores.opening import NothingLasts
from ..values import JsonObject
from .datasets import Turn

USER = "ada"
MAX_APPENDED_MESSAGES = 200


class Hands:
    """Represents a clock that can be set to any time."""

    def __init__(self) -> None:
        self.at = datetime(2000, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def ask(self, when: datetime | None) -> None:
        """Return the time of a question. If only the day is known, the question is asked at the end of that day."""
        if when is not None:
            moment = aware(when)
            midnight = moment.time() == datetime.min.time()
            self.at = moment + timedelta(days=1) if midnight else moment + timedelta(seconds=1)


class Store:
    """Holds one conversation in the memory of its own user, with the ids of its turns."""

    def __init__(self, whole: Memory, clock: Hands, ids: dict[str, str] | None = None) -> None:
        self.whole = whole
        self.memory = whole.scope(user=USER)
        self.clock = clock
        self.turn_of: dict[str, str] = {} if ids is None else ids
        """The turn behind each stored message."""
        self._threads: dict[str, str] = {}

    def write(self, turns: Sequence[Turn]) -> None:
        """Append turns in one thread per session, and derive memories from them."""
        for session in dict.fromkeys(turn.session for turn in turns):
            if session not in self._threads:
                self._threads[session] = self.memory.threads.create(f"user:{USER}").id
            spoken = [turn for turn in turns if turn.session == session]
            for at in range(0, len(spoken), MAX_APPENDED_MESSAGES):
                part = spoken[at : at + MAX_APPENDED_MESSAGES]
                receipts = self.memory.threads.append(self._threads[session], *map(message_of, part))
                self.turn_of.update((receipt.message.id, turn.id) for receipt, turn in zip(receipts, part, strict=True))
        if turns and turns[-1].timestamp is not None:
            self.clock.at = max(self.clock.at, aware(turns[-1].timestamp))
        self.memory.recall("anything", top_k=1)
        self.whole.process(FactExtractor)
        self.memory.recall("anything", top_k=1)


def message_of(turn: Turn) -> JsonObject:
    """Return the message to append for a turn, with its speaker's name and its time."""
    role = "assistant" if turn.speaker.lower() in ("assistant", "ai", "bot") else "user"
    message: JsonObject = {"role": role, "name": turn.speaker, "content": turn.text}
    return message if turn.timestamp is None else {**message, "created_at": aware(turn.timestamp)}


def aware(when: datetime) -> datetime:
    """Return the time with a time zone. The files contain no time zones, so their times are treated as UTC."""
    return when if when.tzinfo else when.replace(tzinfo=UTC)


@contextmanager
def fresh(embedder: str | None = "default") -> Iterator[Store]:
    """Return an empty store in RAM, for conversations in which questions are asked midway."""
    clock = Hands()
    org = f"bench-{uuid.uuid4().hex[:12]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingLasts)
        memory = Memory("memory://", org=org, embedder=embedder, clock=clock, worker=False)
    with memory:
        yield Store(memory, clock)
