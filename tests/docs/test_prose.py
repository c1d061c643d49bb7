"""Prose that a reader in a hurry can use: sentences of a length one can take in, no filler, a title and an example."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = {"http-reference.md", "http-reference-more.md"}
"""Pages that a script writes from docstrings."""
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name not in MADE),
]
MOST_WORDS = 40
"""Of one clause: what stands between two full stops, colons or semicolons."""
FILLER = re.compile(
    r"\b(simply|obviously|basically|of course|needless to say|please note|utili[sz]e|leverage|seamless(?:ly)?|"
    r"blazing|cutting.edge|state.of.the.art|world.class|game.chang\w+|in order to|as we know|robust|powerful)\b",
    re.IGNORECASE,
)
BLOCK = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CLAUSE_END = re.compile(r"(?<=[.!?:;])[\"”)*_]*\s+(?=[\w“\"(*_`])")


def prose(text: str) -> str:
    """A page without code, tables, headings and pictures; code inside a sentence counts as one word."""
    text = re.sub(r"<!--.*?-->", "", BLOCK.sub("", text), flags=re.DOTALL)
    lines = ("" if line.startswith(("|", "    ", "#", "<", "!")) else line for line in text.splitlines())
    text = re.sub(r"`[^`\n]*(?:\n[^`\n]*)?`", "code", "\n".join(lines))
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def clauses(text: str) -> Iterator[str]:
    """The clauses of a page; a paragraph and an item of a list each begin a new one."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)", prose(text)):
        yield from CLAUSE_END.split(" ".join(paragraph.split()))


def too_long(text: str) -> list[str]:
    """The clauses that a reader would have to read twice."""
    return [clause for clause in clauses(text) if len(clause.split()) > MOST_WORDS]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sentences_are_short_and_without_filler(page: Path) -> None:
    text = page.read_text("utf-8")
    assert too_long(text) == []
    assert FILLER.findall(prose(text)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_begins_with_its_title_and_has_only_one(page: Path) -> None:
    text = BLOCK.sub("", page.read_text("utf-8"))
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1


def test_the_check_finds_a_long_sentence_and_filler() -> None:
    long = "This sentence " + "goes on and on " * 12 + "to its end."
    assert too_long(f"# Title\n\nA short one. {long}\n\n```\n{long}\n```\n") == [long]
    assert FILLER.findall(prose("Simply utilize it.")) == ["Simply", "utilize"]
