"""Checksums of evidence, made by two: the client sums up what it gives, the server seals in the numbers it gives.

So a message can be written in one round trip although only the server knows its place in the thread. Any change of any
column, the server's included, is seen on read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ...messages import Message
from ...records import Record
from ..codec import Row, checksum, codec, decoded, verify

# The same numbers as in recollect.seal() of the first migration.
_LOW = (536870909, 268435399, 402653189)
_HIGH = (134217689, 67108859, 100663319)


@cache
def sealed(kind: type[Record]) -> tuple[str, ...]:
    """The columns that the server knows best; none where there is no checksum."""
    if not kind.table.checksum:
        return ()
    names = ("seq", "expires_at", "created_at") if kind is Message else ("version", "created_at")
    return tuple(name for name in names if name in codec(kind).place)


@cache
def bare(kind: type[Record]) -> Callable[[Row], Row]:
    """Takes out of a row what the server seals in; compiled, because it is done for each row read."""
    hidden = sealed(kind)
    cells = ("None" if c.name in hidden else f"r[{i}]" for i, c in enumerate(codec(kind).columns))
    made: Callable[[Row], Row] = eval(f"lambda r: ({', '.join(cells)},)")
    return made


@cache
def seal_of(kind: type[Record]) -> Callable[[Row], int]:
    """What the server sealed into the checksum of a row."""
    place, terms = codec(kind).place, []
    for i, name in enumerate(sealed(kind)):
        full = f"(x & 2147483647) * {_LOW[i]} + ((x >> 31) & 4294967295) * {_HIGH[i]}"
        terms.append(f"({_nothing(i)} if (x := r[{place[name]}]) is None else {full})")
    terms += [str(_nothing(i)) for i in range(len(terms), 3)]
    made: Callable[[Row], int] = eval(f"lambda r: ({' + '.join(terms)}) & 4294967295")
    return made


def _nothing(place: int) -> int:
    """What a NULL in this place adds: it counts as -1."""
    return (-1 & 2147483647) * _LOW[place] + (-1 >> 31 & 4294967295) * _HIGH[place]


@cache
def reader(kind: type[Record]) -> Callable[[list[Row]], list[Any]]:
    """Records of rows as they came, checksum last; CorruptRecord where one is not what was written."""
    decode = codec(kind).decode
    if not kind.table.checksum:
        return lambda rows: _decoded(kind, rows, decode)
    strip, seal = bare(kind), seal_of(kind)

    def read(rows: list[Row]) -> list[Any]:
        for row in rows:
            if checksum(strip(row)) ^ seal(row) != row[-1]:
                verify(kind, strip(row), row[-1] ^ seal(row))
        return _decoded(kind, rows, decode)

    return read


def _decoded(kind: type[Record], rows: list[Row], decode: Callable[[Row], Any]) -> list[Any]:
    try:
        return [decode(row) for row in rows]
    except Exception:
        # Once more and one by one, for the error that names the table.
        return [decoded(kind, row) for row in rows]
