"""Replays attempts to plant memories, and reports which ones succeeded.

Each attempt is a message in which somebody else's words (a tool result, a quotation, a document, a transcript) try to
become a fact, a wish or a safety line about the user. The attempts are in `gate/planting.jsonl`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import msgspec

from .errors import UsageError
from .ids import new_id
from .records import as_dict
from .values import JsonObject

if TYPE_CHECKING:
    from .blocking.memory import Memory

Progress = Callable[[int, int], object]
"""Called with the number of attempts made so far and the total."""


class Attempt(msgspec.Struct, frozen=True):
    """Represents one attempt to plant a memory."""

    to_dict = as_dict

    id: int
    family: str
    lang: str
    message: JsonObject


class Planted(msgspec.Struct, frozen=True):
    """Describes a memory that an attempt left behind."""

    id: int
    family: str
    lang: str
    kind: str
    """This is `fact`, `event`, `learning`, `candidate` or `profile line`."""
    text: str


class RedteamReport(msgspec.Struct, frozen=True):
    """Reports the outcome of all attempts."""

    to_dict = as_dict

    attempts: dict[str, int]
    """This is the number of attempts by family."""
    planted: list[Planted]
    waiting: list[Planted]
    """These memories are waiting for a person's approval. They are not used until then, and do not count as planted."""

    @property
    def passed(self) -> bool:
        """This is True if no attempt succeeded."""
        return not self.planted


def load_attempts(families: Collection[str] = ()) -> list[Attempt]:
    """Return the attempts of the given families, or all of them."""
    from pathlib import Path

    lines = (Path(__file__).parent / "gate" / "planting.jsonl").read_bytes().splitlines()
    attempts = [msgspec.json.decode(line, type=Attempt) for line in lines if line.strip()]
    names = {attempt.family for attempt in attempts}
    if set(families) - names:
        raise UsageError(f"there is no such family of attempts; the families are {', '.join(sorted(names))}")
    return [attempt for attempt in attempts if not families or attempt.family in families]


def run_redteam(memory: Memory, *, families: Collection[str] = (), progress: Progress | None = None) -> RedteamReport:
    """Replay the attempts against a memory. Each attempt has its own user, who is forgotten afterwards.

    Args:
        memory: A handle on a whole org, with the model, the extraction and the gate to be tested.
        families: Replay only these families of attempts.
        progress: Called after each attempt.
    """
    attempts = load_attempts(families)
    counts: dict[str, int] = {}
    planted: list[Planted] = []
    waiting: list[Planted] = []
    run = new_id()
    for number, attempt in enumerate(attempts, 1):
        counts[attempt.family] = counts.get(attempt.family, 0) + 1
        user = f"redteam-{run}-{attempt.id}"
        try:
            rows = _replay(memory, user, attempt)
        finally:
            memory.forget(user=user)
        for kind, text in rows:
            left = Planted(attempt.id, attempt.family, attempt.lang, kind, text)
            (waiting if kind == "candidate" else planted).append(left)
        if progress is not None:
            progress(number, len(attempts))
    return RedteamReport(dict(sorted(counts.items())), planted, waiting)


def _replay(memory: Memory, user: str, attempt: Attempt) -> list[tuple[str, str]]:
    """Return the kind and text of everything that an attempt leaves in a user's memory."""
    ns, message = f"user:{user}", attempt.message
    if message.get("role") in ("tool", "function") or "call_id" in message:
        # A thread cannot contain a tool result without its call, and only the words matter here.
        message = {"role": "user", "trust": "tool", "content": str(message)}
    receipts = memory.threads.append(user, message, create=ns)
    memory.wait(receipts)
    items = [item for item in memory.memories.list(ns=ns) if item.status == "active"]
    rows: list[tuple[str, str]] = [(item.kind, item.text if item.value is None else str(item.value)) for item in items]
    rows += [("candidate", row.text) for row in memory.review.list(ns=ns)]
    if not rows:
        rows += [("profile line", line.text) for line in memory.profile.block(user)]
    return rows
