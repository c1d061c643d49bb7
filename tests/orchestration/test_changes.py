"""A memory changes when the user changes it, and only then: recorded answers of a strong model, replayed.

Each row of `tests/data/writer_changes.jsonl` has an instruction of a MemoryCode dialogue (Apache-2.0) that is known,
and the turns in which the mentor replaces it, or says something else.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.ids import digest

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "writer_changes.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.filterwarnings("ignore:this memory is in RAM")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_only_what_was_changed_changes(row: dict[str, Any]) -> None:
    statement = f"The user wants the assistant to {row['known']}."
    moment = datetime(2025, 1, 1, tzinfo=UTC)

    marks: list[str] = []

    def answer(prompt: str) -> str:
        marks.append(digest(prompt.encode(), 8))
        return json.dumps({"operations": row["operations"]})

    with Memory("memory://", model=answer, worker=False, embedder=None, clock=lambda: moment) as memory:
        ada = memory.scope(user="ada")
        learning = ada.learnings.add(statement, type="preference", confidence=0.9)
        moment = datetime(2025, 6, 1, 9, tzinfo=UTC)
        memory.remember([{"role": role, "content": text} for role, text in row["turns"]], user="ada")
        assert marks == [row["prompt"]], "the prompt has changed since; record the answer again"
        texts = {item.id: item.text for item in ada.memories.list()}
        if not row["changes"]:
            assert texts[f"learning:{learning.id}"] == statement
            return
        assert statement not in texts.values()
        words = re.findall(r"'([^']+)'", row["new"])
        assert any(all(word in text for word in words) for text in texts.values())
