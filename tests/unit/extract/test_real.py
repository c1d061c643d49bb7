"""The rules on turns of real conversations that readers labelled (tests/data/real/README.md)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memorist.extract import Extracted, extract

DATA = Path(__file__).parents[2] / "data" / "real"
ROWS = [
    json.loads(line)
    for name in ("turns.jsonl", "second.jsonl")
    for line in (DATA / name).read_text("utf-8").splitlines()
]


def read(row: dict[str, Any]) -> list[Extracted]:
    return extract(row["text"], at=datetime.fromisoformat(row["at"]).replace(tzinfo=UTC))


@pytest.mark.parametrize("part", ["dev", "heldout", "fit", "second_learn", "second_aside"])
def test_at_least_95_percent_of_what_is_extracted_is_good(part: str) -> None:
    verdicts = [
        {label["key"]: label["label"] for label in row.get("labels", ())}.get(item.key)
        for row in ROWS
        if row["part"] == part
        for item in read(row)
    ]
    assert verdicts.count("good") >= 0.95 * len(verdicts)
    assert verdicts


def test_nothing_is_extracted_from_turns_that_state_nothing() -> None:
    negatives = [row for row in ROWS if row["part"] == "negative"]
    assert len(negatives) >= 300
    assert [item for row in negatives for item in read(row)] == []
