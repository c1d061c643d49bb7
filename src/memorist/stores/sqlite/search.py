"""Searches text with FTS5. Each term is prefixed with a code for its namespace, and no part of a query is FTS5
syntax."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

import apsw

from ...records import Entry
from ..base import EntryFilter, live
from ..codec import Row, codec
from .statements import column_names

_ENTRY_COLUMNS = ", ".join(f"e.{name}" for name in column_names(Entry))
_RANK_SQL = "bm25(entries_text, 1.0, 0.5)"
"""A term from the context (the previous turn) has half the weight."""
# The subquery sorts and limits inside FTS5, so that the join fetches at most `limit` entries. Comparing the key then
# removes entries of another namespace whose hash collides.
_FIND_SQL = (
    f"SELECT {_ENTRY_COLUMNS} FROM "
    f"(SELECT rowid AS at, {_RANK_SQL} AS score FROM entries_text WHERE entries_text MATCH ? "
    "ORDER BY score LIMIT ?) JOIN entries AS e ON e.rowid = at WHERE e.org = ? AND e.ns = ? ORDER BY score, at"
)
_FIND_KINDS = (
    f"SELECT {_ENTRY_COLUMNS} FROM entries_text AS t JOIN entries AS e ON e.rowid = t.rowid "
    "WHERE entries_text MATCH ? AND e.org = ? AND e.ns = ? AND e.kind IN ({kinds}) "
    f"ORDER BY {_RANK_SQL}, t.rowid LIMIT ?"
)
_FIND_RANKED = (
    f"SELECT {_ENTRY_COLUMNS} FROM entries_text AS t JOIN entries AS e ON e.rowid = t.rowid "
    f"WHERE entries_text MATCH ? AND e.org = ? AND e.ns = ? ORDER BY {_RANK_SQL}, t.rowid"
)
_COUNT_SQL = "SELECT doc FROM entries_terms WHERE term = ? AND col = 'terms'"
_INSERT_SQL = "INSERT OR REPLACE INTO entries_text (rowid, terms, context_terms) VALUES (?, ?, ?)"
_ROWID_SQL = "SELECT rowid FROM entries WHERE org = ? AND ns = ? AND kind = ? AND parent = ? AND id = ?"


@lru_cache(4096)
def scope_code(org: str, ns: str) -> str:
    """Return a hash of ten hex digits for an org's namespace.

    Hashes may collide, so the rows are also compared by key.
    """
    return hashlib.blake2b(f"{len(org)}:{org}{ns}".encode(), digest_size=5).hexdigest()


@lru_cache(65536)
def _safe(term: str) -> str:
    """Return a term that the ascii tokenizer keeps whole, with ASCII letters and digits unchanged and all other
    characters in hex."""
    return term if term.isascii() and term.isalnum() else f"0x{term.encode().hex()}"


def prefix_terms(org: str, ns: str, terms: str) -> str:
    """Return a string of terms, each prefixed with the code for its namespace."""
    code = scope_code(org, ns)
    return " ".join([f"{code}{_safe(term)}" for term in terms.split()])


def add_text(cursor: apsw.Cursor, entry: Entry) -> None:
    """Add an entry's terms to the index, in the transaction that writes the entry."""
    # The index is contentless: it stores only terms, under the rowid of the entry.
    (rowid,) = cursor.execute(_ROWID_SQL, entry.row_key).fetchall()[0]
    own = prefix_terms(entry.org, entry.ns, entry.terms)
    cursor.execute(_INSERT_SQL, (rowid, own, prefix_terms(entry.org, entry.ns, entry.context_terms)))


def search_text(
    cursor: apsw.Cursor, org: str, ns: str, terms: Sequence[str], limit: int, now: int, only: EntryFilter
) -> list[Entry]:
    """Return live entries that contain any of the terms and pass the filter, best first."""
    if not terms or limit < 1:
        return []
    # A prefixed term consists of letters and digits only; the quotes are a second safeguard.
    match = " OR ".join(f'"{term}"' for term in prefix_terms(org, ns, " ".join(terms)).split())
    if only.beyond_kinds:
        # Filters on metadata run in Python. The generator decodes only as many rows as it takes to reach the limit.
        ranked = (
            entry for entry in _live_entries(cursor.execute(_FIND_RANKED, (match, org, ns)), now) if only.allows(entry)
        )
        return list(islice(ranked, limit))
    if only.kinds is None:
        return list(_live_entries(cursor.execute(_FIND_SQL, (match, limit, org, ns)), now))
    sql = _FIND_KINDS.replace("{kinds}", ", ".join("?" * len(only.kinds)))
    return list(_live_entries(cursor.execute(sql, (match, org, ns, *only.kinds, limit)), now))


def _live_entries(rows: Iterable[Row], now: int) -> Iterator[Entry]:
    entry_codec, expires = codec(Entry), codec(Entry).position_of["expires_at"]
    return (entry_codec.decode(row) for row in rows if live(row[expires], now))


def term_counts(cursor: apsw.Cursor, org: str, ns: str, terms: Sequence[str]) -> dict[str, int]:
    """Return the document frequency of each term, which is the number of entries that contain it in their own text."""
    counts = {}
    for term in terms:
        row = cursor.execute(_COUNT_SQL, (prefix_terms(org, ns, term),)).fetchone()
        counts[term] = row[0] if row else 0
    return counts
