"""Receipts of appended messages: whether each is stored, indexed, and processed by derivation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ...messages.message import Message
from ...records import Mark, as_dict
from ..core import Core


class MessageReceipt(msgspec.Struct, frozen=True):
    """The state of an appended message: durable, indexed, and how far derivation has come."""

    to_dict = as_dict

    message: Message
    durable: bool
    indexed: bool
    derived: Literal["none", "pending", "done", "failed", "unread"]
    """`unread`: it is in a language without extraction rules, so nothing was derived from it."""
    replayed: bool = False

    def __getitem__(self, name: str) -> Any:
        if name not in self.__struct_fields__:
            raise KeyError(name)
        return getattr(self, name)


async def receipt_states(core: Core, thread: str) -> Any:
    """A function from sequence number to (indexed, derived), from the marks of the workers."""
    item = f"thread:{thread}"
    index, derive = await core.get_many(Mark, [("index", item), ("derive", item)])
    detail: Mapping[str, Any] = (derive.detail if derive is not None else None) or {}
    failed, stuck, again = frozenset(detail.get("failed", ())), detail.get("stuck"), detail.get("again")
    unread = frozenset(detail.get("unread", ()))

    def state(seq: int) -> tuple[bool, Literal["none", "pending", "done", "failed", "unread"]]:
        indexed = index is not None and index.position >= seq
        if not core.shared.derives and derive is None:
            return indexed, "none"
        if derive is not None and derive.position >= seq:
            if seq in failed:
                return indexed, "pending" if again else "failed"
            return indexed, "unread" if seq in unread else "done"
        return indexed, "failed" if stuck else "pending"

    return state
