"""Precision and recall in nine languages, on sentences that were written before the patterns.

python bench/extraction_languages.py [--lang CODE] [--part dev|aside|second|third|third_aside] [--misses]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memorist.extract import Extracted, extract
from memorist.languages import languages

DATA = Path(__file__).parent.parent / "tests" / "data" / "languages"
AT = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)


def rows(lang: str, part: str | None) -> Iterator[dict[str, Any]]:
    """The sentences of a language, of one part or of both."""
    for line in (DATA / f"{lang}.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if part is None or row["part"] == part:
            yield row


def _key(key: str) -> str:
    return key.replace("'", "")


def _value(value: Any) -> str:
    plain = value["amount"] if isinstance(value, dict) else value
    return str(plain).casefold()


def is_right(item: Extracted, row: dict[str, Any]) -> bool:
    """Whether an item is one that the row expects: key and value are the same, or the learning holds its words."""
    if item.retracted:
        return any(_same_key(item, key) for key in row["retracts"])
    if item.kind == "learning":
        return bool(row.get("learning")) and row["learning"].casefold() in str(item.value).casefold()
    if item.value is False and item.key in [_key(key) for key in row["retracts"]]:
        return True
    return any(item.key == _key(fact["key"]) and _value(item.value) == _value(fact["value"]) for fact in row["facts"])


def _same_key(item: Extracted, key: str) -> bool:
    return item.key == _key(key) or (item.key.endswith(".*") and key.startswith(item.key[:-1]))


def _needs(row: dict[str, Any]) -> list[tuple[str, Any]]:
    learning = [("learning", row["learning"])] if row.get("learning") else []
    return [*((f["key"], f["value"]) for f in row["facts"]), *(("ends", key) for key in row["retracts"]), *learning]


def _gives(need: tuple[str, Any], item: Extracted) -> bool:
    kind, wanted = need
    if kind == "ends":
        return (item.retracted and _same_key(item, wanted)) or (item.value is False and item.key == _key(wanted))
    if kind == "learning":
        return item.kind == "learning" and wanted.casefold() in str(item.value).casefold()
    return not item.retracted and item.key == _key(kind) and _value(item.value) == _value(wanted)


def score(lang: str, part: str | None, *, misses: bool = False) -> dict[str, Any]:
    """Counts of one language: right, wrong and missed."""
    right = wrong = missed = good = sentences = 0
    for row in rows(lang, part):
        sentences += 1
        found = extract(row["text"], role="user", trust="user", at=AT)
        fine = [item for item in found if is_right(item, row)]
        lost = [need for need in _needs(row) if not any(_gives(need, item) for item in found)]
        right, missed = right + len(_needs(row)) - len(lost), missed + len(lost)
        good, wrong = good + len(fine), wrong + len(found) - len(fine)
        if misses and (lost or len(fine) < len(found)):
            print(f"{row['id']} {row['text']}")
            print(
                "".join(f"    BAD {item.key} = {item.value!r} ({item.rule})\n" for item in found if item not in fine),
                end="",
            )
            print("".join(f"    MISSED {key} = {value!r}\n" for key, value in lost), end="")
    return {
        "language": lang,
        "sentences": sentences,
        "right": right,
        "wrong": wrong,
        "missed": missed,
        "precision": good / max(1, good + wrong),
        "recall": right / max(1, right + missed),
    }


def main() -> int:
    """Print the figures of each language; exit 1 when one falls short of 0.9 / 0.5."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lang")
    parser.add_argument("--part", choices=["dev", "aside", "second", "third", "third_aside"])
    parser.add_argument("--misses", action="store_true", help="show what was wrong or missed")
    options = parser.parse_args()
    chosen = [options.lang] if options.lang else list(languages())
    results = [score(lang, options.part, misses=options.misses) for lang in chosen]
    print("| " + " | ".join(results[0]) + " |")
    print("|" + "---|" * len(results[0]))
    for result in results:
        shown = [f"{value:.3f}" if isinstance(value, float) else str(value) for value in result.values()]
        print("| " + " | ".join(shown) + " |")
    return 1 if any(result["precision"] < 0.9 or result["recall"] < 0.5 for result in results) else 0


if __name__ == "__main__":
    raise SystemExit(main())
