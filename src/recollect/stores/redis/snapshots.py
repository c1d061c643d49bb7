"""Looking for bytes in a server's files, strings that the server compressed in a snapshot included.

A snapshot keeps most strings over 20 bytes in LZF: a mark, the length packed, the length unpacked, the bytes. Nothing
here reads the rest of the format, which grows with every release: each place where such a string could begin is
unpacked, and what unpacks to its exact length is searched. So a needle is seen wherever it is stored whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

CHUNK = 16 << 20
LONGEST = 512 << 20
"""Of a string on a server with its settings untouched."""
_HEADER = 19
# 0xC3 means LZF; a length then begins with 00 or 01 (6 or 14 bits), 0x80 (32 bits) or 0x81 (64 bits).
_PACKED = re.compile(rb"\xc3(?=[\x00-\x81])")


def held(path: Path, needles: Sequence[bytes]) -> set[bytes]:
    """Which of the needles are in a file, as they are or packed."""
    found: set[bytes] = set()
    overlap = max([_HEADER, *map(len, needles)])
    with path.open("rb", buffering=0) as file:
        fd = file.fileno()
        start = 0
        # Read, not mapped: a file that its server cuts short meanwhile would end this process.
        while data := _read(fd, start, CHUNK + overlap):
            found |= {needle for needle in needles if needle in data}
            for text in _unpacked(fd, start, data, min(map(len, needles), default=0)):
                found |= {needle for needle in needles if needle in text}
            if len(data) <= CHUNK:
                break
            start += CHUNK
    return found


def _read(fd: int, start: int, size: int) -> bytes:
    parts = []
    while size and (part := os.pread(fd, size, start)):
        parts.append(part)
        start, size = start + len(part), size - len(part)
    return b"".join(parts)


def _unpacked(fd: int, start: int, data: bytes, shortest: int) -> Iterator[bytes]:
    """Every string that may be packed in a part of a file, where it is long enough to matter."""
    for match in _PACKED.finditer(data):
        packed, at = _length(data, match.end())
        size, at = _length(data, at)
        # The server keeps a packed string only where that saves some bytes.
        if not 0 < packed < size <= LONGEST or size < shortest:
            continue
        body = data[at : at + packed] if at + packed <= len(data) else _read(fd, start + at, packed)
        text = unpack(body, size) if len(body) == packed else None
        if text is not None:
            yield text


def _length(data: bytes, at: int) -> tuple[int, int]:
    """A length of the snapshot format and the place after it; 0 where there is none."""
    first = data[at : at + 1]
    if not first:
        return 0, at
    head = first[0]
    if head < 0x40:
        return head, at + 1
    if head < 0x80:
        return (head & 0x3F) << 8 | int.from_bytes(data[at + 1 : at + 2]), at + 2
    if head > 0x81:
        return 0, at
    width = 4 if head == 0x80 else 8
    return int.from_bytes(data[at + 1 : at + 1 + width]), at + 1 + width


def unpack(data: bytes, size: int) -> bytes | None:
    """The `size` bytes that LZF packed into `data`; None where it did not."""
    out = bytearray()
    at, end = 0, len(data)
    while at < end:
        control = data[at]
        at += 1
        if control < 32:
            out += data[at : at + control + 1]
            at += control + 1
        else:
            count = (control >> 5) + 2
            if count == 9 and at < end:
                count += data[at]
                at += 1
            if at >= end:
                return None
            back = ((control & 31) << 8 | data[at]) + 1
            at += 1
            if back > len(out):
                return None
            again = out[-back:] if back <= count else out[-back : count - back]
            out += again if len(again) == count else (again * (count // back + 1))[:count]
        if len(out) > size:
            return None
    return bytes(out) if at == end and len(out) == size else None
