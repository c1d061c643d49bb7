"""The sentence set: what the issue asks of the rule-based extractor, on both parts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bench.extraction import rows, score
from memorist.extract import KEYS


def test_the_set_has_200_sentences_in_the_promised_shares() -> None:
    groups = Counter(row["group"] for row in rows())
    assert groups == {"fact": 100, "none": 60, "other": 40}
    assert all((row["part"] == "held_out") == (row["id"] % 3 == 2) for row in rows())
    assert all(bool(row["expected"]) == (row["group"] == "fact") for row in rows())
    assert len({row["text"] for row in rows()}) == 200


@pytest.mark.parametrize("part", ["dev", "held_out"])
def test_precision_and_recall_are_as_promised(part: str) -> None:
    result = score(part)
    assert result["precision"] >= 0.9
    assert result["recall"] >= 0.6
    assert result["from other speakers"] == 0


def test_the_documented_table_has_every_key() -> None:
    page = (Path(__file__).parents[3] / "docs" / "extraction.md").read_text(encoding="utf-8")
    for key, meaning in KEYS.items():
        assert f"| `{key}` | {meaning} |" in page
