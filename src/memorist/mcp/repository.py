"""Stores what a coding agent remembers about a repository in that repository's namespace, where the hooks look for it.

With `memorist mcp --project FOLDER`, statements about the user belong to the user, as they always do, and everything
else belongs to the repository. So memories about one repository never turn up in another.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from ..agents.notes import Note, cleaned, find_notes, note_key
from ..agents.projects import Project
from ..engine.remembering import THREAD
from ..values import Json
from . import shown
from .callers import Caller
from .person import in_first_person

_SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!\b\d\.)\s+(?=[^\Wa-z]|\W)|(?<=;)\s+|\n+")
_PERSONAL = re.compile(r"\W*(?:i|i['’]\w+|my|me|call me)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:he|she|they|it|this|that|these|those|his|her|their|its)\b", re.IGNORECASE)
"""A sentence that begins with one of these words continues the subject of the previous sentence."""
_IGNORED = "it names a path that this repository ignores"
_PRIVATE = "it is marked as private"
REJECTED = "the user rejected or corrected this before; if they insist, use update"
NOTHING = "it states nothing that could be remembered"
_PROJECT_KEYS = frozenset({"project", "decision", "uses", "goal", "team", "my", "number", "date", "owns"})
"""Known keys for facts about a user that are used for the project just as often."""
_USER_KEYS = frozenset(
    "city country home birth_date hometown partner wife husband child children sister brother preference food editor "
    "pronouns".split()
)
"""Other keys that models use for facts about a user."""


class Division(NamedTuple):
    """Holds the parts of a text: the sentences about the user, the notes about the repository, and the refused
    sentences."""

    personal: str
    notes: list[Note]
    refused: list[shown.Refusal]


def divide(text: str, user: str, project: Project) -> Division:
    """Divide a text into the sentences about the user and the notes about a repository."""
    plain = cleaned(text)
    refused = [] if plain == text.strip() else [shown.Refusal(text="the private part", why=_PRIVATE)]
    statements: list[str | Note] = []
    for sentence in filter(None, map(str.strip, _SENTENCE.split(plain))):
        if reason := refusal(sentence, project) or (NOTHING if sentence.endswith("?") else ""):
            refused.append(shown.Refusal(text=sentence, why=reason))
        # Alone, "It needs Node 20." would not say what it is about.
        elif statements and _PRONOUN.match(sentence):
            statements.append(_continued(statements.pop(), sentence))
        else:
            statements.append(_note_in(sentence, user, project) or sentence)
    notes = [statement for statement in statements if isinstance(statement, Note)]
    return Division(" ".join(words for words in statements if isinstance(words, str)), notes, refused)


def _continued(statement: str | Note, sentence: str) -> str | Note:
    if isinstance(statement, str):
        return f"{statement} {sentence}"
    return Note(statement.kind, f"{statement.text} {sentence}")


def _note_in(sentence: str, user: str, project: Project) -> Note | None:
    """Return the sentence as a note about the repository, or None if it is about the user."""
    notes = find_notes(sentence, project, by_user=True)
    is_personal = _PERSONAL.match(in_first_person(sentence, user)) is not None
    # "I decided to use Postgres" begins like a sentence about the user, but it is a decision about the repository.
    if is_personal and not (notes and notes[0].kind in ("decision", "failure", "open")):
        return None
    return notes[0] if notes else Note("note", sentence)


def refusal(text: str, project: Project | None) -> str:
    """Return the reason a text about a repository may not be stored, or an empty string if it may."""
    if project is None:
        return ""
    if cleaned(text) != text.strip():
        return _PRIVATE
    return _IGNORED if project.mentions_ignored(text) else ""


async def remember_notes(caller: Caller, project: Project, division: Division) -> shown.Remembered:
    """Store the notes found in a text in the repository's namespace."""
    items, refused = [], list(division.refused)
    for note in division.notes:
        fact = await caller.memory.facts.set(
            project.namespace, note_key(note.text), note.text, text=note.text, tags=[note.kind],
            source=await _append_source(caller, project, note.text), metadata={"agent": "mcp"},
        )  # fmt: skip
        # A rejected note is not stored again, and the caller has to know that, because it would otherwise rely on it.
        if fact.status == "rejected" or fact.value != note.text:
            refused.append(shown.Refusal(text=note.text, why=REJECTED))
        else:
            items.append(shown.Item(id=f"{project.namespace}/{fact.key}", text=note.text))
    return shown.Remembered(understood=items, refused=refused)


async def _append_source(caller: Caller, project: Project, text: str) -> str:
    """Store the words of a note as a message, so that `why` can show them, and return its id."""
    receipts = await caller.memory.threads.append(
        f"{THREAD}:{project.namespace}", {"role": "assistant", "content": text}, create=project.namespace
    )
    return receipts[0].message.id


def is_about_project(key: str) -> bool:
    """Return whether a fact with this key belongs to the repository. Facts with a key for users belong to the user."""
    from ..extract.keys import KEYS, table_key

    root = table_key(key, None).split(".")[0]
    return root in _PROJECT_KEYS or root not in {*_USER_KEYS, *(name.split(".")[0] for name in KEYS)}


async def remember_project_fact(caller: Caller, project: Project, key: str, value: Json) -> shown.Remembered:
    """Store a fact about the repository, which the next session's brief shows."""
    words = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = f"{key.replace('_', ' ')}: {words}"
    fact = await caller.memory.facts.set(
        project.namespace, key, value, text=text, tags=["note"], metadata={"agent": "mcp"}
    )
    if fact.status == "rejected" or fact.value != value:
        return shown.Remembered(understood=[], refused=[shown.Refusal(text=text, why=REJECTED)])
    return shown.Remembered(understood=[shown.Item(id=f"{project.namespace}/{fact.key}", text=text)])
