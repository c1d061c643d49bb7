"""Precision and recall on sentences that were written before anyone looked at what the rules make of them.

python bench/extraction_fresh.py [--batch N] [--part dev|aside] [--misses] [--speed]

Batches from 16 on are in two halves: "dev" to mend by, and "aside", looked at once after the last change of a pattern.

A row's optional "retracts" lists the keys whose fact the sentence ends ("I left Deloitte": ["employer"]); a bare family
("pet", "relation") stands for any key of it. Where a false fact may say the same, "expected" allows that too.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from memorist.extract import Extracted, extract

DATA = Path(__file__).parent.parent / "tests" / "data" / "extraction_fresh.jsonl"
AT = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)
FIRST_LOOK = {
    1: (0.985, 0.670),
    2: (0.919, 0.385),
    3: (0.916, 0.796),
    4: (0.912, 0.567),
    5: (0.839, 0.529),
    6: (0.940, 0.837),
    7: (0.900, 0.553),
    8: (0.956, 0.884),
    9: (0.975, 0.882),
    10: (0.950, 0.900),
    11: (0.675, 0.300),
    12: (0.826, 0.219),
    13: (0.987, 0.823),
    14: (0.984, 0.714),
    15: (1.000, 0.427),
    16: (0.960, 0.917),
    17: (0.842, 0.600),
    18: (0.895, 0.714),
}
"""Precision and recall of each batch before a rule was changed for it (from 16 on, of the half kept aside)."""
_WORDS = re.compile(r"[^\W_]+", re.UNICODE)
_COMMA = re.compile(r"(?<=\d),(?=\d\d\d)")


def rows(batch: int | None = None, part: str | None = None) -> Iterator[dict[str, Any]]:
    """The sentences of one batch, or of all; of one half of it, or of both."""
    for line in DATA.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if batch in (None, row["batch"]) and part in (None, row.get("part")):
            yield row


def words(text: str) -> set[str]:
    """The words of a key or a value, small."""
    return set(_WORDS.findall(_COMMA.sub("", text.casefold()).replace("_", " ")))


def plain(value: Any) -> str:
    """A value as one would say it."""
    if isinstance(value, dict):
        return " ".join(str(part) for part in value.values())
    if isinstance(value, list):
        return " ".join(value)
    return "" if isinstance(value, bool) else str(value)


def matches(item: Extracted, expected: dict[str, Any]) -> bool:
    """One of the key families, and one of the wordings: all its words are there, and a text has no more than those."""
    family = item.type or item.key.split(".")[0]
    return family in expected["keys"] and any(_says(item, wording) for wording in expected["says"])


def _says(item: Extracted, wording: str) -> bool:
    value, wanted = item.value, wording.removeprefix("!")
    if isinstance(value, bool) and value == wording.startswith("!"):
        return False
    said = plain(value)
    found = words(item.key.replace(".", " ")) | words(said) | {said.casefold()}
    if item.kind == "learning":
        return wanted.casefold() in said.casefold()
    if item.key.startswith("date.") or item.key == "birthday":
        return all(word in found or word in said for word in words(wanted))
    return words(wanted) <= found and (not isinstance(value, str) or len(said.split()) <= len(wanted.split()))


def score(batch: int | None, part: str | None = None, *, misses: bool = False) -> dict[str, Any]:
    """Counts over one batch: right, wrong and missed items, and sentences without a fact that gave one."""
    good_ones = right = wrong = missed = false_alarms = sentences = 0
    for row in rows(batch, part):
        sentences += 1
        found = [item for item in extract(row["text"], role="user", trust="user", at=AT) if not item.retracted]
        good = [item for item in found if any(matches(item, want) for want in row["expected"])]
        needed = [want for want in row["expected"] if want["needed"]]
        lost = [want for want in needed if not any(matches(item, want) for item in found)]
        right, missed = right + len(needed) - len(lost), missed + len(lost)
        good_ones, wrong = good_ones + len(good), wrong + len(found) - len(good)
        false_alarms += bool(found) and not row["expected"]
        if misses and (lost or len(good) < len(found)):
            print(f"#{row['id']} {row['text']!r}")
            for item in found:
                print(f"    {'ok ' if item in good else 'BAD'} {item.type or item.key} = {item.value!r}")
            for want in lost:
                print(f"    MISSED {'/'.join(want['keys'])} = {'|'.join(want['says'])}")
    return {
        "batch": batch or "all",
        "sentences": sentences,
        "right": right,
        "wrong": wrong,
        "missed": missed,
        "false alarms": false_alarms,
        "precision": good_ones / max(1, good_ones + wrong),
        "recall": right / max(1, right + missed),
        "at first look": " / ".join(f"{figure:.3f}" for figure in FIRST_LOOK.get(batch or 0, ())),
    }


def speed() -> str:
    """Microseconds per message over all sentences: the best of ten readings of each."""
    texts = [row["text"] for row in rows()]
    times = sorted(min(_once(text) for _ in range(10)) for text in texts)
    return f"median {median(times):.0f} µs, 95% under {times[len(times) * 95 // 100]:.0f}, longest {times[-1]:.0f}"


def _once(text: str) -> float:
    start = perf_counter()
    extract(text, role="user", trust="user", at=AT)
    return (perf_counter() - start) * 1e6


def main() -> int:
    """Print the figures of each batch; exit 1 when one falls short of 0.9 / 0.6."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--part", choices=["dev", "aside"])
    parser.add_argument("--misses", action="store_true", help="show what was wrong or missed")
    parser.add_argument("--speed", action="store_true", help="time the extractor instead")
    options = parser.parse_args()
    if options.speed:
        print(speed())
        return 0
    batches = [options.batch] if options.batch else [*sorted({row["batch"] for row in rows(part=options.part)}), None]
    results = [score(batch, options.part, misses=options.misses) for batch in batches]
    print("| " + " | ".join(results[0]) + " |")
    print("|" + "---|" * len(results[0]))
    for result in results:
        shown = [f"{value:.3f}" if isinstance(value, float) else str(value) for value in result.values()]
        print("| " + " | ".join(shown) + " |")
    return 1 if any(result["precision"] < 0.9 or result["recall"] < 0.6 for result in results) else 0


if __name__ == "__main__":
    raise SystemExit(main())
