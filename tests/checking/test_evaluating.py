"""`memorist eval`: evidence, false hits and cost by budget and category, against an earlier run; public sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.checking.datasets import load
from tests.cli.conftest import Memorist, memorist

__all__ = ["memorist"]
LINES = [
    {"question": "Where do I live?", "evidence": ["talk#1"], "category": "facts", "user": "ada"},
    {"question": "Which city is my home?", "evidence": ["user:ada/location"], "category": "facts", "user": "ada"},
    {
        "question": "What is my dentist called?",
        "evidence": ["My dentist is called Mr Brown."],
        "user": "ada",
        "id": "d",
    },
    {"question": "What is the boiling point of tungsten?", "evidence": [], "category": "unknown", "user": "ada"},
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "memorist.db"
    with Memory(path, worker=False) as memory:
        memory.threads.create("user:ada", id="talk")
        memory.threads.append(
            "talk", "I live in Lisbon.", "My dentist is called Mr Brown.", "The boat is at pier nine."
        )
    (tmp_path / "q.jsonl").write_text("\n".join(json.dumps(line) for line in LINES), "utf-8")
    return path


def test_evidence_false_hits_and_cost_by_category(memorist: Memorist, store: Path) -> None:
    result = memorist("eval", "q.jsonl", "--budget", "1000", "--budget", "300", "--json").json()
    rows = {(row["category"], row["budget"]): row for row in result["rows"]}
    assert rows["facts", 1000]["evidence"] == 1.0 and rows["facts", 1000]["questions"] == 2
    assert rows["unknown", 1000]["evidence"] is None
    everything = rows["ALL", 300]
    assert everything["questions"] == 4 and everything["tokens"] <= 300 and everything["memory_tokens"] > 0
    assert 0 <= everything["false_hits"] <= everything["items"]
    table = memorist("eval", "q.jsonl").out
    assert "category" in table and "ALL" in table and "4000" in table


def test_a_run_is_compared_with_an_earlier_one(memorist: Memorist, store: Path, tmp_path: Path) -> None:
    assert memorist("eval", "q.jsonl", "--budget", "1000", "--save", "yesterday.json").code == 0
    same = memorist("eval", "q.jsonl", "--budget", "1000", "--against", "yesterday.json")
    assert same.code == 0 and "+0.0" in same.out
    assert memorist("forget", "--message", "talk#2", "--yes").code == 0
    worse = memorist("eval", "q.jsonl", "--budget", "1000", "--against", "yesterday.json")
    assert worse.code == 1 and "less evidence for question d at 1000 tokens: 100 % to 0 %" in worse.out
    lenient = memorist("eval", "q.jsonl", "--budget", "1000", "--against", "yesterday.json", "--tolerance", "50")
    assert lenient.code == 0


def test_wrong_files_are_refused(memorist: Memorist, store: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"question": "x"}\n{"evidence": []}\n', "utf-8")
    assert "line 2" in memorist("eval", "bad.jsonl").err
    (tmp_path / "empty.jsonl").write_text("", "utf-8")
    assert memorist("eval", "empty.jsonl").code == 2
    assert memorist("eval", "q.jsonl", "--against", "q.jsonl").code == 2
    for text, reason in (
        ("{}", "not LoCoMo"),
        ("{", "is not JSON"),
        ('[{"qa": [], "conversation": {}}, {}]', "'conversation'"),
    ):
        (tmp_path / "none.json").write_text(text, "utf-8")
        ran = memorist("eval", "none.json")
        assert ran.code == 2 and reason in ran.err, ran.err


def test_loading_the_encoder_is_not_part_of_the_first_question(store: Path) -> None:
    from memorist.checking.evaluating import Question, evaluate

    class Counting:
        calls = 0

        def context(self, text: str, *, budget: int) -> Any:
            self.calls += 1
            with Memory(store, worker=False, embedder=None) as memory:
                return memory.context(text, budget=budget)

    memory = Counting()
    question = Question(id="1", text="Where?", category="home", evidence=())
    result = evaluate("q", [(question, memory)], [500, 1000])  # type: ignore[list-item]
    assert len(result.measures) == 2 and memory.calls == 3


LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a greyhound called Comet."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "Lovely! I painted my fence green."},
            ],
        },
        "qa": [
            {"question": "What is Ann's greyhound called?", "evidence": ["D1:1"], "category": 4},
            {"question": "Who sold the fence?", "evidence": ["D1:2"], "category": 5},
        ],
    }
]
LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": "q1", "question": "What is my greyhound called?", "question_type": "single-session-user",
        "question_date": "2023/05/30 (Tue) 23:40", "answer_session_ids": ["s1"], "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
        "haystack_sessions": [
            [{"role": "user", "content": "My greyhound is called Comet."}],
            [{"role": "user", "content": "I painted my fence green."}],
        ],
    }
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data", "level"), [("locomo", LOCOMO, "turn"), ("longmemeval", LONGMEMEVAL, "session")]
)
def test_public_sets_are_read_as_their_authors_publish_them(
    memorist: Memorist, tmp_path: Path, name: str, data: Any, level: str
) -> None:
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(data), "utf-8")
    loaded = load(path)
    assert (loaded.name, loaded.level) == (name, level)
    empty = memorist("eval", f"{name}.json", "--sample", "0")
    assert empty.code == 2 and "pass a larger --sample" in empty.err
    result = memorist("eval", f"{name}.json", "--budget", "1000", "--json").json()
    everything = result["rows"][-1]
    assert everything["questions"] == 1 and everything["evidence"] == 1.0
