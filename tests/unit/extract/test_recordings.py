"""Recorded answers of a strong model, replayed: every prompt has its answer, and nearly all of it passes the checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.writer.segments import read_segment
from memorist.ids import digest

FOLDER = Path(__file__).parents[2] / "data" / "writer"
SEGMENTS = sorted(FOLDER.glob("*.json"))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recordings as the reader of segments expects them: one file an answer."""
    folder = tmp_path_factory.mktemp("answers")
    for segment in SEGMENTS:
        for number, answer in enumerate(json.loads(segment.read_text("utf-8"))["answers"], start=1):
            (folder / f"{segment.stem}.{number}.json").write_text(json.dumps(answer), "utf-8")
    return folder


def test_every_prompt_is_the_one_that_was_answered(answers: Path) -> None:
    stale: list[str] = []
    for segment in SEGMENTS:
        _, _, missing = read_segment(segment, answers)
        stale += [missing.name] if missing is not None else []
        for number, answer in enumerate(json.loads(segment.read_text("utf-8"))["answers"], start=1):
            prompt = answers / f"{segment.stem}.{number}.prompt.txt"
            if digest(prompt.read_bytes(), 8) != answer["prompt"]:
                stale.append(prompt.name)
    assert stale == [], "the prompt has changed since; record these again"


def test_nearly_everything_that_a_strong_model_answers_passes_the_checks(answers: Path) -> None:
    notes, refused = 0, []
    for segment in SEGMENTS:
        accepted, refusals, _ = read_segment(segment, answers)
        notes += len(accepted)
        refused += [refusal["reason"] for refusal in refusals]
    assert notes > 180
    assert len(refused) <= 0.06 * (notes + len(refused)), refused
