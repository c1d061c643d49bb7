"""How many of the writer's notes could the form that it replaced have held?

    python -m bench.writer.old_form

The old form was a table of keys for facts about the user, and learnings; events, plans and facts about others had no
place in it. This replays the recordings of `tests/data/writer` and counts the notes that have one: an upper bound,
since the old form also voided an answer for one bad item, and did not show the model the question before an answer.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from .recordings import SEGMENTS
from .segments import owner_of, read_segment

KEYS = frozenset(
    "name nickname age birthday nationality relationship_status role job employer team industry education school goal"
    " project location hometown address email phone contact diet height weight language hobby allergy medical_condition"
    " medication partner child parent sibling friend colleague pet vehicle budget project_decision subscription device"
    " programming_language tools collection possession tableware kitchen_equipment homemade_condiment"
    " planting_survival_rate work_hours_policy travel_booking_policy expense_policy".split()
)
"""The keys of the recorded facts that have a counterpart in the old table, generously: `owns.<x>`, `my.<x>`,
`uses.<x>`, `number.<x>` and `decision.<x>` took much."""


def replay_notes(segment: Path) -> list[dict[str, Any]]:
    """The notes of a segment with its recorded answers."""
    with tempfile.TemporaryDirectory() as name:
        for number, answer in enumerate(json.loads(segment.read_text("utf-8"))["answers"], start=1):
            Path(name, f"{segment.stem}.{number}.json").write_text(json.dumps(answer), "utf-8")
        return read_segment(segment, Path(name))[0]


def fit(note: dict[str, Any], owner: str) -> str:
    """Whether a note fits the old form, or why not."""
    if note["kind"] == "event":
        return "an event or a plan"
    if note["subject"] != owner:
        return "about somebody or something else"
    if note["kind"] == "fact" and note["key"].split(".")[0] not in KEYS:
        return "no such key"
    return "fits"


def main() -> None:
    """Print the counts."""
    counts: Counter[str] = Counter()
    for segment in sorted(SEGMENTS.glob("*.json")):
        owner = owner_of(json.loads(segment.read_text("utf-8"))["turns"])
        counts.update(fit(note, owner) for note in replay_notes(segment))
    print(f"{counts['fits']} of {counts.total()} notes fit the old form; the others:")
    for reason, count in counts.most_common():
        if reason != "fits":
            print(f"  {count} {reason}")


if __name__ == "__main__":
    main()
