"""Receipts say whether each appended message has been stored, indexed and searched for facts."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ...messages.message import Message
from ...records import Derivation, IndexProgress, as_dict
from ...values import JsonObject
from ..core import Core

Derived = Literal["none", "pending", "done", "failed", "unread"]


class MessageReceipt(msgspec.Struct, frozen=True):
    """Holds the state of an appended message: whether it is durable and indexed, and how far derivation has
    progressed.
    """

    to_dict = as_dict

    message: Message
    durable: bool
    indexed: bool
    derived: Derived
    """`unread` means that it is in a language without extraction rules, so nothing was derived from it."""
    replayed: bool = False
    ended: tuple[str, ...] = ()
    """These are the ids of memories that the message ended. If it asked to forget something, the last id is that of the
    request, which `facts.unforget` undoes."""
    masked: tuple[str, ...] = ()
    """These are the kinds of secrets that the gate masked in the message before it was stored."""

    read_by: Literal["model", "rules"] | None = None
    """This says whether the rules or the model read the message. `rules` together with `pending` or `failed` means that
    the rules read it instead of the model."""
    refused: tuple[str, ...] = ()
    """These are the reasons why items noted by the model were refused."""

    def __getitem__(self, name: str) -> Any:
        if name not in self.__struct_fields__:
            raise KeyError(name)
        return getattr(self, name)


_HINTS = (
    "forget", "remember", "erase", "delete", "remove", "wipe", "clear", "unlearn", "not save", "n't save", "n’t save",
    "not store", "n't store", "n’t store", "longer true", "not true", "the case", "vergiss", "vergessen", "lösch",
    "merk dir", "merke dir", "speicher", "oublie", "efface", "retien", "reten", "mémoris", "enregistr", "olvid", "borr",
    "recuerd", "guard", "memori", "dimentica", "scorda", "cancella", "ricorda", "salva", "esque", "apag", "lembr",
    "salve", "vergeet", "wis ", "onthoud", "bewaar", "sla dit", "sla dat", "忘", "删", "清除", "记", "保存", "覚え",
    "記憶", "消し", "削除", "不再",
)  # fmt: skip
"""Every request to forget contains one of these words; looking for them adds almost nothing to the cost of an
append."""
MAX_REQUEST_CHARACTERS = 400


def may_ask_to_forget(message: Message) -> bool:
    """Return whether the rules should read a message immediately, because it may ask to forget something."""
    if message.role != "user":
        return False
    text = message.text
    if len(text) > MAX_REQUEST_CHARACTERS:
        return False
    lowered = text.lower()
    # Every append passes here, and a generator expression would take four times as long as `map`.
    return any(map(lowered.__contains__, _HINTS))


async def receipt_states(core: Core, thread: str) -> Any:
    """Return a function that maps a sequence number to the receipt fields that workers change, based on their
    progress."""
    index, derivation = await core.get(IndexProgress, thread), await core.get(Derivation, thread)
    notes = derivation or Derivation(thread=thread, updated_at=core.at())
    failed, unread, by_rules = frozenset(notes.failed), frozenset(notes.unread), frozenset(notes.by_rules)

    def state(seq: int) -> JsonObject:
        progress = derived(seq)
        reader = None if progress != "done" else "rules" if core.shared.reads_by_rules else "model"
        return {
            "indexed": index is not None and index.position >= seq,
            "derived": progress,
            "ended": tuple(notes.ended.get(str(seq), ())),
            "read_by": "rules" if seq in by_rules else reader,
            "refused": tuple(notes.refused.get(str(seq), ())),
        }

    def derived(seq: int) -> Derived:
        if derivation is None:
            return "pending" if core.shared.derives else "none"
        if derivation.position >= seq:
            if seq in failed:
                return "pending" if derivation.again else "failed"
            return "unread" if seq in unread else "done"
        return "failed" if derivation.stuck else "pending"

    return state
