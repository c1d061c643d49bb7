"""Endings: does a memory end when the user says that it has, and only then?

    python -m bench.writer.endings prompts OUT        # {"id", "prompt"} a line, to be answered by a model
    python -m bench.writer.endings score ANSWERS      # {"id", "operations"} a line: what the answers lead to

Each row of `tests/data/writer_endings.jsonl` has a memory that is known, and real turns that end or replace it
(`ends`) or say something else nearby. The turns are from LongMemEval and ProactiveMemBench (MIT), and from RealMem,
VehicleMemBench and MemoryCode (Apache-2.0); the known memories were written for the rows.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memorist import Memory

ROWS = Path(__file__).parents[2] / "tests" / "data" / "writer_endings.jsonl"
KNOWN_SINCE = datetime(2025, 1, 1, tzinfo=UTC)
READ_AT = datetime(2025, 6, 1, 9, tzinfo=UTC)


def read_rows() -> list[dict[str, Any]]:
    """The rows of the data."""
    return [json.loads(line) for line in ROWS.read_text("utf-8").splitlines()]


def is_unchanged(row: dict[str, Any], model: Callable[[str], str]) -> bool:
    """Whether the known memory of a row is the same after the model has read its turns."""
    moment = KNOWN_SINCE
    with Memory("memory://", model=model, worker=False, embedder=None, clock=lambda: moment) as memory:
        ada = memory.scope(user="ada")
        ada.facts.set("user:ada", row["key"], row["value"], text=row["known"], confidence=0.9)
        moment = READ_AT
        messages = [
            {"role": role, "content": text} if name is None else {"role": role, "content": text, "name": name}
            for role, name, text in row["turns"]
        ]
        memory.remember(messages, user="ada")
        return any(item.text == row["known"] and item.status == "active" for item in ada.memories.list())


def prompt_of(row: dict[str, Any]) -> str:
    """What the model is asked for a row."""
    prompts: list[str] = []

    def note(prompt: str) -> str:
        prompts.append(prompt)
        return '{"operations": []}'

    is_unchanged(row, note)
    (prompt,) = prompts
    return prompt


def write_prompts(out: Path) -> None:
    """Write the prompt of each row."""
    lines = [json.dumps({"id": row["id"], "prompt": prompt_of(row)}, ensure_ascii=False) for row in read_rows()]
    out.write_text("\n".join(lines) + "\n", "utf-8")
    print(f"{len(lines)} prompts")


def print_score(answers: Path) -> None:
    """Print how many endings are ended and how many other memories stay, with the rows that are wrong."""
    recorded = {row["id"]: row["operations"] for row in map(json.loads, answers.read_text("utf-8").splitlines())}
    rows = [row for row in read_rows() if row["id"] in recorded]
    wrong = []
    for row in rows:
        answer = json.dumps({"operations": recorded[row["id"]]})
        if is_unchanged(row, lambda prompt, answer=answer: answer) is row["ends"]:  # type: ignore[misc]
            wrong.append(row)
    for ends, title in ((True, "ended or replaced"), (False, "left as it was")):
        count = sum(row["ends"] is ends for row in rows)
        failed = [row["id"] for row in wrong if row["ends"] is ends]
        print(f"{title}: {count - len(failed)} of {count}; wrong: {', '.join(failed) or 'none'}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"prompts": write_prompts, "score": print_score}[sys.argv[1]](Path(sys.argv[2]))
