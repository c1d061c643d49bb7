"""Content never goes to a log: a canary is stored, recalled, refused and deleted at DEBUG, and no record holds it."""

import logging
from pathlib import Path

import pytest

from memorist import MemoristError, Memory

CANARY = "canary 91c7 of the lighthouse"


def _use(memory: Memory) -> None:
    memory.threads.create("user:ada", CANARY, id="t")
    memory.threads.append("t", CANARY, {"role": "assistant", "content": CANARY})
    memory.facts.set("user:ada", "k", {"v": CANARY}, source="t#1")
    memory.facts.correct("user:ada", "k", CANARY + "!")
    memory.state.set("k", CANARY)
    memory.learnings.add(CANARY, user="ada")
    memory.documents.add("user:ada", CANARY)
    memory.recall(CANARY)
    memory.forget(thread="t")


def _errors(memory: Memory) -> list[str]:
    texts = []
    for call in (
        lambda: memory.facts.set("user:ada", "k", {CANARY: float("nan")}),
        lambda: memory.facts.set("user:ada", "k", [CANARY, 2**70]),
        lambda: memory.facts.set("user:ada", "k", CANARY, expect=99),
        lambda: memory.threads.append("t", {"role": "robot", "content": CANARY}),
        lambda: memory.threads.append("t", CANARY + "\ud800"),
        lambda: memory.state.increment("k"),
    ):
        with pytest.raises(MemoristError) as caught:
            call()
        texts.append(f"{caught.value} {caught.value.facts}")
    return texts


def test_no_log_record_and_no_error_holds_content(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Memory(tmp_path / "memory.db", embedder=None, counter="estimate") as memory:
        _use(memory)
        memory.threads.create("user:ada", id="t")
        memory.state.set("k", CANARY)
        errors = _errors(memory)
    written = [record.getMessage() for record in caplog.records] + [str(record.args) for record in caplog.records]
    for text in written + errors:
        assert "canary" not in text and "lighthouse" not in text


def test_the_harness_sees_content_in_a_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("memorist.planted").debug("stored %s", CANARY)
    assert any("canary" in record.getMessage() for record in caplog.records)
