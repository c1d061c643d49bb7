"""Instruction files of agents: reads AGENTS.md, CLAUDE.md and MEMORY.md, and mirrors notes into a marked section.

The section has one line per note, with the note's key in a comment. Lines that a person changed, added or deleted
there are taken over; a note that changed on both sides since the last time is a conflict, which is shown and kept.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from .notes import find_notes, storable
from .projects import Project

if TYPE_CHECKING:
    from ..blocking.memory import Memory

BEGIN, END = "<!-- memorist: begin -->", "<!-- memorist: end -->"
FILES = ("AGENTS.md", "CLAUDE.md", "MEMORY.md")
MIRRORED = ("decision", "convention", "failure", "open")
_LINE = re.compile(r"^- (?:\[(?P<kind>\w+)\] )?(?P<text>.*?)(?: <!-- (?P<key>[\w/.-]+) (?P<digest>[0-9a-f]{8}) -->)?$")


class Conflict(msgspec.Struct, frozen=True):
    """A note that was changed in the file and in the memory."""

    key: str
    in_file: str
    in_memory: str


class Mirrored(msgspec.Struct, frozen=True):
    """What a mirroring did."""

    imported: list[str] = []
    """Texts taken over from the file."""
    deleted: list[str] = []
    """Texts of notes whose line was deleted in the file."""
    written: int = 0
    """Lines in the section now."""
    conflicts: list[Conflict] = []


def import_file(memory: Memory, project: Project, path: Path) -> list[str]:
    """Keep the rules of an instruction file as notes; returns their texts. Importing again changes nothing."""
    text = path.read_text("utf-8")
    section = text.partition(BEGIN)
    outside = section[0] + section[2].partition(END)[2]
    bullets = "\n".join(
        line.strip().lstrip("-*• ").strip() for line in outside.splitlines() if re.match(r"\s*[-*•]\s", line)
    )
    notes = {note.text: note.kind for note in find_notes(outside, project, by_user=True)}
    # A bullet of an instruction file is a rule, however it is worded.
    for line in storable(bullets, project).splitlines():
        notes.setdefault(line, "convention")
    known = {str(fact.value) for fact in memory.facts.list(project.namespace)}
    for words, kind in notes.items():
        if words not in known:
            memory.facts.set(
                project.namespace, _key(words), words, text=words, tags=[kind], source=str(path.name),
                metadata={"file": path.name},
            )  # fmt: skip
    return [words for words in notes if words not in known]


def mirror(memory: Memory, project: Project, path: Path) -> Mirrored:
    """Bring the marked section of a file and the notes of a project into line, both ways."""
    text = path.read_text("utf-8") if path.is_file() else ""
    before, mark, rest = text.partition(BEGIN)
    section, _, after = rest.partition(END)
    has_section = bool(mark)
    lines = [match for line in section.splitlines() if (match := _LINE.match(line.strip()))]
    facts = {fact.key: fact for fact in memory.facts.list(project.namespace) if fact.key.startswith("note/")}
    imported, deleted, conflicts = [], [], []
    seen: set[str] = set()
    for line in lines:
        key, words, digest = line["key"], line["text"], line["digest"]
        if key is None:
            if storable(words, project) == words and words:
                key = _key(words)
                memory.facts.set(project.namespace, key, words, text=words, tags=[line["kind"] or "convention"])
                imported.append(words)
        elif key in facts and _digest(words) != digest:
            current = str(facts[key].value)
            if _digest(current) != digest and current != words:
                conflicts.append(Conflict(key, words, current))
            else:
                memory.facts.update(project.namespace, key, value=words, text=words, reason=f"changed in {path.name}")
                imported.append(words)
        if key is not None:
            seen.add(key)
    for key, digest in _written_before(memory, project, path).items():
        fact = facts.get(key)
        if has_section and fact is not None and key not in seen and _digest(str(fact.value)) == digest:
            memory.facts.delete(project.namespace, key)
            deleted.append(str(fact.value))
    return _write(memory, project, path, (before, after, has_section), Mirrored(imported, deleted, 0, conflicts))


def _write(memory: Memory, project: Project, path: Path, around: tuple[str, str, bool], report: Mirrored) -> Mirrored:
    before, after, has_section = around
    disputed = {conflict.key: conflict for conflict in report.conflicts}
    rows = [
        fact for fact in memory.facts.list(project.namespace)
        if fact.key.startswith("note/") and fact.tags and fact.tags[0] in MIRRORED
    ]  # fmt: skip
    lines = []
    for fact in sorted(rows, key=lambda row: (MIRRORED.index(row.tags[0]), row.created_at)):
        words = " ".join(str(fact.value).split())
        shown = disputed[fact.key].in_file if fact.key in disputed else words
        lines.append(f"- [{fact.tags[0]}] {shown} <!-- {fact.key} {_digest(words)} -->")
    body = "\n".join([BEGIN, *lines, END])
    if has_section:
        content = f"{before}{body}{after}"
    else:
        content = (
            f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}{chr(10) if before else ''}{body}\n"
        )
    path.write_text(content, "utf-8")
    digests = {fact.key: _digest(" ".join(str(fact.value).split())) for fact in rows}
    memory.state.set(_state_key(project, path), digests)
    return msgspec.structs.replace(report, written=len(lines))


def _written_before(memory: Memory, project: Project, path: Path) -> dict[str, str]:
    written = memory.state.get(_state_key(project, path))
    return {str(key): str(digest) for key, digest in written.items()} if isinstance(written, dict) else {}


def _state_key(project: Project, path: Path) -> str:
    return f"mirror/{project.namespace}/{path.name}"


def _key(words: str) -> str:
    return f"note/{hashlib.sha256(' '.join(words.casefold().split()).encode()).hexdigest()[:16]}"


def _digest(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()[:8]
