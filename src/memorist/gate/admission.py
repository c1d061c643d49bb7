"""Decides whether a derived memory that contains personal data becomes active, needs a person's approval, or is
refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from .personal import personal_classes
from .policy import Gate


class Admission(NamedTuple):
    """Holds the verdict on a memory and the classes of personal data that led to it."""

    verdict: Literal["active", "review", "refuse"] = "active"
    classes: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """This is the reason why the memory was refused or is waiting for approval. It names classes, never content."""
        return f"personal data: {', '.join(self.classes)}"


def judge_memory(gate: Gate, ns: str, texts: Iterable[object], *, key: str | None = None) -> Admission:
    """Return the policy's verdict on a memory that was derived from messages."""
    rules = gate.personal_rules(ns)
    if not rules:
        return Admission()
    classes = personal_classes("\n".join(str(text) for text in texts if text), key=key) & rules.keys()
    for verdict in ("refuse", "review"):
        names = tuple(sorted(name for name in classes if rules[name].verdict == verdict))
        if names:
            return Admission(verdict, names)
    return Admission()
