"""Represents the state of a task as one JSON text per top-level key, so that a step can be stored as a patch to a few
keys.

A patch sets keys, appends to lists, and drops keys. It comes from `update=` and `extend=`, or from comparing the texts
of two states. Comparing texts instead of objects is exact (1 is not 1.0) and as fast as comparing bytes. Long texts are
compressed; JSON never begins with zlib's first byte.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import msgspec

from ...errors import InvalidValue, TooLarge
from ...values import MAX_VALUE_BYTES, json_bytes

COMPRESSED_FROM_BYTES = 512
"""Compression would hardly shorten texts smaller than this."""
ZLIB = b"x"
_encode = msgspec.json.Encoder().encode
_as_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_as_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
Texts = dict[str, bytes]


class Patch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds the change from one state to the next, by top-level key."""

    set: dict[str, msgspec.Raw] = {}
    add: dict[str, msgspec.Raw] = {}
    """The lists of items to append."""
    drop: list[str] = []


_as_patch = msgspec.json.Decoder(Patch).decode


class State(msgspec.Struct, frozen=True):
    """Represents one immutable saved state. It has `keys` if the state is an object, or otherwise its `whole` text."""

    keys: Texts | None = None
    whole: bytes = b"null"

    @classmethod
    def of(cls, value: object, before: State | None = None) -> State:
        """Return the texts of a state. Everything that differs from `before` is validated."""
        if type(value) is not dict:
            return cls(None, json_bytes(value, "state", MAX_VALUE_BYTES))
        if not all(type(key) is str for key in value):
            raise InvalidValue("state has a key that is not text")
        old = (before and before.keys) or {}
        return cls(_checked({key: _text_after(old.get(key), item) for key, item in value.items()}))

    @classmethod
    def read(cls, text: bytes) -> State:
        """Return a state from its JSON text."""
        return cls({key: bytes(raw) for key, raw in _as_keys(text).items()}) if text[:1] == b"{" else cls(None, text)

    def text(self) -> bytes:
        """Return the whole JSON text."""
        if self.keys is None:
            return self.whole
        return b"{%b}" % b",".join([_encode(key) + b":" + text for key, text in self.keys.items()])

    def patched(self, patch: Patch) -> State:
        """Return the state after a patch."""
        if self.keys is None and patch == Patch():
            return self
        keys = {key: text for key, text in (self.keys or {}).items() if key not in patch.drop}
        keys |= {key: _joined(keys[key], bytes(items)) for key, items in patch.add.items()}
        return State(_checked(keys | {key: bytes(raw) for key, raw in patch.set.items()}))

    def changed(self, update: Mapping[str, object], extend: Mapping[str, list[object]]) -> Patch | None:
        """Return the patch that `update` and `extend` describe, or None if the state has no such list to extend."""
        keys = self.keys
        if keys is None or any(keys.get(key, b"")[:1] != b"[" for key in extend):
            return None
        added = {key: msgspec.Raw(_text(items)) for key, items in extend.items() if items and key not in update}
        return Patch({key: msgspec.Raw(_text(value)) for key, value in update.items()}, added)

    def patch_to(self, after: State) -> Patch | None:
        """Return the patch to a later state, or None if the states are not objects or the order of their keys
        differs.
        """
        if self.keys is None or after.keys is None:
            return Patch() if self == after else None
        patch = Patch({}, {}, [key for key in self.keys if key not in after.keys])
        for key, text in after.keys.items():
            before = self.keys.get(key)
            if before == text:
                continue
            if before is not None and len(before) > 2 and _is_longer_list(before, text):
                patch.add[key] = msgspec.Raw(b"[" + text[len(before) :])
            else:
                patch.set[key] = msgspec.Raw(text)
        # A patch adds new keys at the end, so it cannot express another order, but a snapshot can.
        order = [key for key in self.keys if key in after.keys] + [key for key in after.keys if key not in self.keys]
        return patch if order == list(after.keys) else None


def encode_patch(patch: Patch) -> bytes:
    """Return a patch as JSON text."""
    return _encode(patch)


def decode_patch(text: bytes) -> Patch:
    """Return a patch from JSON text. Damaged text raises msgspec.MsgspecError."""
    return _as_patch(text)


def pack(text: bytes) -> bytes:
    """Return a text in its stored form, compressed if it is long."""
    return zlib.compress(text, 1) if len(text) >= COMPRESSED_FROM_BYTES else text


def unpack(body: bytes) -> bytes:
    """Return the text of a stored body. A damaged body raises zlib.error."""
    return zlib.decompress(body) if body[:1] == ZLIB else body


def _text(value: object) -> bytes:
    return json_bytes(value, "state", MAX_VALUE_BYTES)


def _text_after(before: bytes | None, value: object) -> bytes:
    """Return the text of a later value. If a list has only grown, its old items are not validated again, because that
    would take most of the time.
    """
    if before is None or type(value) not in (list, dict):
        return _text(value)
    try:
        text = _encode(value)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return _text(value)  # raises what is wrong
    if text == before:
        return before
    if type(value) is list and len(before) > 2 and _is_longer_list(before, text):
        _text(value[-len(_as_items(b"[" + text[len(before) :])) :])
        return text
    return _text(value)


def _checked(keys: Texts) -> Texts:
    size = sum(map(len, keys.values())) + sum(map(len, keys)) + 4 * len(keys)
    if size > MAX_VALUE_BYTES:
        raise TooLarge(f"state takes {size} bytes; the limit is {MAX_VALUE_BYTES}")
    return keys


def _joined(items: bytes, more: bytes) -> bytes:
    return more if items == b"[]" else b"%b,%b" % (items[:-1], more[1:])


def _is_longer_list(before: bytes, after: bytes) -> bool:
    """Return whether items were only appended to a list. In that case, the old items are followed by a comma at the
    list's own level.
    """
    end = len(before) - 1
    return before[:1] == b"[" and after[end : end + 1] == b"," and after.startswith(before[:end])
