"""Binary parts of messages (images, files, audio) are stored separately under a hash of their bytes, once per thread.

The message keeps a marker in place of the base64 text, and the list of hashes in its metadata. When a message is read,
the bytes are restored, so callers never see the difference.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping

import msgspec

from .message import Message

PARTS = "memorist.parts"
"""The metadata key under which a stored message lists the digests of its binary parts."""
MARK = "memorist.part:"
"""The beginning of the text that replaces the base64 text. The digest follows."""
MIN_PART_CHARACTERS = 4_096
"""Shorter parts stay in their message, because a separate row would cost more than it saves."""
_BASE64 = re.compile(r"(?:data:[^,]{0,200};base64,)?(?P<data>[A-Za-z0-9+/]+={0,2})")
_MARKED = re.compile(re.escape(MARK) + r"([0-9a-f]{64})\Z")
_replace = msgspec.structs.replace


def may_hold_parts(message: Message) -> bool:
    """Return whether a message may contain binary parts. Most messages are plain text."""
    return type(message.content) is not str or message.raw is not None


def set_apart(message: Message) -> tuple[Message, dict[str, bytes]]:
    """Return the message as it is stored, and its binary parts by digest. A message without parts is returned
    unchanged."""
    parts: dict[str, bytes] = {}

    def marked(text: str) -> str:
        data = _decoded(text)
        if data is None:
            return text
        digest = digest_of(message.thread, data[1])
        parts[digest] = data[1]
        return f"{text[: data[0]]}{MARK}{digest}"

    content, extra, raw = (_mapped(value, marked) for value in (message.content, message.extra, message.raw))
    if not parts:
        return message, parts
    about = {**message.metadata, PARTS: sorted(parts)}
    return _replace(message, content=content, extra=extra, raw=raw, metadata=about), parts


def put_back(message: Message, parts: Mapping[str, bytes]) -> Message:
    """Return the message with its binary parts restored."""

    def filled(text: str) -> str:
        match = _MARKED.search(text)
        # The mark stays where a part is missing, so that the message still says that something was there.
        if match is None or match[1] not in parts:
            return text
        return text[: match.start()] + base64.b64encode(parts[match[1]]).decode()

    content, extra, raw = (_mapped(value, filled) for value in (message.content, message.extra, message.raw))
    about = {name: value for name, value in message.metadata.items() if name != PARTS}
    return _replace(message, content=content, extra=extra, raw=raw, metadata=about)


def part_digests(message: Message) -> list[str]:
    """Return the digests of a message's binary parts, in its stored form or in the form that a caller sees."""
    stored = message.metadata.get(PARTS)
    return list(stored) if isinstance(stored, list | tuple) else list(set_apart(message)[1])


def digest_of(thread: str, data: bytes) -> str:
    """Return the hash of a part.

    The hash includes the thread, so that it does not reveal whether two threads contain the same picture.
    """
    from hashlib import blake2b

    salt = blake2b(thread.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return blake2b(data, digest_size=32, person=b"memorist-part", salt=salt).hexdigest()


def _decoded(text: str) -> tuple[int, bytes] | None:
    """Return where the base64 part of a text begins, and its bytes, if encoding them again produces the same text.
    Otherwise return None."""
    if len(text) < MIN_PART_CHARACTERS or (match := _BASE64.fullmatch(text)) is None:
        return None
    written = match["data"]
    try:
        data = base64.b64decode(written, validate=True)
    except (binascii.Error, ValueError):
        return None
    # Base64 has several spellings of the same bytes. Only one of them can be restored exactly, and a message must come
    # back as it was written.
    return (match.start("data"), data) if base64.b64encode(data).decode() == written else None


def map_texts(value: object, change: Callable[[str], str]) -> object:
    """Return a JSON value with each text in it replaced. If nothing changes, return the same object."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        items = [map_texts(item, change) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if isinstance(value, dict):
        fields = {name: map_texts(item, change) for name, item in value.items()}
        return value if all(fields[name] is value[name] for name in value) else fields
    return value


def _mapped(value: object, change: Callable[[str], str]) -> object:
    """Do the same as `map_texts`, but leave a plain text as it is, because only a text inside a part is binary."""
    return value if isinstance(value, str) else map_texts(value, change)
