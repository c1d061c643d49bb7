"""A sub-agent works in a child session with its own context, and returns a result that names its sources."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...errors import UsageError
from ...messages.message import Message
from ...records import Thread, as_dict
from ..core import Core
from ..derive.carried import based_on
from ..threads.threads import PARENT

CHILD = "child"
"""The metadata key under which a message names the thread of the sub-agent that wrote it."""
MAX_SOURCES = 2_000
"""The maximum number of messages that a result can name."""


class ChildResult(msgspec.Struct, frozen=True):
    """Holds the result that a sub-agent returns to its parent."""

    to_dict = as_dict

    text: str
    thread: str
    """This is the sub-agent's thread, which contains everything it did."""
    sources: tuple[str, ...] = ()
    """These are the ids of the messages on which the result is based."""

    def message(self, call_id: str | None = None) -> Message:
        """Return the result as a message for the parent's next turn or, with `call_id`, as the result of that tool
        call.

        The parent session stores it with its sources, so that forgetting one of them also deletes the result.
        """
        about = {CHILD: self.thread}
        if call_id is None:
            return Message(role="user", content=self.text, metadata=about, trust="tool")
        return Message(role="tool", content=self.text, extra={"tool_call_id": call_id}, metadata=about)


async def with_child_sources(core: Core, parent: str, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages of a turn. Messages written by a child of this thread name the messages they are based on."""
    return tuple(
        [await _sourced(core, parent, message) if CHILD in message.metadata else message for message in messages]
    )


async def _sourced(core: Core, parent: str, message: Message) -> Message:
    thread = await core.get(Thread, str(message.metadata[CHILD]))
    # The metadata comes from the caller, so what it names is checked before it becomes lineage.
    if thread is None or thread.metadata.get(PARENT) != parent or not core.scope.may_read(thread.ns):
        raise UsageError(f"thread {str(message.metadata[CHILD])[:64]!r} is not a child of this session's thread")
    rows = await core.scan(Message, thread.id, limit=MAX_SOURCES + 1)
    if len(rows) > MAX_SOURCES:
        raise UsageError(f"a result can name at most {MAX_SOURCES:,} messages; end the child earlier")
    return based_on(message, [row.id for row in rows], [row.trust_level for row in rows])
