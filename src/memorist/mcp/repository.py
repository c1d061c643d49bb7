"""Stores what a coding agent remembers about a repository in that repository's namespace, where the hooks look for it.

With `memorist mcp --project FOLDER`, statements about the user belong to the user, as they always do, and everything
else belongs to the repository. So memories about one repository never turn up in another.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from ..agents.notes import Note, find_notes, note_key, storable
from ..agents.projects import Project
from ..values import Json
from . import shown
from .callers import Caller
from .person import in_first_person

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_PERSONAL = re.compile(r"\W*(?:i|i['’]\w+|my|me|call me)\b", re.IGNORECASE)
_IGNORED = "it names a path that this repository ignores"
_PROJECT_KEYS = frozenset({"project", "decision", "uses", "goal", "team", "my", "number", "date", "owns"})
"""Known keys for facts about a user that describe the project as often as the user."""
_USER_KEYS = frozenset(
    "city country home birth_date hometown partner wife husband child children sister brother preference food".split()
)
"""Other keys that models use for facts about a user."""


class Division(NamedTuple):
    """Holds the parts of a text: the sentences about the user, the notes about the repository, and the refused
    sentences."""

    personal: str
    notes: list[Note]
    refused: list[str]


def divide(text: str, user: str, project: Project) -> Division:
    """Divide a text into the sentences about the user and the notes about a repository."""
    personal, notes, refused = [], [], []
    for sentence in filter(None, map(str.strip, _SENTENCE.split(text))):
        if not storable(sentence, project):
            refused.append(sentence)
            continue
        found = find_notes(sentence, project, by_user=True)
        is_personal = _PERSONAL.match(in_first_person(sentence, user)) is not None
        if is_personal and not (found and found[0].kind in ("decision", "failure", "open")):
            personal.append(sentence)
        else:
            notes.append(found[0] if found else Note("note", sentence))
    return Division(" ".join(personal), notes, refused)


async def remember_notes(caller: Caller, project: Project, division: Division) -> shown.Remembered:
    """Store the notes of a text in the repository's namespace."""
    items = []
    for note in division.notes:
        fact = await caller.memory.facts.set(
            project.namespace, note_key(note.text), note.text, text=note.text, tags=[note.kind],
            metadata={"agent": "mcp"},
        )  # fmt: skip
        items.append(shown.Item(id=f"{project.namespace}/{fact.key}", text=note.text))
    refused = [shown.Refusal(text=sentence, why=_IGNORED) for sentence in division.refused]
    return shown.Remembered(understood=items, refused=refused)


def is_about_project(key: str) -> bool:
    """Return whether a fact with this key belongs to the repository. Facts with a key for users belong to the user."""
    from ..extract.keys import KEYS, table_key

    root = table_key(key, None).split(".")[0]
    return root in _PROJECT_KEYS or root not in {*_USER_KEYS, *(known.split(".")[0] for known in KEYS)}


async def remember_project_fact(caller: Caller, project: Project, key: str, value: Json) -> shown.Remembered:
    """Store a fact about the repository, which the next session's brief shows."""
    words = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = f"{key.replace('_', ' ')}: {words}"
    fact = await caller.memory.facts.set(
        project.namespace, key, value, text=text, tags=["note"], metadata={"agent": "mcp"}
    )
    return shown.Remembered(understood=[shown.Item(id=f"{project.namespace}/{fact.key}", text=text)])
