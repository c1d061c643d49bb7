"""Reports, for each message passed to `compress`, whether it was kept, shortened, summarised or dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import msgspec

from ..messages.message import Message
from ..messages.responses import PLACES, as_chat
from ..records import as_dict

if TYPE_CHECKING:
    from .context import Context

UNREAD = "older than what was needed, not read"


class InputFate(msgspec.Struct, frozen=True):
    """Reports what `compress` did with one message, and why."""

    to_dict = as_dict

    position: int
    fate: Literal["kept", "elided", "folded", "dropped"]
    """`elided` means shortened in place, and `folded` means replaced by a summary."""
    reason: str = ""
    message: Message | None = None
    """This is the message sent for it, or None. Several Responses API items may share one."""


def placed(message: Message, index: int) -> Message:
    """Return the message with its position in its metadata, so that it can be traced through repairs."""
    return msgspec.structs.replace(message, metadata={**message.metadata, PLACES: [index]})


def with_fates(context: Context, inputs: Sequence[Message], leading: int) -> Context:
    """Return the context with `inputs` filled in; the first `leading` messages are its system prompt."""
    fates = {index: InputFate(index, "kept", "", inputs[index]) for index in range(leading)}
    account = context.account
    for outcome in account.elided:
        fates |= {index: InputFate(index, "elided", outcome.reason) for index in _places(outcome.unit.messages)}
    for outcome in account.dropped:
        fates |= {index: InputFate(index, "dropped", outcome.reason) for index in _places(outcome.unit.messages)}
    for unit in account.folded:
        for index in _places(unit.messages):
            fates[index] = InputFate(index, "folded", f"in the {account.method} summary")
    for message in context.view:
        for index in _places([message]):
            whole = index not in fates or message.content == as_chat(inputs[index]).content
            reason = "" if whole else fates[index].reason
            fates[index] = InputFate(index, "kept" if whole else "elided", reason, bare(message))
    for fix in account.repairs:
        fates.setdefault(fix.position, InputFate(fix.position, "dropped", fix.reason))
    fates = {index: fates.get(index) or InputFate(index, "dropped", UNREAD) for index in range(len(inputs))}
    return _without_places(replace(context, inputs=tuple(fates.values())))


def bare(message: Message) -> Message:
    """Return the message without the position that `placed` added."""
    if PLACES not in message.metadata:
        return message
    left = {name: value for name, value in message.metadata.items() if name != PLACES}
    return msgspec.structs.replace(message, metadata=left)


def _without_places(context: Context) -> Context:
    history, prompt, view = (tuple(map(bare, part)) for part in (context.history, context.input, context.view))
    return replace(context, history=history, input=prompt, view=view)


def _places(messages: Iterable[Message]) -> list[int]:
    return [index for message in messages for index in message.metadata.get(PLACES, ())]
