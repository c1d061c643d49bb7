"""How keys become bytes: an org is a hash tag that no id can leave, a key is text that sorts as its columns do.

`rc:{org}:facts:user:ada␀name␀` is a row, `rc:{org}:@facts` orders the rows of a table, `rc:{org}:@jobs:1` follows its
first index, `rc:{org}:!facts` knows when rows end. One org is one slot, so its batches are atomic on a Cluster too.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from ...errors import InvalidValue
from ...records import Key

PREFIX = "rc"
SCHEMA_KEY = b"rc:schema"
ORGS_KEY = b"rc:orgs"
WORK_KEY = b"rc:work"
ENDING_KEY = b"rc:ending"
EMPTY_KEY = b"rc:{rc:orgs}:empty"
"""Orgs that were found without rows, by when; in the slot of `rc:orgs`."""
_INT_OFFSET = 1 << 63
_TIME_OFFSET = 10**18
# Above every byte of UTF-8 and of our digits: what closes a range, and what parts an index member from its row.
AFTER_ALL = b"\xff"
ROW_MARK = b"\xfe"


def base_of(org: str) -> bytes:
    """What every key of an org starts with; braces and all else unusual are percent-encoded."""
    return f"{PREFIX}:{{{quote(org, safe='')}}}:".encode()


def encode_key(columns: Sequence[str | int]) -> bytes:
    """Bytes that compare as the columns do; no column is a prefix of another."""
    return b"".join([_encode_column(column) for column in columns])


def _encode_column(column: str | int) -> bytes:
    return encode_text(column) if isinstance(column, str) else encode_number(column)


def encode_text(column: str) -> bytes:
    """A text column; NUL ends it, so none may be inside."""
    if "\0" in column:
        raise InvalidValue("a key with a NUL, which no store can keep")
    try:
        return column.encode() + b"\0"
    except UnicodeEncodeError as cause:
        raise InvalidValue("a key with a lone surrogate, which no store can keep") from cause


def encode_number(column: int) -> bytes:
    """An integer column, 64 bits as fixed-width digits from the lowest on."""
    return b"%016x" % (column + _INT_OFFSET)


def bounds(prefix: Key, after: Key | None, before: Key | None, starts: str | None) -> tuple[bytes, bytes]:
    """The members from `low` (included) to `high` (excluded) that a scan or a DeleteRange means."""
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
    """A time as digits of one width: comparing them as text compares the times."""
    return f"{micros + _TIME_OFFSET:019d}"


def unstamp(text: bytes) -> int:
    """The microseconds of a stamp."""
    return int(text) - _TIME_OFFSET
