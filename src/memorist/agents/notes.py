"""Finds the notes worth keeping in a turn: decisions, conventions, failed attempts, open tasks and
preferences.

Local rules read the sentences of prompts and of final answers. There are few rules and they are strict, because a note
is shown again at the start of every session. Other sentences stay in the session's thread, where recall finds them.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from typing import Literal, NamedTuple

import msgspec

from ..gate.secrets import has_secret
from .projects import Project

NoteKind = Literal["decision", "convention", "failure", "open", "note", "preference"]
"""A `note` is a statement about the repository that an agent itself stored over MCP."""
NOTE_KINDS: tuple[NoteKind, ...] = ("decision", "convention", "failure", "open", "note", "preference")
MIN_WORDS, MAX_CHARACTERS = 3, 320
_PRIVATE = r"(?is)<private\b[^<>]{0,80}>.*?(?:</private\s*>|\Z)"
_INJECTED = r"(?s)<(memorist|recalled_memory|user_profile|system-reminder)\b.*?</\1>"
_CODE = r"(?s)```.*?```"
_SENTENCE = r"(?<=[.!?])\s+(?=[A-Z`\"'(])|\n+"
_FAILED = (
    r"(?:did(?:n't| not)|does(?:n't| not)|doesn't|won't) work|failed|fails|broke|breaks|reverted|gave up on|dead end"
)


class _Rule(NamedTuple):
    kind: NoteKind
    hints: tuple[str, ...]
    """A sentence can match only if it contains one of these strings, so other rules' patterns are not compiled."""
    pattern: str
    is_for_users: bool = False
    """This is True if the rule reads only the user's words, not the agent's answers."""


_RULES = (
    _Rule("failure", ("work", "fail", "br", "revert", "gave", "dead"),
          rf"\b(?:{_FAILED})\b.*\b(?:because|since|as|due to|so)\b"),
    _Rule("failure", ("tried",), rf"\btried\b.*\b(?:{_FAILED}|but)\b"),
    _Rule("open", ("todo", "open", "remaining", "next", "follow-up", "done"),
          r"^\W*(?:todo|still open|left open|open|remaining|next step|follow-up|not done)\b\s*[:\-–]"),
    _Rule("open", ("left", "done", "unfinished"),
          r"\b(?:is|are|remains?|was) (?:still )?(?:left open|left to do|not done yet|unfinished)\b"),
    _Rule("decision", ("decided", "chose", "settled", "went", "agreed"),
          r"\b(?:we|i)(?:'ve| have)? (?:decided|chose|settled on|went with|agreed)\b"),
    _Rule("decision", ("let", "we"),
          r"\b(?:let's|let us|we(?:'ll| will)) (?:go with|use|keep|switch to|stick with)\b", is_for_users=True),
    _Rule("decision", ("decision",), r"^\W*decision\s*[:\-–]"),
    _Rule("convention", ("always", "never"), r"\b(?:always|never)\b.{3,}", is_for_users=True),
    _Rule("convention", ("do", "use", "prefer"),
          r"^\W*(?:please )?(?:do not|don't|use|prefer)\b.{3,}\b(?:instead of|rather than|not|here|everywhere|"
          r"in this (?:repo|project))\b", is_for_users=True),
    _Rule("convention", ("convention", "in this"),
          r"^\W*convention\s*[:\-–]|\bin this (?:repo|repository|project|codebase) we\b"),
    _Rule("preference", ("prefer", "like", "want", "hate"),
          r"\bi (?:prefer|like|want|hate|dislike)\b.{3,}\b(?:you|answers?|explanations?|comments?|diffs?|"
          r"commits?|style|tests?)\b", is_for_users=True),
)  # fmt: skip


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


class Note(msgspec.Struct, frozen=True):
    """Holds a sentence worth keeping, and its kind."""

    kind: NoteKind
    text: str


def cleaned(text: str) -> str:
    """Return a text without its private parts or text that the memory itself inserted."""
    if "<" in text:
        text = re.sub(_INJECTED, " ", re.sub(_PRIVATE, " ", text))
    return text.strip()


def normal_text(text: str) -> str:
    """Return a text with its case and spacing normalised."""
    return " ".join(cleaned(text).casefold().split())


def note_key(text: str) -> str:
    """Return the key of a note. The same words have the same key, whoever stores them."""
    return f"note/{hashlib.sha256(normal_text(text).encode()).hexdigest()[:16]}"


def storable(text: str, project: Project) -> str:
    """Return the lines of a text that may be stored. Lines that contain a secret or name an ignored path are left
    out."""
    lines = cleaned(text).splitlines()
    return "\n".join(line for line in lines if not has_secret(line) and not project.mentions_ignored(line)).strip()


def find_notes(text: str, project: Project, *, by_user: bool) -> list[Note]:
    """Return the notes found in a prompt or in a final answer, in order."""
    plain = storable(text, project)
    plain = re.sub(_CODE, " ", plain) if "```" in plain else plain
    notes: list[Note] = []
    for sentence in re.split(_SENTENCE, plain):
        words = sentence.strip().lstrip("-*•# ").strip()
        if words.startswith('"') and words.endswith('"'):  # opencode quotes a prompt of its command line
            words = words[1:-1].strip()
        if len(words.split()) < MIN_WORDS or len(words) > MAX_CHARACTERS or words.endswith("?"):
            continue
        lowered = words.lower()
        for rule in _RULES:
            if rule.is_for_users and not by_user:
                continue
            if any(hint in lowered for hint in rule.hints) and _compiled(rule.pattern).search(words):
                notes.append(Note(rule.kind, words))
                break
    return notes
