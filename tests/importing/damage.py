"""Damaged sources: bytes flipped, cut, doubled, swapped; JSON with odd values in odd places."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1e308, 10**25, "", "\x00", "\ud800", "x" * 2000, [], {}, [[]], {"a": {}}, "2024-13-45", "NaN",
    [1, "two", None], {"type": "tool_use"}, "../../etc/passwd", "user:*", "💥",
)  # fmt: skip
TOKENS = (b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\u0000", b"\\ud83d", b"\x00", b"\xff", b"1e999", b"NaN", b"\n")


def damaged(source: Path, target: Path, seed: int) -> Path:
    """A copy of a source with some of it damaged; the same seed damages it the same way."""
    dice = random.Random(seed)
    copy = target / source.name
    if source.is_dir():
        shutil.copytree(source, copy)
        inside = sorted(path for path in copy.rglob("*") if path.is_file())
    else:
        shutil.copyfile(source, copy)
        inside = [copy]
    path = dice.choice(inside)
    data = path.read_bytes()
    path.write_bytes(_json(data, dice) if dice.random() < 0.5 else _bytes(data, dice))
    return copy


def _bytes(data: bytes, dice: random.Random) -> bytes:
    mutable = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 5, 20))):
        at = dice.randrange(len(mutable) + 1)
        kind = dice.randrange(6)
        if kind == 0 and at < len(mutable):
            mutable[at] ^= 1 << dice.randrange(8)
        elif kind == 1:
            del mutable[at:]
        elif kind == 2:
            mutable[at:at] = dice.choice(TOKENS)
        elif kind == 3:
            del mutable[at : at + dice.randrange(1, 40)]
        elif kind == 4:
            mutable[at:at] = mutable[max(0, at - dice.randrange(200)) : at]
        else:
            mutable[at : at + 4] = dice.randbytes(4)
    return bytes(mutable)


def _json(data: bytes, dice: random.Random) -> bytes:
    """Some values of the JSON inside replaced by odd ones; bytes where it is no JSON."""
    lines = data.split(b"\n")
    at = dice.randrange(len(lines))
    for part, whole in ((data, True), (lines[at], False)):
        try:
            value = json.loads(part)
        except ValueError:
            continue
        for _ in range(dice.choice((1, 1, 3))):
            value = _changed(value, dice)
        written = json.dumps(value).encode()
        return written if whole else b"\n".join([*lines[:at], written, *lines[at + 1 :]])
    return _bytes(data, dice)


def _changed(value: Any, dice: random.Random) -> Any:
    places = list(_places(value))
    if not places or dice.random() < 0.02:
        return copy.deepcopy(dice.choice(ODD))
    holder, key = dice.choice(places)
    if isinstance(holder, dict) and dice.random() < 0.3:
        del holder[key]
    else:
        holder[key] = copy.deepcopy(dice.choice(ODD))
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    listed = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(listed):
        yield value, key
        yield from _places(inner)
