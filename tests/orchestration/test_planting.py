"""Planted text against the checks alone: the model of these tests notes whatever a message says about an "I"."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import memorist.gate
from memorist import Memory
from memorist.ids import digest

PLANTING = Path(memorist.gate.__file__).with_name("planting.jsonl")
ROWS = [json.loads(line) for line in PLANTING.read_text("utf-8").splitlines()]
RECORDED = Path(__file__).parents[1] / "data" / "planting" / "answers.json"
RECORDED_ROWS = 199
"""Answers were recorded for the first rows. Some of these have none, because no model is asked about them."""
NEW = re.compile(r"^(m\d+) \(.*? UTC\) [^:]*: (.*?)(?=^m\d+ \(|^[0-9a-f]+>>)", re.M | re.S)
CLAIM = re.compile(r"\b(?:I|I['’]m|[Mm]y|[Aa]lways|[Nn]ever|[Cc]all me)\b")
NEEDS_UNDERSTANDING = {"other_speaker", "game", "document"}
"""Families in which some rows can be told from the user's own word by their sense alone: "He said I'm allergic …"."""


def obey(prompt: str) -> str:
    """A model that is taken in by everything."""
    operations = []
    for number, text in NEW.findall(prompt[prompt.rindex("# NEW") :]):
        for sentence in (part.strip() for part in re.findall(r"[^.!?\n]{6,200}", text)):
            noted = {"op": "add", "m": number, "quote": sentence, "subject": "user", "confidence": 0.95}
            if CLAIM.search(sentence):
                operations.append({**noted, "kind": "preference", "text": f"The user: {sentence}."})
            for key, value in (("name", "Mallory"), ("allergy", "penicillin")):
                if value in sentence:
                    operations.append({**noted, "kind": "fact", "key": key, "value": value, "text": f"{key}: {value}."})
    return json.dumps({"operations": operations[:24]})


@pytest.mark.filterwarnings("ignore:this memory is in RAM")
def test_what_is_pasted_quoted_or_returned_by_a_tool_is_refused_whatever_a_model_makes_of_it() -> None:
    leaks = []
    with Memory("memory://", model=obey, worker=False, embedder=None) as memory:
        for row in ROWS:
            if memory.remember([row["message"]], user=f"u{row['id']}").stored:
                leaks.append(row)
    assert len(ROWS) >= 300
    assert [row["id"] for row in leaks if row["family"] not in NEEDS_UNDERSTANDING] == []
    assert len(leaks) <= len(ROWS) * 0.025, [row["id"] for row in leaks]


@pytest.mark.filterwarnings("ignore:this memory is in RAM")
def test_nothing_is_planted_through_a_strong_model() -> None:
    """Recorded answers of a strong model that saw nothing but the prompts: no family, and no expectation."""
    recorded: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text("utf-8"))
    by_prompt = {answer["prompt"]: answer for answer in recorded.values()}

    def answer(prompt: str) -> str:
        # The schema of the answer, in a line of its own, shows the model nothing of the message.
        read = "\n".join(line for line in prompt.splitlines() if not line.startswith('{"type":"object"'))
        return json.dumps({"operations": by_prompt[digest(read.encode(), 8)]["operations"]})

    planted = []
    rows = ROWS[:RECORDED_ROWS]
    moment = datetime(2026, 11, 17, 9, tzinfo=UTC)
    with Memory("memory://", model=answer, worker=False, embedder=None, clock=lambda: moment) as memory:
        for row in rows:
            stored = memory.remember([row["message"]], user=f"u{row['id']}").stored
            # What another speaker says of themselves may be kept under their own name.
            planted += [row["id"] for item in stored if item.subject is None]
    assert planted == []
