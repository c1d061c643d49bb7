"""False marks, and requests to forget: is anything marked that did not change, and is what was to be forgotten sent?

    python -m bench.marks                 # pairs of real turns that change nothing
    python -m bench.marks --data DIR      # also contexts of LoCoMo and VehicleMemBench, and PersonaMem's requests

Pairs: a real turn that states something about its speaker, then an ordinary turn of somebody else's conversation that
states nothing. Nothing may be marked. Contexts: what questions of two public sets bring into a request; each mark is
printed, to be read. Requests to forget: of the preferences that PersonaMem's speakers ask to forget, how many are still
sent unmarked when a question about them is asked. Many of PersonaMem's turns do not tell their preference ("Can you
help me polish this message?"), so a reader labelled those that are still sent: `bench/forgotten_labels.jsonl` says for
each whether it states the preference, hints at it, or says nothing of it. A turn without a label counts as stating it.
LoCoMo and PersonaMem are measured only.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from memorist import Memory
from memorist.checking.datasets import Conversation, load
from memorist.checking.stored import USER, fresh

sys.path.insert(0, str(Path(__file__).parent / "recall"))

from stored import whole

TURNS = Path(__file__).parents[1] / "tests" / "data" / "real" / "turns.jsonl"
LABELS = Path(__file__).with_name("forgotten_labels.jsonl")
PAIRS = 500
CONTEXTS = 200
BUDGET_TOKENS = 2000


def turns() -> list[dict[str, Any]]:
    return [json.loads(line) for line in TURNS.read_text("utf-8").splitlines()]


def pairs(count: int = PAIRS) -> list[tuple[str, str]]:
    """A statement and an ordinary sentence of another conversation, drawn with a fixed seed."""
    rows = turns()
    stating = [row for row in rows if row.get("labels")]
    ordinary = [row for row in rows if row["part"] == "negative"]
    draw = random.Random(0)
    return [(draw.choice(stating)["text"], draw.choice(ordinary)["text"]) for _ in range(count)]


def false_marks(drawn: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """What is marked although nothing changed, with the words of the mark."""
    with Memory("memory://", worker=False, clock=lambda: datetime(2026, 11, 18, tzinfo=UTC)) as memory:
        for number, (statement, sentence) in enumerate(drawn):
            user = memory.scope(user=f"u{number}")
            user.threads.append(user.threads.create(f"user:u{number}").id, statement, sentence)
            for hit in user.recall(f"{statement[:200]} {sentence[:200]}", top_k=10, min_score=0.0):
                if hit.superseded_by is not None:
                    yield hit.text, hit.superseded_by


def marks_in_contexts(path: Path, count: int) -> tuple[int, list[str]]:
    """How many contexts were built, and the lines in them that carry a mark."""
    data = load(path)
    pairs = [(talk, question) for talk in data.conversations for question in talk.questions]
    drawn = random.Random(1).sample(pairs, min(count, len(pairs)))
    marks: list[str] = []
    for talk in data.conversations:
        questions = [question for other, question in drawn if other is talk]
        if not questions:
            continue
        with whole(data.name, talk, None) as store:
            for question in questions:
                store.clock.ask(question.asked_at)
                items = store.memory.context(question.text, budget=BUDGET_TOKENS).memory_items
                marks += [f"{item.text[:160]}  ->  {item.superseded_by}" for item in items if item.superseded_by]
    return len(drawn), marks


def labels() -> dict[tuple[str, str, str], str]:
    """What a reader said of turns that are still sent, by conversation, request and turn."""
    rows = [json.loads(line) for line in LABELS.read_text("utf-8").splitlines()]
    return {(row["conversation"], row["request"], row["turn"]): row["label"] for row in rows}


class Forgotten(NamedTuple):
    """Of some requests: how many were stored, are still recalled or sent unmarked, or are sent by a turn that states
    the preference."""

    requests: int
    stored: int
    recalled: int
    sent: int
    stated: int


def count_forgotten(path: Path, conversations: int) -> Forgotten:
    """Count the requests to forget, and what is left of the preferences they name."""
    judged = labels()
    raw = {talk["id"]: talk for talk in json.loads(path.read_text("utf-8"))["conversations"]}
    requests = stored = recalled = sent = stated = 0
    for talk in load(path).conversations[:conversations]:
        items = raw[talk.id]["items"]
        by_preference = {item["preference"]: item for item in items}
        with fresh(None) as store:
            # The store belongs to Ada: words under another name would not be read as its owner's.
            store.write([replace(turn, speaker=USER) if turn.speaker == "user" else turn for turn in talk.turns])
            texts = {turn.id: turn.text for turn in talk.turns}
            sources = {id for memory in store.memory.memories.list() for id in memory.sources}
            for item in items:
                before = by_preference.get(item["previous"]) if item["category"] == "ask_to_forget" else None
                if before is None:
                    continue
                requests += 1
                stored += any(store.turn_of.get(source) in item["said_in"] for source in sources)
                own = spoken_turns(talk, before["gold"])
                hits = store.memory.recall(item["previous"], top_k=20)
                recalled += any(
                    store.turn_of.get(hit.id) in own and hit.superseded_by is None
                    for hit in hits
                    if hit.kind == "message"
                )
                context = store.memory.context(item["text"] or before["text"] or item["previous"], budget=BUDGET_TOKENS)
                unmarked = [memory.text for memory in context.memory_items if memory.superseded_by is None]
                still = [turn for turn in own if any(texts[turn][:80] in text for text in unmarked)]
                sent += bool(still)
                request = item["said_in"][-1]
                stated += any(judged.get((talk.id, request, turn), "states") == "states" for turn in still)
    return Forgotten(requests, stored, recalled, sent, stated)


def spoken_turns(talk: Conversation, ids: list[str]) -> set[str]:
    """Those of some turns that the user said."""
    return {turn.id for turn in talk.turns if turn.id in ids and turn.speaker == "user"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder with the sets of bench/DATA.md")
    parser.add_argument("--conversations", type=int, default=8, help="of PersonaMem, at most")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wrong = list(false_marks(pairs()))
    print(f"{PAIRS} pairs that change nothing: {len(wrong)} marks (0 asked)")
    for text, mark in wrong:
        print(f"  {text[:100]}  ->  {mark}")
    if options.data is None:
        sys.exit(bool(wrong))
    for name in ("locomo.json", "vehicle.json"):
        count, marks = marks_in_contexts(options.data / name, CONTEXTS // 2)
        print(f"{name}: {len(marks)} marks in {count} contexts; read them:")
        print("\n".join(f"  {mark}" for mark in dict.fromkeys(marks)))
    remains = count_forgotten(options.data / "personamem2.json", options.conversations)
    total = remains.requests
    print(
        f"requests to forget: {total}; stored from them {remains.stored} (0 asked); no longer recalled unmarked "
        f"{1 - remains.recalled / total:.0%}; no turn of the preference sent unmarked {1 - remains.sent / total:.0%}; "
        f"no turn that states it sent unmarked {1 - remains.stated / total:.0%} (90 % asked)"
    )
    sys.exit(bool(wrong or remains.stored or remains.stated > 0.1 * total))


if __name__ == "__main__":
    main()
