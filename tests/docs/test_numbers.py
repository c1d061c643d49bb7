"""Numbers that a page says are the constants of the code: each sentence below is made from one and must stand there."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def constant(name: str) -> float:
    """A constant named `module:NAME`, in seconds where it is a duration."""
    module, _, attribute = name.partition(":")
    value = getattr(import_module(f"memorist.{module}"), attribute)
    return value.total_seconds() if hasattr(value, "total_seconds") else value


SAID = [
    ("decisions/0001-dependencies.md", "we empty that cache at {:,}", "context.tokens:_CACHED_WORDS", 1),
    ("decisions/0005-context.md", "a summary may use {:.0f} % of", "context.fold:SUMMARY_SHARE", 100),
    ("decisions/0009-orchestration.md", "at the latest after {:g} patches", "engine.tasks.steps:MAX_PATCHES", 1),
    ("decisions/0012-redis.md", "pages of {:,} rows", "stores.redis.store:PAGE_ROWS", 1),
    ("decisions/0012-redis.md", "rows or {:g} MB", "stores.redis.store:PAGE_BYTES", 1 / 2**20),
    ("decisions/0013-server.md", "cached for {:g} seconds", "server.auth:CACHED_SECONDS", 1),
    ("remembering.md", "`c + {:g} · (1 − c)`", "engine.learnings:REINFORCED_DOUBT", 1),
    ("remembering.md", "| `weaken(id)` | `{:g} · c` |", "engine.learnings:WEAKENED_CONFIDENCE", 1),
    ("remembering.md", "contradicts it | `{:g} · c` |", "engine.learnings:CORRECTED_CONFIDENCE", 1),
    ("remembering.md", "expires {:g} hours", "engine.working:WORKING_TTL", 1 / 3600),
    ("remembering.md", "the newest {:g} are kept", "engine.working:MAX_ACTIONS", 1),
    ("remembering.md", "missing for {:g} s", "engine.entities:MISSING_TTL_SECONDS", 1),
    ("remembering.md", "about {:g} tokens", "engine.documents.chunking:TARGET_TOKENS", 1),
    ("remembering.md", "an overlap of {:g}", "engine.documents.chunking:OVERLAP_TOKENS", 1),
    ("remembering.md", "Data over {:g} KB is split", "engine.records:PIECE_BYTES", 1 / 1024),
    ("remembering.md", "can be up to {:g} GB", "engine.records:MAX_RECORD_BYTES", 1 / 2**30),
    ("models.md", "longer than `timeout` ({:g} s)", "models.base:DEFAULT_TIMEOUT_SECONDS", 1),
    ("models.md", "more than {:g} MB", "models.base:MAX_ANSWER_BYTES", 1 / 2**20),
    ("writer.md", "gets a certainty of at most {:g}", "extract.writer.checks:MAX_INFERRED_CONFIDENCE", 1),
    ("writer.md", "up to {:g} messages", "extract.writer.request:MAX_MESSAGES", 1),
    ("writer.md", "({:,} characters)", "extract.writer.request:MAX_NEW_CHARACTERS", 1),
    ("writer.md", "the {:g} turns before them", "extract.writer.request:MAX_CONTEXT_TURNS", 1),
    ("writer.md", "up to {:g} memories", "extract.writer.request:MAX_KNOWN", 1),
    ("writer.md", "{:g} on your own server", "models.base:LOCAL_TIMEOUT_SECONDS", 1),
]


@pytest.mark.parametrize(("page", "sentence", "name", "scale"), SAID, ids=[entry[2] for entry in SAID])
def test_a_number_in_the_docs_is_the_one_in_the_code(page: str, sentence: str, name: str, scale: float) -> None:
    text = " ".join((DOCS / page).read_text("utf-8").split())
    value = constant(name) * scale
    assert sentence.format(int(value) if float(value).is_integer() else value) in text
