"""Represents the state of a task as one JSON text per top-level key, so that a step can be stored as a patch to a few
keys.

A patch is what `update=` and `extend=` describe: it sets keys, appends to lists, and drops keys. For a whole state, it
comes from comparing the texts of the keys. Comparing texts instead of objects is exact (1 is not 1.0) and as fast as
comparing bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping

import msgspec

from ...values import ENCODING_ERRORS, MAX_VALUE_BYTES, json_bytes

COMPRESSED_FROM_BYTES = 512
"""Compression would hardly shorten texts smaller than this."""
_encode = msgspec.json.Encoder().encode
_as_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_as_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


class _Patch(msgspec.Struct, frozen=True):
    set: dict[str, msgspec.Raw] = {}
    add: dict[str, msgspec.Raw] = {}
    """The lists of items to append."""
    drop: tuple[str, ...] = ()


_as_patch = msgspec.json.Decoder(_Patch).decode


class State(msgspec.Struct, frozen=True):
    """Represents one immutable saved state: the text of each key of an object, or the `whole` text of another value."""

    keys: dict[str, bytes] = {}
    whole: bytes = b""

    @classmethod
    def of(cls, value: object) -> State:
        """Return the state of a value. Raises InvalidValue if JSON cannot express it exactly."""
        return cls.read(_text(value))

    @classmethod
    def read(cls, text: bytes) -> State:
        """Return a state from its JSON text."""
        return cls({key: bytes(raw) for key, raw in _as_keys(text).items()}) if text[:1] == b"{" else cls({}, text)

    def text(self) -> bytes:
        """Return the whole JSON text."""
        return self.whole or b"{%b}" % b",".join([_encode(key) + b":" + text for key, text in self.keys.items()])

    def size(self) -> int:
        """Return the length of the JSON text without composing it."""
        return len(self.whole) + sum(map(len, self.keys)) + sum(map(len, self.keys.values())) + 4 * len(self.keys)

    def patched(self, patch: bytes) -> State:
        """Return the state after a patch. Raises KeyError if the patch extends a list that the state does not have."""
        changes = _as_patch(patch)
        keys = {key: text for key, text in self.keys.items() if key not in changes.drop}
        keys |= {key: _joined(keys[key], bytes(items)) for key, items in changes.add.items()}
        keys |= {key: bytes(raw) for key, raw in changes.set.items()}
        return State(keys, self.whole)

    def can_extend(self, keys: Iterable[str]) -> bool:
        """Return whether the state is an object with a list under each of these keys."""
        return not self.whole and all(self.keys.get(key, b"")[:1] == b"[" for key in keys)

    def patch_to(self, value: object) -> bytes | None:
        """Return the patch that leads to a later value, or None if only a snapshot can express it."""
        if self.whole or type(value) is not dict:
            return b"{}" if _text(value) == self.whole else None
        retained = [key for key in self.keys if key in value]
        # A patch leaves the keys in their order and adds new ones at the end.
        if retained != list(value)[: len(retained)]:
            return None
        update, extend = {}, {}
        for key, item in value.items():
            before = self.keys.get(key, b"")
            try:
                # Items that were saved before are not validated again, because that would take most of the time.
                text = _encode(item) if type(item) in (list, dict) else _text(item)
            except ENCODING_ERRORS:
                return None  # the snapshot refuses it
            end = len(before) - 1
            # The old items of a list that only grew end before a comma at its own level, so no item is cut in half.
            if type(item) is list and end > 1 and text[end : end + 1] == b"," and text.startswith(before[:end]):
                extend[key] = item[-len(_as_items(b"[" + text[end + 1 :])) :]
            elif text != before:
                update[key] = item
        return patch_of(update, extend, [key for key in self.keys if key not in value])


def patch_of(update: Mapping[str, object], extend: Mapping[str, list[object]], drop: list[str] | None = None) -> bytes:
    """Return the JSON text of a patch. Raises InvalidValue if JSON cannot express a value exactly."""
    parts = {b"set": update, b"add": {key: items for key, items in extend.items() if items}, b"drop": drop}
    return b"{%b}" % b",".join([b'"%b":%b' % (name, _text(part)) for name, part in parts.items() if part])


def pack(text: bytes) -> bytes:
    """Return a text in its stored form, compressed if it is long; `CheckpointStep.text` reads it."""
    return zlib.compress(text, 1) if len(text) >= COMPRESSED_FROM_BYTES else text


def _text(value: object) -> bytes:
    return json_bytes(value, "state", MAX_VALUE_BYTES)


def _joined(items: bytes, more: bytes) -> bytes:
    return more if items == b"[]" else b"%b,%b" % (items[:-1], more[1:])
