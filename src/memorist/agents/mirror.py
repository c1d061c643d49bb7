"""Reads agents' instruction files (AGENTS.md, CLAUDE.md and MEMORY.md), and mirrors notes into a marked section of
them.

The section has one line per note. A comment in the line contains the note's key and a digest of the last text written.
The digest shows whether a person changed the line or the note changed in the memory. If both changed, the command shows
both versions and changes neither until the user chooses one.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ..errors import UsageError
from ..records import Fact
from .files import replace_file
from .notes import NOTE_KINDS, find_notes, note_key, storable
from .projects import Project

if TYPE_CHECKING:
    from ..blocking.memory import Memory

BEGIN, END = "<!-- memorist: begin -->", "<!-- memorist: end -->"
FILES = ("AGENTS.md", "CLAUDE.md", "MEMORY.md")
Side = Literal["file", "memory"]
_LINE = re.compile(
    rf"^- (?:\[(?P<kind>{'|'.join(NOTE_KINDS)})\] )?(?P<text>.*?)"
    r"(?: <!-- (?P<key>[\w/.-]+) (?P<digest>[0-9a-f]{8}) -->)?$"
)


class Choice(msgspec.Struct, frozen=True):
    """Selects the notes that a file mirrors, by kind or by key."""

    kinds: tuple[str, ...] = NOTE_KINDS
    keys: tuple[str, ...] = ()

    def covers(self, fact: Fact) -> bool:
        """Return whether a fact is among the chosen ones."""
        is_note = fact.key.startswith("note/") and bool(fact.tags) and fact.tags[0] in NOTE_KINDS
        return fact.key in self.keys or (is_note and fact.tags[0] in self.kinds)


class Conflict(msgspec.Struct, frozen=True):
    """Describes a note that changed both in the file and in the memory. An empty text means that it was deleted."""

    key: str
    in_file: str
    in_memory: str


class Mirrored(msgspec.Struct, frozen=True):
    """Reports what a run of the mirror changed, or would change."""

    imported: list[str] = []
    """These texts were imported from the file."""
    deleted: list[str] = []
    """These are the texts of notes whose lines were deleted from the file."""
    refused: list[str] = []
    """These lines stay only in the file, because they contain a secret or name an ignored path."""
    written: int = 0
    """This is the number of lines in the section now."""
    conflicts: list[Conflict] = []
    diff: str = ""
    """This is the change to the file as a unified diff."""


class _State(msgspec.Struct, frozen=True):
    """Holds the content last written to a file."""

    digests: dict[str, str] = {}
    choice: Choice = Choice()


class _Row(msgspec.Struct, frozen=True):
    """Holds one line of the section."""

    kind: str
    text: str
    key: str
    digest: str

    def __str__(self) -> str:
        return f"- [{self.kind}] {self.text} <!-- {self.key} {self.digest} -->"


def import_file(memory: Memory, project: Project, path: Path) -> list[str]:
    """Store the rules of an instruction file as notes, and return their texts. Importing the same file again changes
    nothing."""
    text = path.read_text("utf-8")
    section = text.partition(BEGIN)
    outside = section[0] + section[2].partition(END)[2]
    bullets = "\n".join(
        line.strip().lstrip("-*• ").strip() for line in outside.splitlines() if re.match(r"\s*[-*•]\s", line)
    )
    notes: dict[str, str] = {note.text: note.kind for note in find_notes(outside, project, by_user=True)}
    # A bullet of an instruction file is a rule, however it is worded.
    for line in storable(bullets, project).splitlines():
        notes.setdefault(line, "convention")
    present = {str(fact.value) for fact in memory.facts.list(project.namespace)}
    for words, kind in notes.items():
        if words not in present:
            memory.facts.set(
                project.namespace, note_key(words), words, text=words, tags=[kind], source=str(path.name),
                metadata={"file": path.name},
            )  # fmt: skip
    return [words for words in notes if words not in present]


def mirror(
    memory: Memory,
    project: Project,
    path: Path,
    choice: Choice | None = None,
    *,
    prefer: Side | None = None,
    dry_run: bool = False,
) -> Mirrored:
    """Synchronise the marked section of a file with the notes of a project, in both directions.

    Args:
        memory: The memory that contains the notes.
        project: The project that the notes belong to.
        path: The file; it is created if it does not exist.
        choice: Which notes to mirror. The default is the choice of the previous run.
        prefer: The side that wins if both changed. Without it, conflicts are reported and nothing is changed.
        dry_run: Only report what would happen.

    Raises:
        UsageError: The section in the file has no end.
    """
    return _Mirroring(memory, project, path, choice, prefer).run(dry_run)


def remove_section(memory: Memory, project: Project, path: Path) -> bool:
    """Remove the section from a file, and return whether there was one. The notes stay in the memory."""
    before, section, after = _split(path)
    memory.state.delete(_state_key(project, path))
    if section is None:
        return False
    rest = before.rstrip("\r\n") + (_newline(before) if before.strip() else "") + after.lstrip("\r\n")
    replace_file(path, rest.encode())
    return True


class _Mirroring:
    """Performs one run on one file."""

    def __init__(
        self, memory: Memory, project: Project, path: Path, choice: Choice | None, prefer: Side | None
    ) -> None:
        self._memory, self._project, self._path, self._prefer = memory, project, path, prefer
        state = memory.state.get(_state_key(project, path))
        self._last = _State() if state is None else msgspec.convert(state, _State)
        self._choice = choice or self._last.choice
        self._facts = {fact.key: fact for fact in memory.facts.list(project.namespace)}
        self._rows: dict[str, _Row] = {}
        self._strays: list[str] = []
        self._sets: dict[str, tuple[str, str]] = {}
        self._deletes: set[str] = set()
        self._conflicts: list[Conflict] = []
        self._refused: list[str] = []

    def run(self, dry_run: bool) -> Mirrored:
        before, section, after = _split(self._path)
        for line in (section or "").splitlines():
            self._read(line.strip())
        if section is not None:
            self._find_deleted_lines(section)
        digests = self._add_notes()
        report = self._report(before, section, after)
        if not dry_run:
            self._write_memory()
            if report.diff:
                replace_file(self._path, self._content(before, section, after).encode())
            # What a person adds to the section stays in it, whatever was chosen.
            added = tuple(key for key, (kind, _) in self._sets.items() if kind not in self._choice.kinds)
            keys = tuple(dict.fromkeys((*self._choice.keys, *added)))
            state = _State(digests, Choice(self._choice.kinds, keys))
            self._memory.state.set(_state_key(self._project, self._path), msgspec.to_builtins(state))
        return report

    def _read(self, line: str) -> None:
        """Compare a line of the section with its note."""
        match = _LINE.match(line)
        if match is None or not match["text"]:
            self._strays += [line] if line else []
            return
        kind, words = match["kind"] or "convention", match["text"]
        key = match["key"] or note_key(words)
        own, base = _digest(kind, words), match["digest"] or self._last.digests.get(key, "")
        current = _digest_of(self._facts.get(key))
        if own in (base, current):
            return
        if storable(words, self._project) != words:
            self._strays.append(line)
            self._refused.append(words)
        elif current in (base, "") and not (base and not current):
            self._sets[key] = (kind, words)
        else:
            self._decide(key, kind, words, base)

    def _decide(self, key: str, kind: str, words: str, base: str) -> None:
        """Decide what to do with a note that changed on both sides. An empty text means that the line was deleted."""
        fact = self._facts.get(key)
        if self._prefer == "memory":
            return
        if self._prefer == "file":
            if words:
                self._sets[key] = (kind, words)
            else:
                self._deletes.add(key)
            return
        self._conflicts.append(Conflict(key, words, "" if fact is None else _words(fact)))
        if words:
            # The old digest stays, so that the next run sees the conflict again.
            self._rows[key] = _Row(kind, words, key, base)

    def _find_deleted_lines(self, section: str) -> None:
        """Delete the notes whose lines were removed, unless they have changed in the memory since then."""
        matches = [match for line in section.splitlines() if (match := _LINE.match(line.strip()))]
        keys = {match["key"] or note_key(match["text"]) for match in matches}
        for key, digest in self._last.digests.items():
            fact = self._facts.get(key)
            if fact is None or key in keys or key in self._sets or not self._choice.covers(fact):
                continue
            if _digest_of(fact) == digest:
                self._deletes.add(key)
            else:
                self._decide(key, _kind(fact), "", digest)

    def _add_notes(self) -> dict[str, str]:
        """Fill the rows with the chosen notes, and return the lines that the file will contain."""
        disputed = {conflict.key for conflict in self._conflicts}
        digests = {key: digest for key, digest in self._last.digests.items() if key in disputed}
        for key, (kind, words) in self._sets.items():
            self._rows[key] = _Row(kind, words, key, _digest(kind, words))
        for key, fact in self._facts.items():
            if self._choice.covers(fact) and key not in self._deletes | disputed | set(self._sets):
                self._rows[key] = _Row(_kind(fact), _words(fact), key, _digest_of(fact))
        digests |= {key: row.digest for key, row in self._rows.items()}
        return digests

    def _body(self, newline: str) -> str:
        dates = {key: fact.created_at.isoformat() for key, fact in self._facts.items()}
        rows = sorted(self._rows.values(), key=lambda row: (NOTE_KINDS.index(row.kind), dates.get(row.key, "~")))
        return newline.join([BEGIN, *map(str, rows), *self._strays, END])

    def _content(self, before: str, section: str | None, after: str) -> str:
        newline = _newline(before or section or after)
        body = self._body(newline)
        if section is not None:
            return f"{before}{body}{after}"
        gap = "" if not before else newline if before.endswith("\n") else newline * 2
        return f"{before}{gap}{body}{newline}"

    def _report(self, before: str, section: str | None, after: str) -> Mirrored:
        content = self._content(before, section, after)
        present = self._path.read_text("utf-8") if self._path.is_file() else ""
        lines = difflib.unified_diff(
            present.splitlines(), content.splitlines(), str(self._path), str(self._path), lineterm=""
        )
        return Mirrored(
            imported=[words for _, words in self._sets.values()],
            deleted=[_words(self._facts[key]) for key in sorted(self._deletes)],
            refused=self._refused, written=len(self._rows), conflicts=self._conflicts, diff="\n".join(lines),
        )  # fmt: skip

    def _write_memory(self) -> None:
        facts, namespace, reason = self._memory.facts, self._project.namespace, f"changed in {self._path.name}"
        for key, (kind, words) in self._sets.items():
            if key in self._facts:
                facts.update(namespace, key, value=words, text=words, tags=[kind], reason=reason)
            else:
                facts.set(
                    namespace, key, words, text=words, tags=[kind], source=self._path.name,
                    metadata={"file": self._path.name},
                )  # fmt: skip
        for key in self._deletes:
            facts.delete(namespace, key)


def _split(path: Path) -> tuple[str, str | None, str]:
    """Return the text before the section, the section and the text after it, or None if there is no section."""
    text = path.read_bytes().decode("utf-8") if path.is_file() else ""
    before, begin, rest = text.partition(BEGIN)
    section, end, after = rest.partition(END)
    if begin and not end:
        raise UsageError(f"the section in {path} has no end; put {END!r} after its last line")
    return (before, section, after) if begin else (text, None, "")


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _words(fact: Fact) -> str:
    return " ".join(str(fact.text or fact.value).split())


def _digest_of(fact: Fact | None) -> str:
    return "" if fact is None else _digest(_kind(fact), _words(fact))


def _kind(fact: Fact) -> str:
    return next((tag for tag in fact.tags if tag in NOTE_KINDS), "convention")


def _digest(kind: str, words: str) -> str:
    return hashlib.sha256(f"{kind}\0{words}".encode()).hexdigest()[:8]


def _state_key(project: Project, path: Path) -> str:
    own = path.absolute()
    name = own.relative_to(project.root) if own.is_relative_to(project.root) else own
    return f"mirror/{project.namespace}/{hashlib.sha256(str(name).encode()).hexdigest()[:16]}"


def instruction_files(root: Path) -> list[Path]:
    """Return the existing instruction files of a repository."""
    return [root / name for name in FILES if (root / name).is_file()]
