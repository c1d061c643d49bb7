"""Provides a fast path for reading pages of plain messages.

Most messages contain only text, or text and the original that an adapter stores (`raw`). Fetching 17 columns, nine of
them empty, takes longer than reading the message itself, so one computed flag replaces the nine. If any message on a
page contains more than that, the page is read again in full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from zlib import crc32

import msgspec

from ...messages.message import Message
from ...ports import MAX_EXACT_FLOAT_MICROS
from ..codec import Row, codec, pack

_PLAIN = ("seq", "role", "content", "tokens", "created_at", "raw", "crc")
_REST = [name for name in codec(Message).names if name not in (*_PLAIN, "org", "thread", "pinned")]
_cells = ", ".join("0" if n == "pinned" else "None" if n in _REST else n for n in codec(Message).names)
# One function handles a whole page, because a separate call per row would account for a tenth of the time.
_sums: Callable[[str, str, Sequence[Row]], list[int]] = eval(
    f"lambda org, thread, rows: [base | crc32(pack(({_cells},))) for {', '.join(_PLAIN)}, _ in rows]",
    {"base": codec(Message).sum_base, "crc32": crc32, "pack": pack},
)
"""Computes the checksums of the full rows, with all other cells empty."""
_load = msgspec.json.Decoder().decode


@cache
def plain_columns(sql: str) -> str:
    """Return the same scan over the plain columns, and one more column that is NULL if all other columns are empty."""
    _, _, tail = sql.partition(" FROM ")
    return f"SELECT {', '.join(_PLAIN)}, coalesce(nullif(pinned, 0), {', '.join(_REST)}) FROM {tail}"


def plain_messages(prefix: Row, rows: Sequence[Row]) -> list[Message] | None:
    """Return the messages of a page.

    Return None if one of them contains more than text and original, or has a wrong checksum. The page must then be read
    in full.
    """
    org, thread = prefix
    if [row[6] for row in rows] != _sums(org, thread, rows):
        return None
    out: list[Message] = []
    when, add = datetime.fromtimestamp, out.append
    before, at = None, None  # messages that were appended together have the same time, which is converted only once
    for seq, role, content, tokens, created, raw, _, rest in rows:
        if rest is not None or created is None or not 0 <= created < MAX_EXACT_FLOAT_MICROS:
            return None
        # JSON text without a backslash needs no decoding, only its quotes removed.
        text = content[1:-1] if content[0] == '"' and "\\" not in content else _load(content)
        if created != before:
            before, at = created, when(created / 1e6, UTC)
        original = None if raw is None else _load(raw)
        add(
            Message(
                org=org, thread=thread, seq=seq, role=role, content=text, tokens=tokens, created_at=at, raw=original
            )
        )
    return out
