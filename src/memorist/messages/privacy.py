"""What a message keeps to its own thread: text between `<private>` tags, or all of it (`metadata={"private": True}`).

Private text is stored and sent with its thread like any other. It is not indexed, recalled, summarised or read for
memory.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .message import Message

PRIVATE = "private"
"""The metadata key that keeps a whole message out of derived memory and recall."""
_SPAN = re.compile(r"<private>.*?(?:</private\s*>|\Z)", re.IGNORECASE | re.DOTALL)


def is_private(message: Message) -> bool:
    """Whether all of a message is private."""
    return bool(message.metadata.get(PRIVATE))


def blank_private(text: str) -> str:
    """The text with line breaks in the place of what stands between `<private>` tags, so that offsets stay."""
    return _SPAN.sub(lambda match: "\n" * len(match[0]), text) if "<" in text else text


def open_text(message: Message) -> str:
    """The text of a message without what is private."""
    if message.metadata and is_private(message):
        return ""
    text = message.text
    return _SPAN.sub("", text) if "<" in text else text
