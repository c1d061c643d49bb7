"""Represents the state of a task as one JSON text per top-level key, so that a step can be stored as a patch to a few
keys.

A patch sets keys, appends to lists, and drops keys. It comes from `update=` and `extend=`, or from comparing the texts
of two states. Comparing texts instead of objects is exact (1 is not 1.0) and as fast as comparing bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import msgspec

from ...errors import InvalidValue, TooLarge
from ...values import MAX_VALUE_BYTES, json_bytes

COMPRESSED_FROM_BYTES = 512
"""Compression would hardly shorten texts smaller than this."""
encode = msgspec.json.Encoder().encode
_as_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_as_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Patch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds the change from one state to the next, by top-level key."""

    set: dict[str, msgspec.Raw] = {}
    add: dict[str, msgspec.Raw] = {}
    """The lists of items to append."""
    drop: list[str] = []


decode_patch = msgspec.json.Decoder(Patch).decode


class State(msgspec.Struct, frozen=True):
    """Represents one immutable saved state: the text of each key of an object, or the `whole` text of another value."""

    keys: dict[str, bytes] = {}
    whole: bytes = b""

    @classmethod
    def read(cls, text: bytes) -> State:
        """Return a state from its JSON text."""
        return cls({key: bytes(raw) for key, raw in _as_keys(text).items()}) if text[:1] == b"{" else cls({}, text)

    def text(self) -> bytes:
        """Return the whole JSON text."""
        return self.whole or b"{%b}" % b",".join([encode(key) + b":" + text for key, text in self.keys.items()])

    def patched(self, patch: Patch) -> State:
        """Return the state after a patch. Raises KeyError if the patch extends a list that the state does not have."""
        keys = {key: text for key, text in self.keys.items() if key not in patch.drop}
        keys |= {key: _joined(keys[key], bytes(items)) for key, items in patch.add.items()}
        keys |= {key: bytes(raw) for key, raw in patch.set.items()}
        size = sum(map(len, keys.values())) + sum(map(len, keys)) + 4 * len(keys)
        if size > MAX_VALUE_BYTES:
            raise TooLarge(f"state takes {size} bytes; the limit is {MAX_VALUE_BYTES}")
        return State(keys, self.whole)

    def changed(self, update: Mapping[str, object], extend: Mapping[str, list[object]]) -> Patch | None:
        """Return the patch that `update` and `extend` describe, or None if the state has no such list to extend."""
        if self.whole or any(self.keys.get(key, b"")[:1] != b"[" for key in extend):
            return None
        added = {key: msgspec.Raw(_text(items)) for key, items in extend.items() if items and key not in update}
        return Patch({key: msgspec.Raw(_text(value)) for key, value in update.items()}, added)

    def replaced(self, value: object) -> tuple[State, Patch | None]:
        """Return the state of a new value, and the patch that leads to it, or None if only a snapshot can express it.

        Everything that differs from this state is validated.
        """
        if type(value) is not dict:
            after = State({}, _text(value))
            return after, Patch() if after == self else None
        if not all(type(key) is str for key in value):
            raise InvalidValue("state has a key that is not text")
        patch = Patch({}, {}, [key for key in self.keys if key not in value])
        for key, item in value.items():
            before = self.keys.get(key, b"")
            text, added = _text_after(before, item)
            if added:
                patch.add[key] = msgspec.Raw(added)
            elif text != before:
                patch.set[key] = msgspec.Raw(text)
        keys = self.patched(patch).keys
        # A patch adds new keys at the end, so it cannot express another order, but a snapshot can.
        is_exact = not self.whole and list(keys) == list(value)
        return State({key: keys[key] for key in value}), patch if is_exact else None


def pack(text: bytes) -> bytes:
    """Return a text in its stored form, compressed if it is long."""
    return zlib.compress(text, 1) if len(text) >= COMPRESSED_FROM_BYTES else text


def unpack(body: bytes) -> bytes:
    """Return the text of a stored body. A damaged body raises zlib.error."""
    # JSON never begins with an x, and zlib's output always does.
    return zlib.decompress(body) if body[:1] == b"x" else body


def _text(value: object) -> bytes:
    return json_bytes(value, "state", MAX_VALUE_BYTES)


def _text_after(before: bytes, value: object) -> tuple[bytes, bytes]:
    """Return the text of a later value of a key, and the text of the appended items if it is a list that only grew.

    Items that were saved before are not validated again, because that would take most of the time.
    """
    try:
        text = encode(value) if type(value) in (list, dict) else b""
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        text = b""
    if text and text == before:
        return before, b""
    end = len(before) - 1
    # The items of a list that only grew are followed by a comma at the list's own level, so no item is cut in half.
    if end > 1 and type(value) is list and text[end : end + 1] == b"," and text.startswith(before[:end]):
        added = b"[" + text[end + 1 :]
        _text(value[-len(_as_items(added)) :])
        return text, added
    return _text(value), b""


def _joined(items: bytes, more: bytes) -> bytes:
    return more if items == b"[]" else b"%b,%b" % (items[:-1], more[1:])
