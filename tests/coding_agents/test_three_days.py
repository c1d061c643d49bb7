"""Three days of a coding agent: what the hooks say is what was recorded, relevant, and of this project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.coding_agents.three_days import RECORD, Step, page, run

OTHER = {"shop": ("Kafka", "ledger", "proto"), "bank": ("cart", "SQL", "alembic", "backfill", "upsert")}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Step, str, int]]:
    return run(tmp_path_factory.mktemp("three-days"))


def test_the_record_is_current(results: list[tuple[Step, str, int]]) -> None:
    assert page(results) == RECORD.read_text("utf-8"), "run: python -m tests.coding_agents.three_days"


def test_nothing_of_the_other_project_is_said(results: list[tuple[Step, str, int]]) -> None:
    for step, context, _ in results:
        assert not [word for word in OTHER[step.repository] if word in context], step


def test_small_talk_and_other_subjects_get_nothing(results: list[tuple[Step, str, int]]) -> None:
    for step, context, _ in results:
        if step.words.startswith(("Hi!", "Explain", "Thanks")):
            assert context == ""


def test_the_failed_attempt_is_mentioned_when_it_is_about_to_be_repeated(results: list[tuple[Step, str, int]]) -> None:
    contexts = {(step.session, step.moment, step.words[:12]): context for step, context, _ in results}
    assert "cookie key is not available" in contexts["wed-1", "prompt", "Could we bac"]
    assert "database is locked" in contexts["wed-1", "before-tool", "pytest tests"]
    assert "no column user_id" in contexts["tue-1", "before-tool", "alembic upgr"]


def test_every_answer_is_within_its_budget(results: list[tuple[Step, str, int]]) -> None:
    for step, context, tokens in results:
        assert tokens <= (700 if step.moment in ("start", "after-compaction") else 300), (step, context)


def test_the_task_is_brought_back_after_the_compaction(results: list[tuple[Step, str, int]], tmp_path: Path) -> None:
    after = next(context for step, context, _ in results if step.moment == "after-compaction")
    assert "Write the backfill command" in after and "works for single carts" in after
