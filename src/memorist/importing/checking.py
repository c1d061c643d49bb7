"""Validates a reader's items by the same rules as values passed to the API, before anything is written."""

from __future__ import annotations

import msgspec

from ..errors import InvalidValue, UsageError
from ..messages.message import Message, as_message
from ..values import MAX_VALUE_BYTES, JsonObject, check_metadata, check_name, check_text, encode_json
from .items import DocumentItem, FactItem, Item, MessageItem, ThreadItem
from .mapping import Places

OURS = ("metadata", "created_at", "importance", "pinned", "trust", "raw")
"""Fields of our messages that a file must not set. For example, a pinned message would be in every request."""
MAX_SPACES = 100_000
"""The number of threads whose namespaces are remembered, for messages that follow later."""
_replace = msgspec.structs.replace


class Checked(msgspec.Struct, frozen=True):
    """Holds a valid item, with its namespace and, for a message, the `Message` built from it."""

    item: Item
    ns: str = ""
    message: Message | None = None


def _is_plain(content: object) -> bool:
    """Return whether a text is ASCII and short enough that its JSON (6 bytes per character) cannot exceed the limit."""
    return type(content) is str and content.isascii() and len(content) * 6 < MAX_VALUE_BYTES


class Checker:
    """Checks items in order, because a message belongs to the namespace of the thread before it."""

    def __init__(self, places: Places, source: str) -> None:
        self._places = places
        self._source = source
        self._spaces: dict[str, str] = {}
        self._refused: set[str] = set()

    def check(self, item: Item) -> Checked:
        """Return the checked item. Raises ValueError with the reason if it is invalid."""
        if isinstance(item, MessageItem):
            return self._message(item)
        if isinstance(item, ThreadItem):
            return self._thread(item)
        if isinstance(item, FactItem):
            check_name(item.key, "the key of a fact")
            for version in item.versions:
                encode_json(version.value, "the value of a fact")
            return Checked(item, self._places.of(item.owner, item.space))
        assert isinstance(item, DocumentItem)
        check_name(item.id, "the id of a document")
        check_text(item.text, "the text of a document")
        if not item.text.strip():
            raise InvalidValue("a document needs text")
        if item.title is not None:
            check_text(item.title, "a title", limit=10_000)
        check_metadata(item.metadata)
        return Checked(item, self._places.of(item.owner, item.space))

    def _thread(self, item: ThreadItem) -> Checked:
        try:
            check_name(item.id, "the id of a thread")
            if item.title is not None:
                check_text(item.title, "the title of a thread", limit=10_000)
            check_metadata(item.metadata)
            ns = self._places.of(item.owner, item.space)
        except UsageError:
            self._refused.add(item.id)
            raise
        if len(self._spaces) >= MAX_SPACES:
            self._spaces.clear()
        self._spaces[item.id] = ns
        return Checked(item, ns)

    def _message(self, item: MessageItem) -> Checked:
        if item.thread in self._refused:
            raise InvalidValue("its thread could not be imported")
        fields = item.message
        if len(fields) > 2:
            fields = {name: value for name, value in fields.items() if name not in OURS}
        message = as_message(fields)
        if message.extra:
            encode_json([message.content, message.extra], "a message")
        elif not _is_plain(message.content):
            encode_json(message.content, "the content of a message")
        metadata: JsonObject = {"source": self._source, **item.metadata}
        if item.raw is not None:
            encode_json(item.raw, "the original of a message")
        message = _replace(message, metadata=metadata, created_at=item.created_at, raw=item.raw)
        return Checked(item, self._spaces.get(item.thread, ""), message)
