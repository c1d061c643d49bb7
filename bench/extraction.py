"""Precision and recall of the rule-based extractor on the hand-written sentences, and how many it reads in a second.

python bench/extraction.py [--part dev|held_out] [--misses] [--speed]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any

from memorist.extract import Extracted, extract

DATA = Path(__file__).parent.parent / "tests" / "data" / "extraction.jsonl"
FRESH = DATA.with_name("extraction_fresh.jsonl")
AT = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)


def rows(part: str | None = None) -> Iterator[dict[str, Any]]:
    """The sentences of one part, or all of them."""
    for line in DATA.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if part is None or row["part"] == part:
            yield row


def run(row: dict[str, Any]) -> list[Extracted]:
    """What the extractor makes of one sentence."""
    at = datetime.fromisoformat(row["at"])
    found = extract(row["text"], role=row["role"], trust=row["trust"], at=at)
    return [item for item in found if not item.retracted]


def matches(item: Extracted, expected: dict[str, Any]) -> bool:
    """Same kind, key and value; a learning matches by type and by the words it must hold."""
    if item.kind != expected["kind"]:
        return False
    if item.kind == "learning":
        return item.type == expected["type"] and expected["contains"].casefold() in str(item.value).casefold()
    return (
        item.key == expected["key"] and item.value == expected["value"] and type(item.value) is type(expected["value"])
    )


def score(part: str | None, *, misses: bool = False) -> dict[str, Any]:
    """Counts over one part: right, wrong and missed items, and what other speakers yielded."""
    right = wrong = missed = leaked = sentences = 0
    for row in rows(part):
        sentences += 1
        found = run(row)
        hits = [item for item in found if any(matches(item, want) for want in row["expected"])]
        lost = [want for want in row["expected"] if not any(matches(item, want) for item in found)]
        right, wrong, missed = right + len(hits), wrong + len(found) - len(hits), missed + len(lost)
        leaked += len(found) if row["group"] == "other" else 0
        if misses and (lost or len(hits) < len(found)):
            print(f"#{row['id']} {row['text']!r}")
            for item in found:
                print(f"    {'ok ' if item in hits else 'BAD'} {item.type or item.key} = {item.value!r}")
            for want in lost:
                print(f"    MISSED {want.get('key', want.get('type'))} = {want.get('value', want.get('contains'))!r}")
    return {
        "part": part or "all",
        "sentences": sentences,
        "right": right,
        "wrong": wrong,
        "missed": missed,
        "precision": right / max(1, right + wrong),
        "recall": right / max(1, right + missed),
        "from other speakers": leaked,
    }


def speed(rounds: int = 4) -> float:
    """Messages a second of CPU time over the fifteen English batches, the best of some rounds."""
    texts = [json.loads(line)["text"] for line in FRESH.read_text().splitlines()]
    taken = []
    for _ in range(rounds + 1):  # the first compiles the patterns
        start = process_time()
        for text in texts:
            extract(text, role="user", trust="user", at=AT)
        taken.append(process_time() - start)
    return len(texts) / min(taken)


def main() -> int:
    """Print the figures; exit 1 when a part falls short of 0.9 / 0.6 or another speaker was believed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=["dev", "held_out"])
    parser.add_argument("--misses", action="store_true", help="show what was wrong or missed")
    parser.add_argument("--speed", action="store_true", help="only how many messages are read in a second")
    options = parser.parse_args()
    if options.speed:
        print(f"{speed():,.0f} messages a second of CPU time")
        return 0
    parts = [options.part] if options.part else ["dev", "held_out", None]
    results = [score(part, misses=options.misses) for part in parts]
    print("| part | sentences | right | wrong | missed | precision | recall | from other speakers |")
    print("|---|---|---|---|---|---|---|---|")
    for result in results:
        shown = [f"{value:.3f}" if isinstance(value, float) else str(value) for value in result.values()]
        print("| " + " | ".join(shown) + " |")
    short = any(r["precision"] < 0.9 or r["recall"] < 0.6 or r["from other speakers"] for r in results)
    return 1 if short else 0


if __name__ == "__main__":
    raise SystemExit(main())
