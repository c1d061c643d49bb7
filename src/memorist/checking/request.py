"""Holds the request of a case, with its parts and their sources."""

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
    """Holds one statement in a request, and the record it comes from."""

    section: str
    text: str
    source: str = ""
    superseded: bool = False

    def __str__(self) -> str:
        origin = f" ({self.source})" if self.source else ""
        return f"{self.section}{origin}: {shorten(self.text)}"


@dataclass(frozen=True)
class CaseRequest:
    """Holds a case whose question has been asked: the memory, and the assembled request."""

    case: Case
    whole: Memory
    """This is the handle on the org."""
    memory: Memory
    """This is the handle for the user who asks."""
    context: Context
    thread: str | None = None
    """This is the thread that the question continues."""

    @property
    def budget(self) -> TokenBudget:
        """This is the budget of the request."""
        return as_budget(self.case.budget)

    @property
    def words(self) -> tuple[str, ...]:
        """These are the arguments of `memorist context` that produce the same request."""
        return (self.case.ask,) if self.thread is None else (self.thread, self.case.ask)

    @property
    def store(self) -> str:
        """The commands in a report read this store, which is the file that `--keep .` writes, or the case's server."""
        return self.case.store if self.case.store and self.case.reads_server else self.case.store_name

    @cached_property
    def parts(self) -> list[Part]:
        """These are the statements in the request, without the question."""
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
        """This is the whole request except the question, in the form used for comparisons."""
        context = self.context
        messages: Iterable[Message | None] = (
            *context.system_messages, context.profile_message, context.memory_message, context.summary_message,
            *context.history, context.scratchpad_message,
        )  # fmt: skip
        return plain(" ".join(message.text for message in messages if message is not None))

    def says(self, text: str) -> bool:
        """Return whether the request contains a text."""
        return plain(text) in self.text

    def parts_with(self, text: str) -> list[Part]:
        """Return the parts that contain a text."""
        return [part for part in self.parts if plain(text) in plain(part.text)]

    def snapshot(self) -> str:
        """Return the request as text for people, with its tokens by section and the messages."""
        manifest = self.context.manifest
        sections = ", ".join(f"{report.name} {report.tokens}" for report in manifest.sections if report.tokens)
        return f"{manifest.tokens} tokens: {sections}\n\n{self.context.text()}\n"


def plain(text: str) -> str:
    """Return a text in lower case and with single spaces, for comparisons."""
    return " ".join(text.casefold().split())


def mentions(text: str, subject: str) -> bool:
    """Return whether a text mentions a subject as a separate word."""
    return re.search(rf"(?<!\w){re.escape(plain(subject))}(?!\w)", plain(text)) is not None


def shorten(text: str, characters: int = 90) -> str:
    """Return a text shortened to one line, for a report."""
    line = " ".join(text.split())
    return line if len(line) <= characters else f"{line[: characters - 1]}…"
