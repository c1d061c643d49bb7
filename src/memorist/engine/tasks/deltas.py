"""Computes deltas between two versions of a long text, from which the saved steps of a task are made.

A delta is a list of edits: a text is inserted, a pair `(start, length)` is copied from the old text. Texts are
compared, not objects: that is exact (1 is not 1.0, and key order counts), and as fast as comparing memory.
"""

from __future__ import annotations

import msgspec

Edit = str | tuple[int, int]
Edits = list[Edit]

ANCHOR = 24
"""The shortest common run that is copied: a shorter one costs more to reference than to repeat."""
_MAX_DEPTH = 12
_NEAR = (0, 8, 32, 128)
_FAR = (4, 2, 6, 1, 3, 5, 7)

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[str | tuple[int, int]]).decode


def diff(before: str, after: str) -> Edits:
    """Edits that turn one text into the other."""
    edits: Edits = []
    add_diff(edits, 0, before, after)
    return edits


def add_diff(edits: Edits, offset: int, before: str, after: str) -> None:
    """Add the edits for a piece that lies at `offset` of the whole old text."""
    _diff(_Pair(before, after, offset, edits), 0, len(before), 0, len(after), 0)


def add_copy(edits: Edits, start: int, size: int) -> None:
    """Copy a run of the old text; adjacent runs become one."""
    if size <= 0:
        return
    last = edits[-1] if edits else None
    if isinstance(last, tuple) and last[0] + last[1] == start:
        edits[-1] = (last[0], last[1] + size)
    else:
        edits.append((start, size))


def add_insert(edits: Edits, text: str) -> None:
    """Insert new text."""
    if not text:
        return
    last = edits[-1] if edits else None
    if isinstance(last, str):
        edits[-1] = last + text
    else:
        edits.append(text)


def patch(before: str, edits: Edits) -> str:
    """The text after the edits."""
    return "".join([edit if isinstance(edit, str) else before[edit[0] : edit[0] + edit[1]] for edit in edits])


def encode_edits(edits: Edits) -> str:
    """Edits as JSON text."""
    return _encode(edits).decode()


def decode_edits(text: str) -> Edits:
    """Edits from JSON text; damage raises msgspec.MsgspecError."""
    return _decode(text)


class _Pair(msgspec.Struct):
    old: str
    new: str
    offset: int
    out: Edits


def _diff(pair: _Pair, o0: int, o1: int, n0: int, n1: int, depth: int) -> None:
    """Edits from old[o0:o1] to new[n0:n1]: common head and tail first, then recursively around a common run between."""
    head = _common_head(pair.old, o0, o1, pair.new, n0, n1)
    add_copy(pair.out, pair.offset + o0, head)
    o0, n0 = o0 + head, n0 + head
    tail = _common_tail(pair.old, o0, o1, pair.new, n0, n1)
    o2, n2 = o1 - tail, n1 - tail
    if n2 > n0:
        run = _common_run(pair.old, o0, o2, pair.new, n0, n2) if depth < _MAX_DEPTH else None
        if run is None:
            add_insert(pair.out, pair.new[n0:n2])
        else:
            at_old, at_new, size = run
            _diff(pair, o0, at_old, n0, at_new, depth + 1)
            add_copy(pair.out, pair.offset + at_old, size)
            _diff(pair, at_old + size, o2, at_new + size, n2, depth + 1)
    add_copy(pair.out, pair.offset + o2, tail)


def _common_head(old: str, o0: int, o1: int, new: str, n0: int, n1: int) -> int:
    """The length of the common head, by binary search: comparing slices is far faster than single characters."""
    low, high = 0, min(o1 - o0, n1 - n0)
    if old[o0 : o0 + high] == new[n0 : n0 + high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if old[o0 + low : o0 + middle] == new[n0 + low : n0 + middle]:
            low = middle
        else:
            high = middle
    return low


def _common_tail(old: str, o0: int, o1: int, new: str, n0: int, n1: int) -> int:
    """The length of the common tail."""
    low, high = 0, min(o1 - o0, n1 - n0)
    if old[o1 - high : o1] == new[n1 - high : n1]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if old[o1 - middle : o1 - low] == new[n1 - middle : n1 - low]:
            low = middle
        else:
            high = middle
    return low


def _common_run(old: str, o0: int, o1: int, new: str, n0: int, n1: int) -> tuple[int, int, int] | None:
    """The longest of a few common runs: near the first difference, or anywhere in the middle."""
    room = o1 - o0 - ANCHOR
    if room < 0 or n1 - n0 < ANCHOR:
        return None
    best: tuple[int, int, int] | None = None
    # Most edits are short, so search nearby first; repetitive text might otherwise match at the wrong place.
    for gap in _NEAR:
        if gap <= room:
            best = _longer(best, _widened(old, o0, o1, new, n0, n1, o0 + gap, n0 + 2 * gap + 2 * ANCHOR + 64))
    if best is not None and 4 * best[2] >= o1 - o0:
        return best
    for eighth in _FAR:
        best = _longer(best, _widened(old, o0, o1, new, n0, n1, o0 + room * eighth // 8, n1))
        if best is not None and 4 * best[2] >= o1 - o0:
            return best
    return best


def _widened(
    old: str, o0: int, o1: int, new: str, n0: int, n1: int, at_old: int, until: int
) -> tuple[int, int, int] | None:
    """The run around the anchor at `at_old`, found in the new text and extended to both sides while the texts agree."""
    at_new = new.find(old[at_old : at_old + ANCHOR], n0, min(until, n1))
    if at_new < 0:
        return None
    left = _common_tail(old, o0, at_old, new, n0, at_new)
    right = _common_head(old, at_old, o1, new, at_new, n1)
    return at_old - left, at_new - left, left + right


def _longer(one: tuple[int, int, int] | None, other: tuple[int, int, int] | None) -> tuple[int, int, int] | None:
    if one is None or other is None:
        return one or other
    return other if other[2] > one[2] else one
