"""Finds the notes in a turn that are worth keeping: decisions, conventions, failed attempts, open tasks and
preferences.

Local rules read the sentences of prompts and of final answers. There are few rules and they are strict, because a note
is shown again at the start of every session. Other sentences stay in the session's thread, where recall finds them.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from ..gate.secrets import has_secret
from .projects import Project

NoteKind = Literal["decision", "convention", "failure", "open", "preference"]
NOTE_KINDS: tuple[NoteKind, ...] = ("decision", "convention", "failure", "open", "preference")
MIN_WORDS, MAX_CHARACTERS = 3, 320
_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.IGNORECASE | re.DOTALL)
_INJECTED = re.compile(r"<(memorist|recalled_memory|user_profile|system-reminder)\b.*?</\1>", re.DOTALL)
_CODE = re.compile(r"```.*?```", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])|\n+")
_FAILED = (
    r"(?:did(?:n't| not)|does(?:n't| not)|doesn't|won't) work|failed|fails|broke|breaks|reverted|gave up on|dead end"
)
_RULES: tuple[tuple[NoteKind, str, Literal["user", "any"]], ...] = (
    ("failure", rf"\b(?:{_FAILED})\b.*\b(?:because|since|as|due to|so)\b", "any"),
    ("failure", rf"\btried\b.*\b(?:{_FAILED}|but)\b", "any"),
    ("open", r"^\W*(?:todo|still open|left open|open|remaining|next step|follow-up|not done)\b\s*[:\-–]", "any"),
    ("open", r"\b(?:is|are|remains?|was) (?:still )?(?:left open|left to do|not done yet|unfinished)\b", "any"),
    ("decision", r"\b(?:we|i)(?:'ve| have)? (?:decided|chose|settled on|went with|agreed)\b", "any"),
    ("decision", r"\b(?:let's|let us|we(?:'ll| will)) (?:go with|use|keep|switch to|stick with)\b", "user"),
    ("decision", r"^\W*decision\s*[:\-–]", "any"),
    ("convention", r"\b(?:always|never)\b.{3,}", "user"),
    ("convention", r"^\W*(?:please )?(?:do not|don't|use|prefer)\b.{3,}\b(?:instead of|rather than|not|here|everywhere|"
     r"in this (?:repo|project))\b", "user"),
    ("convention", r"^\W*convention\s*[:\-–]|\bin this (?:repo|repository|project|codebase) we\b", "any"),
    ("preference", r"\bi (?:prefer|like|want|hate|dislike)\b.{3,}\b(?:you|answers?|explanations?|comments?|diffs?|"
     r"commits?|style|tests?)\b", "user"),
)  # fmt: skip
_PATTERNS: tuple[tuple[NoteKind, re.Pattern[str], Literal["user", "any"]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE), speaker) for kind, pattern, speaker in _RULES
)


class Note(msgspec.Struct, frozen=True):
    """Holds a sentence that is worth keeping, and its kind."""

    kind: NoteKind
    text: str


def cleaned(text: str) -> str:
    """Return a text without its private parts, and without text that the memory itself inserted."""
    return _INJECTED.sub(" ", _PRIVATE.sub(" ", text)).strip()


def storable(text: str, project: Project) -> str:
    """Return the lines of a text that may be stored. Lines that contain a secret or name an ignored path are left
    out."""
    lines = cleaned(text).splitlines()
    return "\n".join(line for line in lines if not has_secret(line) and not project.mentions_ignored(line)).strip()


def find_notes(text: str, project: Project, *, by_user: bool) -> list[Note]:
    """Return the notes in a prompt or in a final answer, in order."""
    plain = _CODE.sub(" ", storable(text, project))
    notes: list[Note] = []
    for sentence in _SENTENCE.split(plain):
        words = sentence.strip().lstrip("-*•# ").strip()
        if words.startswith('"') and words.endswith('"'):  # opencode quotes a prompt of its command line
            words = words[1:-1].strip()
        if len(words.split()) < MIN_WORDS or len(words) > MAX_CHARACTERS or words.endswith("?"):
            continue
        for kind, pattern, speaker in _PATTERNS:
            if (speaker == "any" or by_user) and pattern.search(words):
                notes.append(Note(kind, words))
                break
    return notes
