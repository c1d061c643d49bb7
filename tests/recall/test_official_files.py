"""The benchmark reads the official files of LoCoMo and LongMemEval, here in a few lines of their shape."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat named Tom."},
                {"speaker": "Bob", "dia_id": "D1:2", "text": "Lovely!"},
            ],
        },
        "qa": [{"question": "What is Ann's cat called?", "answer": "Tom", "evidence": ["D1:1"], "category": 4}],
    }
]
LONGMEMEVAL = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "What is my dog called?",
        "answer": "Rex",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
        "haystack_sessions": [
            [{"role": "user", "content": "My dog is called Rex.", "has_answer": True}],
            [{"role": "user", "content": "What is the weather?"}],
        ],
        "answer_session_ids": ["s1"],
    }
]


@pytest.mark.parametrize(("name", "data"), [("locomo", LOCOMO), ("longmemeval", LONGMEMEVAL)])
def test_an_official_file_is_read_and_scored(name: str, data: Any, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(data), "utf-8")
    run = [sys.executable, str(ROOT / "bench" / "recall" / "run.py"), str(path), "--embedder", "none"]
    ended = subprocess.run(run, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    line = next(line for line in ended.stdout.splitlines() if line.strip().startswith("memorist"))
    assert "R@5  100.0" in line
