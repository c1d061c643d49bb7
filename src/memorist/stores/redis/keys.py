"""Encodes record keys as Redis keys. The org is the hash tag, and the bytes of a key sort in the same order as its
columns.

`mm:{org}:facts:user:ada␀name␀` is a row. The sorted sets `mm:{org}:@facts`, `mm:{org}:@jobs:1` and `mm:{org}:!facts`
contain the rows of a table by key, by its first index, and by expiry. Each org occupies one slot of a Cluster, so its
batches are atomic there too. Org names are percent-encoded, so that none can contain the braces of another's tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import quote

from ...errors import InvalidValue
from ...records import Key

PREFIX = "mm"
SCHEMA_KEY = b"mm:schema"
ORGS_KEY = b"mm:orgs"
WORK_KEY = b"mm:work"
ENDING_KEY = b"mm:ending"
ENDING_SEEN_KEY = b"mm:{mm:ending}:seen"
EMPTY_KEY = b"mm:{mm:orgs}:empty"
"""The orgs that had no rows, with the time at which this was found. The hash tag puts the key in the same slot as
`mm:orgs`."""
_INT_OFFSET = 1 << 63
_NUMBER_BYTES = 16
_TIME_OFFSET = 10**18
# This byte is greater than all bytes of UTF-8 and of our digits, so it ends a range. The scripts also use 0xFE, which
# separates an index member from its row's key.
AFTER_ALL = b"\xff"


@lru_cache(10_000)
def base_of(org: str) -> bytes:
    """Return the prefix of every key of an org. Braces and other special characters are percent-encoded."""
    # A Cluster hashes only what is between the first braces, so all keys with this prefix are in one slot.
    return f"{PREFIX}:{{{quote(org, safe='')}}}:".encode()


def encode_key(columns: Sequence[str | int]) -> bytes:
    """Return bytes that compare like the columns.

    Every column is terminated or has a fixed width, so none is a prefix of another.
    """
    return b"".join([_encode_column(column) for column in columns])


def _encode_column(column: str | int) -> bytes:
    return encode_text(column) if isinstance(column, str) else encode_number(column)


def encode_text(column: str) -> bytes:
    """Return a text column. NUL ends it, so the text must not contain one."""
    if "\0" in column:
        raise InvalidValue("a key contains a NUL, which no store can keep")
    try:
        return column.encode() + b"\0"
    except UnicodeEncodeError as cause:
        raise InvalidValue("a key contains a lone surrogate, which no store can keep") from cause


def encode_number(column: int) -> bytes:
    """Return a signed 64-bit column as 16 hex digits, offset so that negative numbers sort first."""
    return b"%016x" % (column + _INT_OFFSET)


def decode_key(member: bytes, is_text: Sequence[bool]) -> list[str | int]:
    """Return the columns of a member that `encode_key` created."""
    columns: list[str | int] = []
    start = 0
    for text in is_text:
        end = member.index(b"\0", start) if text else start + _NUMBER_BYTES
        part = member[start:end]
        columns.append(part.decode() if text else int(part, 16) - _INT_OFFSET)
        start = end + text  # a text is followed by its NUL
    return columns


def bounds(prefix: Key, after: Key | None, before: Key | None, starts: str | None) -> tuple[bytes, bytes]:
    """Return the range of members for a scan or a DeleteRange, with `low` included and `high` excluded."""
    # Members with equal scores are ordered by their bytes. All scores are 0, so a sorted set works like an ordered
    # index.
    head = encode_key(prefix)
    low, high = head, head + AFTER_ALL
    if starts:
        text = head + starts.encode("utf-8", "surrogatepass")
        low, high = text, text + AFTER_ALL
    if after is not None:
        low = max(low, head + encode_key(after) + AFTER_ALL)
    if before is not None:
        high = min(high, head + encode_key(before))
    return low, high


def stamp(micros: int) -> str:
    """Return a time as fixed-width digits, so that comparing them as text compares the times."""
    return f"{micros + _TIME_OFFSET:019d}"


def unstamp(text: bytes) -> int:
    """Return the microseconds of a stamp."""
    return int(text) - _TIME_OFFSET
