"""Judges the rules on real conversations that readers labelled, on planted texts and for speed.

python bench/extraction.py [--data DIR] [--counts]

Without `--data` it reads the labels in `tests/data/real`, whose texts may be redistributed. With it, it also reads
`bench/extraction_labels.jsonl`, labels of conversations that may not; DIR holds these sets in the form of DATA.md.
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
from memorist.messages.message import as_message
from memorist.redteam import load_attempts

TESTS = Path(__file__).parent.parent / "tests" / "data"
LABELS = Path(__file__).with_name("extraction_labels.jsonl")


def rows(path: Path) -> list[dict[str, Any]]:
    """The lines of a file of labels."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def read(text: str, at: str) -> list[Extracted]:
    """What the rules extract from a turn; of a chat between people, its speaker is the owner of the thread."""
    return extract(text, at=datetime.fromisoformat(at).replace(tzinfo=UTC))


def texts_of(data: Path) -> dict[tuple[str, str, str], tuple[str, str]]:
    """The turns of the sets in a folder: text and time by set, conversation and turn."""
    out = {}
    for path in sorted(data.glob("*.json")):
        document = json.loads(path.read_text("utf-8"))
        for talk in document.get("conversations", ()) if isinstance(document, dict) else ():
            for turn in talk["turns"]:
                out[path.stem, str(talk["id"]), str(turn["id"])] = turn["text"], turn["at"]
    return out


def labelled(data: Path | None) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Text, time and label of each labelled turn."""
    for name in ("turns.jsonl", "second.jsonl"):
        for row in rows(TESTS / "real" / name):
            yield row["text"], row["at"], row
    texts = texts_of(data) if data is not None else {}
    for row in rows(LABELS) if texts else ():
        text, at = texts[row["set"], row["conversation"], row["turn"]]
        yield text, at, row


def judge(data: Path | None) -> dict[str, dict[str, int]]:
    """By part: turns, items, those judged good, those of the safety lane, and core statements read and stated."""
    out: dict[str, dict[str, int]] = {}
    for text, at, row in labelled(data):
        items = read(text, at)
        counts = out.setdefault(row["part"], dict.fromkeys(("turns", "items", "good", "unlabelled", "core", "read"), 0))
        labels = {label["key"]: label["label"] for label in row.get("labels", ())}
        counts["turns"] += 1
        counts["items"] += len(items)
        counts["good"] += sum(labels.get(item.key) == "good" for item in items)
        counts["unlabelled"] += sum(item.key not in labels for item in items)
        counts["core"] += len(row.get("core", ()))
        counts["read"] += sum(any(item.key.startswith(stem) for item in items) for stem in row.get("core", ()))
    return out


def counts_by_topic(data: Path | None) -> dict[str, list[int]]:
    """By topic: how many items were judged good, of how many; the counts of `extract/confidence.toml`."""
    out: dict[str, list[int]] = {}
    for text, at, row in labelled(data):
        labels = {label["key"]: label["label"] for label in row.get("labels", ())}
        for item in read(text, at):
            good_read = out.setdefault(item.rule.split(".")[1] if "." in item.rule else item.rule, [0, 0])
            good_read[0] += labels.get(item.key) == "good"
            good_read[1] += 1
    return dict(sorted(out.items()))


def planted() -> tuple[int, int]:
    """Planting attempts, and those that gave anything."""
    at = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)
    attempts = [attempt.to_dict() for attempt in load_attempts()]
    return len(attempts), sum(bool(extract(as_message(row["message"]), at=at, owner=["ada"])) for row in attempts)


def speed(rounds: int = 3) -> float:
    """Turns a second of CPU time, the best of some rounds."""
    turns = [(row["text"], row["at"]) for row in rows(TESTS / "real" / "turns.jsonl")]
    seconds = []
    for _ in range(rounds):
        start = process_time()
        for text, at in turns:
            read(text, at)
        seconds.append(process_time() - start)
    return len(turns) / min(seconds)


def main() -> None:
    """Print the figures; exit 1 below 95 % good, or if a negative turn or a planted text gave anything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--counts", action="store_true", help="only the items judged good and read, by topic")
    options = parser.parse_args()
    if options.counts:
        print("\n".join(f"{topic} = {counts}" for topic, counts in counts_by_topic(options.data).items()))
        return
    figures = judge(options.data)
    for part, counts in figures.items():
        share = f"{counts['good'] / counts['items']:.1%} good" if counts["items"] else "nothing extracted"
        recall = f", {counts['read']} of {counts['core']} core statements" if counts["core"] else ""
        print(f"{part}: {counts['turns']} turns, {counts['items']} items, {share}{recall}")
    attempts, leaked = planted()
    print(f"planted: {attempts} texts, {leaked} gave anything")
    print(f"speed: {speed():,.0f} turns a second of CPU time")
    items, good = (sum(counts[name] for counts in figures.values()) for name in ("items", "good"))
    raise SystemExit(good < 0.95 * items or leaked > 0 or figures["negative"]["items"] > 0)


if __name__ == "__main__":
    main()
