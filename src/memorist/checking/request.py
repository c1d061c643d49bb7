"""The request of a case, with the parts it holds and where each came from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..context.budget import TokenBudget, as_budget
from ..messages.message import Message

if TYPE_CHECKING:
    from .. import Context, Memory
    from .cases import Case


@dataclass(frozen=True)
class Part:
    """Something that a request says, and the record it comes from."""

    section: str
    text: str
    source: str = ""
    superseded: bool = False

    def __str__(self) -> str:
        origin = f" ({self.source})" if self.source else ""
        return f"{self.section}{origin}: {shorten(self.text)}"


@dataclass(frozen=True)
class Asked:
    """A case whose question was asked: the memory, and the request that was assembled."""

    case: Case
    whole: Memory
    """The handle of the org."""
    memory: Memory
    """The handle of the user who asks."""
    context: Context
    thread: str | None = None
    """The thread that the question continues."""

    @property
    def budget(self) -> TokenBudget:
        """The budget of the request."""
        return as_budget(self.case.budget)

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments of `memorist context` that make the same request."""
        return (self.case.ask,) if self.thread is None else (self.thread, self.case.ask)

    @property
    def store(self) -> str:
        """The store that the commands of a report read: the case's own, or the file that `--keep .` writes."""
        return self.case.store or f"{self.case.slug}.db"

    @cached_property
    def parts(self) -> list[Part]:
        """What the request says besides the question."""
        context = self.context
        parts = [Part("system", message.text) for message in context.system_messages]
        parts += [Part("profile", line.text, line.source) for line in context.profile]
        parts += [
            Part("memory", item.text, item.source, item.superseded_by is not None) for item in context.memory_items
        ]
        if context.summary_text:
            parts.append(Part("history", context.summary_text, "summary"))
        parts += [Part("history", message.text, message.id if message.thread else "") for message in context.history]
        return [part for part in parts if part.text]

    @cached_property
    def text(self) -> str:
        """Everything that is sent but the question, as it is compared."""
        context = self.context
        messages: Iterable[Message | None] = (
            *context.system_messages, context.profile_message, context.memory_message, context.summary_message,
            *context.history, context.scratchpad_message,
        )  # fmt: skip
        return plain(" ".join(message.text for message in messages if message is not None))

    def says(self, text: str) -> bool:
        """Return whether the request holds a text."""
        return plain(text) in self.text

    def parts_with(self, text: str) -> list[Part]:
        """Return the parts that hold a text."""
        return [part for part in self.parts if plain(text) in plain(part.text)]

    def snapshot(self) -> str:
        """Return the request as text for people: its tokens by section, then what is sent."""
        manifest = self.context.manifest
        sections = ", ".join(f"{report.name} {report.tokens}" for report in manifest.sections if report.tokens)
        return f"{manifest.tokens} tokens: {sections}\n\n{self.context.text()}\n"


def plain(text: str) -> str:
    """Return a text as it is compared: in one case, with single spaces."""
    return " ".join(text.casefold().split())


def mentions(text: str, subject: str) -> bool:
    """Return whether a text names a subject as a word of its own."""
    return re.search(rf"(?<!\w){re.escape(plain(subject))}(?!\w)", plain(text)) is not None


def shorten(text: str, characters: int = 90) -> str:
    """Return a text on one line, cut for a report."""
    line = " ".join(text.split())
    return line if len(line) <= characters else f"{line[: characters - 1]}…"
