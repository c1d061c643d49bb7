"""Remembers something in one call: it stores a statement, reads it immediately, and returns what was understood."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import InvalidValue
from ..gate.passing import barred_secrets
from ..gate.policy import Gate
from ..kinds import MEMORIES, reference
from ..messages.message import Given, Message, as_message
from ..records import Candidate, Learning, Link, as_dict
from .core import Core
from .derive.catching_up import catch_up
from .derive.outbox import Waiting
from .gating import policy_of
from .learnings import Learnings
from .memories import Remembered, remembered
from .review import Review
from .threads.receipts import MessageReceipt
from .threads.threads import Threads
from .versions import DELETED

if TYPE_CHECKING:
    from ..context.given import Prompt

_SECRET = "{} is a secret and is kept out of memory"
THREAD = "remembered"
"""The first part of the id of the thread that stores statements if the caller does not name a thread."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Describes something in a message that did not become a memory, such as a secret or a model's note that failed
    validation.
    """

    to_dict = as_dict

    message: str
    """This is the id of the message."""
    reason: str


class Understood(msgspec.Struct, frozen=True, kw_only=True):
    """Reports what `remember` stored and understood."""

    to_dict = as_dict

    thread: str | None = None
    """This is the thread that contains the words, or None if they were stored word for word."""
    receipts: list[MessageReceipt] = []
    stored: list[Remembered] = []
    """These are the memories extracted from the words or confirmed by them."""
    waiting: list[Candidate] = []
    """These are the memories waiting for a person's approval."""
    ended: list[str] = []
    """These are the ids of memories that the words ended. If the words asked to forget something, the last id is that
    of the request, which `facts.unforget` undoes."""
    refused: list[Refusal] = []
    """These items did not become memories. Each has a reason. They are secrets, or a model's notes that failed
    validation."""


class Remembering:
    """Stores a statement and reads it immediately."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def remember(
        self,
        messages: Prompt,
        *,
        user: str | None = None,
        thread: str | None = None,
        infer: bool = True,
        key: str | None = None,
    ) -> Understood:
        """Store a statement and return what was understood; see `AsyncMemory.remember`."""
        core = self._core if user is None else self._core.narrowed(self._core.scope.narrow(user=user))
        statements = _as_list(messages)
        ns = core.scope.own()
        if not infer:
            texts = [_text_of(statement) for statement in statements]
            return Understood(stored=[remembered(row, core.at()) for row in await _add_learnings(core, texts, key)])
        id = thread or f"{THREAD}:{ns}"
        receipts = await Threads(core).append(id, *statements, create=ns, key=key)
        outcomes = Waiting(core)
        receipts = await outcomes.wait(receipts, retries=False)
        if any(receipt.derived == "pending" and receipt.read_by is None for receipt in receipts):
            # The model has failed before and rests: the rules read these messages until it is asked again.
            await catch_up(core, [ns])
            receipts = await outcomes.wait(receipts, timeout=0)
        sources = {receipt.message.id for receipt in receipts}
        items = await _derived_from(core, ns, [receipt.message for receipt in receipts])
        waiting = [row for row in await Review(core).list(ns=ns) if sources & set(row.sources)]
        ended = [id for receipt in receipts for id in receipt.ended]
        items = [item for item in items if not _is_gone(item, ended)]
        gate = await policy_of(core)
        refused = [
            Refusal(message=receipt.message.id, reason=reason)
            for receipt in receipts
            for reason in (*(_SECRET.format(kind) for kind in _secrets_in(gate, receipt)), *receipt.refused)
        ]
        return Understood(thread=id, receipts=receipts, stored=items, waiting=waiting, ended=ended, refused=refused)


async def _derived_from(core: Core, ns: str, messages: list[Message]) -> list[Remembered]:
    """Return the memories of a namespace that lineage traces to these messages: facts, then events, then learnings."""
    refs = map(reference, messages)
    links = [link for ref in refs for link in await core.scan(Link, ref.ns, ref.key, ref.kind, ref.part)]
    keys = sorted({(link.target.kind, link.target.key) for link in links if link.target.ns == ns})
    rows: list[Any] = []
    for memory in MEMORIES:
        rows += await core.get_many(memory.record, [(ns, key) for kind, key in keys if kind == memory.name])
    at = core.at()
    return [remembered(row, at) for row in rows if row is not None]


def _is_gone(item: Remembered, ended: Collection[str]) -> bool:
    """Return whether a memory was deleted, or ended by the words themselves rather than in a past they tell about."""
    id = f"{item.namespace}/{item.id.partition(':')[2]}"
    return item.status == DELETED or (item.status == "ended" and id in ended)


def _secrets_in(gate: Gate, receipt: MessageReceipt) -> list[str]:
    """Return the kinds of secrets in a message, even if the message itself was not masked."""
    return sorted({*receipt.masked, *barred_secrets(gate, receipt.message.text)})


async def _add_learnings(core: Core, texts: list[str], key: str | None) -> list[Learning]:
    learnings = Learnings(core)
    # A learning has no key of its own: a repeated call recognises what the first one added by its content.
    added = {} if key is None else {row.content: row for row in await learnings.list(reverse=True)}
    return [added.get(text) or await learnings.add(text, confidence=1.0) for text in texts]


def _as_list(messages: Prompt) -> list[Given]:
    statements: list[Given] = [messages] if isinstance(messages, str | Mapping | Message) else [*messages]
    if all(isinstance(statement, str) and not statement.strip() for statement in statements):
        raise InvalidValue("there is nothing to remember; pass a text or messages that say something")
    return statements


def _text_of(message: Given) -> str:
    return as_message(message).text
