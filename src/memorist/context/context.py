"""Defines `Context`, an assembled request that can be rendered for a provider and can explain its contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from ..errors import InvalidValue, UsageError
from ..messages.compactions import anthropic_settings, on_demand_settings, openai_settings
from ..messages.message import ATTACHED, Message
from ..messages.reports import Break, Piece, RequestReport
from ..messages.responses import problems as item_problems
from ..messages.responses import responses_tools
from ..messages.wire import anthropic_tools, openai_tools
from ..values import JsonMapping, JsonObject, compact_json
from .cache import mark
from .doubles import identity
from .fates import UNREAD, InputFate
from .items import Fate, MemoryItem
from .manifest import SCORED, Manifest, Outcome, SectionReport, runs
from .plan import Left
from .profile import ProfileLine
from .render import (
    DEFAULT_TEMPLATE,
    anthropic_messages,
    fill,
    openai_messages,
    response_items,
    transcript,
)
from .report import pieces_of, report_request
from .tokens import ENCODINGS, open_counter
from .units import Repair, Unit
from .usage import Prices
from .validate import anthropic_problems, refuse

FORMAT = 1
"""The version of the JSON that `to_json` writes."""


@dataclass(frozen=True)
class Account:
    """Holds the decisions made during assembly. The manifest is built from them on request."""

    budget_tokens: int
    output_reserve: int
    counter: str
    policy: str
    section_tokens: dict[str, int]
    ceilings: dict[str, int | None]
    kept: Sequence[Unit] = ()
    dropped: Sequence[Left] = ()
    folded: Sequence[Unit] = ()
    elided: Sequence[Left] = ()
    repairs: Sequence[Repair] = ()
    unread: tuple[int, int, int] | None = None
    """These are the first position, the last position and the number of messages that were not read."""
    memory_kept: int = 0
    memory_dropped: int = 0
    profile_kept: int = 0
    profile_dropped: int = 0
    tools_left: Sequence[str] = ()
    """These are the names of tools that were left out because of the tool ceiling."""
    method: str = ""
    behind: int = 0
    """This is the last position that the stored summary covers."""
    notes: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Context:
    """Holds a request to a model, assembled to fit a token budget."""

    tokens: int
    """This is the number of tokens in the whole request, counted according to the rules in `memorist.context.measure`.
    It never exceeds the budget."""
    layout: str
    tools: tuple[JsonMapping, ...]
    system_messages: tuple[Message, ...]
    memory_message: Message | None
    summary_message: Message | None
    history: tuple[Message, ...]
    input: tuple[Message, ...]
    scratchpad_message: Message | None
    account: Account
    lead: Message | None = None
    """This is a short user message that comes first, for providers that reject requests starting with the assistant."""
    lead_always: bool = False
    """This is True if the lead is sent to every provider, because older messages were left out."""
    profile_message: Message | None = None
    profile: tuple[ProfileLine, ...] = ()
    """These are the lines of the profile block, each with its source."""
    recalled: tuple[Fate, ...] = ()
    """These are all recalled items, each with its token count and, if it was left out, the reason."""
    memory_text: str = ""
    memory_items: tuple[MemoryItem, ...] = ()
    """These are the recalled items in the request, best first."""
    summary_text: str | None = None
    inputs: tuple[InputFate, ...] = field(default=(), repr=False)
    """These report what `compress` did with each message, by position."""
    broken: Break | None = None
    """This is the first difference from the previous request in the session, or None if there is none."""
    view: tuple[Message, ...] = field(default=(), repr=False)
    """These are all messages sent after the system prompt, in order, without the lead."""

    @property
    def kept(self) -> list[int]:
        """These are the positions of the messages that `compress` kept unchanged."""
        return [fate.position for fate in self.inputs if fate.fate == "kept"]

    def to_json(self) -> str:
        """Return the context as JSON: the request, and each recalled item with its token count, its fate and the
        reason."""
        return msgspec.json.encode({"memorist": "context", "format": FORMAT, "context": self}).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Context:
        """Return the context written by `to_json`. It renders to the same bytes."""
        try:
            written = msgspec.json.decode(text, type=_Written)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as cause:
            raise InvalidValue("this is not JSON that Context.to_json wrote") from cause
        if written.memorist != "context" or written.format > FORMAT:
            raise InvalidValue(f"this is not a context, or one of a newer format (this version reads up to {FORMAT})")
        return written.context

    def messages(self, *, merge: bool = True) -> list[JsonObject]:
        """Return the messages for OpenAI's chat API.

        Args:
            merge: Merge neighbours with the same role, for templates that require alternating roles.
        """
        lead = (self.lead,) if self.lead is not None and self.lead_always else ()
        return openai_messages((*self.system_messages, *lead, *self.view), merge=merge)

    def openai(self, *, merge: bool = True) -> JsonObject:
        """Return `messages`, and `tools` if there are any, for OpenAI's chat API."""
        request: JsonObject = {"messages": self.messages(merge=merge)}
        if self.tools:
            request["tools"] = openai_tools(self.tools)
        return request

    def anthropic(
        self,
        *,
        cache: bool | None = None,
        context_management: JsonMapping | None = None,
        compaction: JsonMapping | None = None,
    ) -> JsonObject:
        """Return `system`, `tools` and `messages` for Anthropic.

        Args:
            cache: Whether to set cache markers. By default this is done in the cached layout.
            context_management: Settings for Anthropic's context editing and compaction. The `betas` that they need
                are added.
            compaction: `{"type": "summarize"}` requests a compaction instead of an answer.
        """
        if compaction is not None and context_management is not None:
            raise UsageError("Anthropic accepts either `compaction` or `context_management` in a request")
        lead = (self.lead,) if self.lead is not None else ()
        messages = anthropic_messages((*lead, *self.view), lasting=self._lasting)
        request: JsonObject = {"system": self._text(self.system_messages), "tools": [], "messages": messages}
        request["tools"] = anthropic_tools(self.tools)
        if cache if cache is not None else self.layout == "cached":
            request = mark(request, self)
        else:
            request["messages"] = [_simple(message) for message in messages]
        refuse(anthropic_problems(request), "Anthropic")
        if context_management is not None:
            request["context_management"], request["betas"] = anthropic_settings(context_management)
        if compaction is not None:
            request["compaction"], request["betas"] = on_demand_settings(compaction)
        return request

    @property
    def _lasting(self) -> tuple[Message, ...]:
        """These messages are not part of the conversation, so no provider's compaction replaces them."""
        return tuple(message for message in (self.profile_message, self.memory_message) if message is not None)

    def responses(self, *, context_management: Sequence[JsonMapping] | None = None) -> JsonObject:
        """Return `instructions`, `input` and `tools` for OpenAI's Responses API.

        Args:
            context_management: Settings for OpenAI's compaction.
        """
        lead = (self.lead,) if self.lead is not None and self.lead_always else ()
        items = response_items((*lead, *self.view), lasting=self._lasting)
        refuse(item_problems(items), "OpenAI")
        tools = responses_tools(self.tools)
        request: JsonObject = {"instructions": self._text(self.system_messages), "input": items, "tools": tools}
        if context_management is not None:
            request["context_management"] = openai_settings(context_management)
        return request

    def text(self, template: str | None = None) -> str:
        """Return the request as text.

        Args:
            template: Text with {system}, {memory}, {tools}, {history}, {input} and {scratchpad}.
        """
        history = (self.summary_message, *self.history) if self.summary_message else self.history
        sections = {
            "system": self._text(self.system_messages),
            "memory": self._text(tuple(m for m in (self.profile_message, self.memory_message) if m is not None)),
            "tools": "\n".join(compact_json(tool) for tool in self.tools),
            "history": transcript(history),
            "input": transcript(self.input),
            "scratchpad": self._text((self.scratchpad_message,) if self.scratchpad_message else ()),
        }
        filled = fill(DEFAULT_TEMPLATE if template is None else template, sections)
        return filled if template is not None else "\n\n".join(part for part in filled.split("\n\n") if part.strip())

    @staticmethod
    def _text(messages: Sequence[Message]) -> str:
        return "\n\n".join(message.text for message in messages)

    def attach(self, message: Message) -> Message:
        """Return the input to store, with its recalled memory, so that later requests repeat its bytes."""
        if self.layout != "cached" or self.memory_message is None:
            return message
        attachments = {
            "text": self.memory_text,
            "tokens": self.memory_message.tokens,
            "counter": self.account.counter,
            # Forgetting a source finds the messages that quote it by these ids.
            "sources": [item.source for item in self.memory_items if item.source],
            # What is not recalled again while this stands in the history.
            "ids": [identity(item) for item in self.memory_items if identity(item)],
        }
        return msgspec.structs.replace(message, metadata={**message.metadata, ATTACHED: attachments})

    @cached_property
    def manifest(self) -> Manifest:
        """This lists the token count of each section, and what was kept, dropped, summarised or shortened, and why."""
        account = self.account
        counts = {
            "profile": (account.profile_kept, account.profile_dropped, 0, 0),
            "memory": (account.memory_kept, account.memory_dropped, 0, 0),
            "history": (len(account.kept), self._dropped(), self._folded(), len(account.elided)),
            "system": (len(self.system_messages), 0, 0, 0),
            "tools": (len(self.tools), len(account.tools_left), 0, 0),
            "input": (len(self.input), 0, 0, 0),
        }
        sections = tuple(
            SectionReport(name, tokens, account.ceilings.get(name), *counts.get(name, (int(tokens > 0), 0, 0, 0)))
            for name, tokens in account.section_tokens.items()
        )
        return Manifest(
            self.tokens,
            account.budget_tokens,
            account.output_reserve,
            account.counter,
            self.layout,
            account.policy,
            sections,
            tuple(self._entries()),
            tuple(account.notes),
        )

    def _dropped(self) -> int:
        return len(self.account.dropped) + (self.account.unread[2] if self.account.unread else 0)

    def _folded(self) -> int:
        stored = self.account.behind if self.summary_message is not None else 0
        return len(self.account.folded) + stored

    def _entries(self) -> list[Outcome]:
        account = self.account
        entries: list[Outcome] = []
        entries += [_note_outcome(line) for line in self.profile]
        entries += [_item_outcome(fate) for fate in self.recalled]
        if account.tools_left:
            names = tuple(account.tools_left)
            entries.append(Outcome("tools", "dropped", TOOLS_LEFT, units=len(names), ids=names))
        if account.behind and self.summary_message is not None:
            entries.append(Outcome("history", "folded", "in the stored summary", 1, account.behind, account.behind))
        if account.unread is not None:
            first, last, count = account.unread
            entries.append(Outcome("history", "dropped", UNREAD, first, last, count))
        entries += runs("history", "dropped", ((left.unit, left.reason) for left in account.dropped))
        entries += runs("history", "folded", ((unit, f"in the {account.method} summary") for unit in account.folded))
        entries += runs("history", "elided", ((left.unit, left.reason) for left in account.elided))
        entries += [_repair_outcome(fix) for fix in account.repairs]
        return entries + runs("history", "kept", ((unit, "") for unit in account.kept))

    def explain(self) -> str:
        """Return the manifest as text, with figures, reasons and what broke the prompt cache, but no content."""
        lines = self.manifest.explain()
        return lines if self.broken is None else f"{lines}\n  cache: {self.broken}"

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """These are the parts of the request as providers cache them, each with its token count and a hash of its
        bytes."""
        return pieces_of(self, open_counter(_counter_name(self.account.counter)))

    def report(
        self, usage: object, *, before: Context | None = None, model: str | None = None, prices: Prices | None = None
    ) -> RequestReport:
        """Return what this request cost, based on the usage that the provider reported.

        Args:
            usage: The response from OpenAI, Anthropic or Gemini, or its `usage`.
            before: The previous request, to find what broke the prompt cache.
            model: The name of the model, to look up its prices.
            prices: Your own prices; see `memorist.context.usage`.
        """
        return report_request(
            usage,
            before=before.pieces if before else (),
            after=self.pieces,
            model=model,
            prices=prices,
        )

    def bar(self, width: int = 60) -> str:
        """Return a text bar that shows how many tokens each section uses."""
        return self.manifest.bar(width)


def _counter_name(name: str) -> str | None:
    """Return the counter for comparing requests: the one that counted them, if it can be opened by name."""
    return name if name in (*ENCODINGS, "estimate") else None


TOOLS_LEFT = "over the ceiling of tools; find_tool finds them"
STARTS = "(start of the conversation)"
"""The text that comes first if a request would otherwise not begin with a user's message."""


class _Written(msgspec.Struct):
    memorist: str
    format: int
    context: Context


def _note_outcome(line: ProfileLine) -> Outcome:
    return Outcome("profile", "kept", line.lane, units=1, ids=(line.source,) if line.source else ())


def _item_outcome(fate: Fate) -> Outcome:
    """Return the manifest entry for a recalled item, with its score and the reason if it was dropped or shortened."""
    reason = fate.reason if fate.item.score is None else f"{fate.reason}{SCORED}{fate.item.score:.3f}"
    ids = (fate.item.source,) if fate.item.source else ()
    return Outcome("memory", fate.fate, reason, units=1, tokens=fate.tokens, ids=ids)


def _repair_outcome(fix: Repair) -> Outcome:
    ids = (fix.message,) if fix.message else ()
    return Outcome("history", "repaired", fix.reason, fix.position, fix.position, 1, fix.tokens, ids)


def _simple(message: JsonObject) -> JsonObject:
    content = message["content"]
    if len(content) == 1 and set(content[0]) == {"type", "text"} and content[0]["type"] == "text":
        return {"role": message["role"], "content": content[0]["text"]}
    return message
