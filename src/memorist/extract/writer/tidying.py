"""Plans a tidy-up based on duplicates that the program finds and on a model's proposals. The proposals are checked, so
that no detail is lost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from ...values import JsonObject
from .checks import details, fold
from .request import Known, known_line

MAX_PROPOSALS = 40
MAX_MEMORIES = 120
"""The maximum number of memories that the model sees in one call."""
NEAR_SIMILARITY = 0.9
"""Two sentences count as the same if they have at least this share of their words in common."""
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """Holds one line of a plan, as the model wrote it or the program found it."""

    op: Literal["merge", "end", "reword", "learn"]
    ids: list[str]
    because: str | None = None
    text: str | None = None
    reason: str = ""


@cache
def rules() -> str:
    """Return the fixed part of the prompt."""
    return (Path(__file__).parent / "tidy.md").read_text("utf-8").strip()


def tidy_request(memories: Sequence[Known]) -> str:
    """Return the memories as the model sees them."""
    lines = [known_line(number, item) for number, item in enumerate(memories, start=1)]
    return "\n".join(["# MEMORIES", *lines, "", "Answer with your proposals, as JSON."])


def tidy_schema() -> JsonObject:
    """Return the JSON Schema of the answer."""
    text = {"type": "string", "maxLength": 400}
    properties = {
        "op": {"type": "string", "enum": ["merge", "end", "reword", "learn"]},
        "ids": {"type": "array", "items": {"type": "string", "maxLength": 8}, "maxItems": 20},
        "because": {"anyOf": [{"type": "string", "maxLength": 8}, {"type": "null"}]},
        "text": {"anyOf": [text, {"type": "null"}]},
        "reason": {"type": "string", "maxLength": 120},
    }
    item = {"type": "object", "additionalProperties": False, "required": [*properties], "properties": properties}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["proposals"],
        "properties": {"proposals": {"type": "array", "items": item, "maxItems": MAX_PROPOSALS}},
    }


def find_duplicates(memories: Sequence[Known]) -> list[Proposal]:
    """Return memories of one kind and subject whose sentences are equal, or nearly equal and contain the same
    numbers."""
    proposals: list[Proposal] = []
    taken: set[str] = set()
    for index, item in enumerate(memories):
        if item.id in taken:
            continue
        group = [item, *(other for other in memories[index + 1 :] if other.id not in taken and _is_twin(item, other))]
        if len(group) > 1:
            taken |= {member.id for member in group}
            longest = max(group, key=lambda member: len(member.text))
            ids = [member.id for member in group]
            proposals.append(Proposal(op="merge", ids=ids, text=longest.text, reason="the same sentence"))
    return proposals


def _is_twin(memory: Known, other: Known) -> bool:
    if (memory.kind, memory.subject, memory.status) != (other.kind, other.subject, other.status):
        return False
    if memory.kind == "event" and memory.since != other.since:
        return False
    sentence, other_sentence = fold(memory.text), fold(other.text)
    if sentence and sentence == other_sentence:
        return True
    if details(memory.text) != details(other.text):
        return False
    first, second = set(_WORD.findall(sentence)), set(_WORD.findall(other_sentence))
    return bool(first) and len(first & second) >= NEAR_SIMILARITY * len(first | second)


def check_proposal(proposal: Proposal, memories: dict[str, Known]) -> str | None:
    """Return why a proposal is refused: it names a memory that does not exist, or would lose or change a detail.

    Return None if it is valid.
    """
    members = [memories[id] for id in proposal.ids if id in memories]
    if not members or len(members) != len(set(proposal.ids)):
        return "names a memory that is not there"
    text = " ".join((proposal.text or "").split())
    if proposal.op != "end" and not text:
        return "has no sentence"
    if proposal.op == "end":
        if len(members) != 1:
            return "ends several memories at once"
        newer = memories.get(proposal.because or "")
        if newer is None or newer.id == members[0].id:
            return "names no newer memory"
        if newer.subject != members[0].subject:
            return "the newer memory is about somebody else"
        if newer.stated_at is not None and members[0].stated_at is not None and newer.stated_at < members[0].stated_at:
            return "the other memory is older"
        return "must not be missed" if members[0].sensitive else None
    if proposal.op == "learn":
        return None if len(members) >= 3 else "needs three memories"
    if proposal.op == "merge" and (len(members) < 2 or len({(m.kind, m.subject, m.status) for m in members}) > 1):
        return "merges different kinds or subjects"
    if proposal.op == "reword" and len(members) != 1:
        return "rewords several memories at once"
    before = set().union(*(details(member.text) for member in members))
    after = details(text)
    if any(_DIGITS.findall(member.text) != _DIGITS.findall(members[0].text) for member in members):
        return "merges different numbers"
    if before - after:
        return "loses a name, a number or a negation"
    return "adds a name, a number or a negation" if after - before else None
