"""Translates Postgres errors into ours, by their SQLSTATE."""

from __future__ import annotations

from ...errors import (
    CorruptRecord,
    MemoristError,
    SchemaError,
    StoreError,
    StoreTimeout,
    StoreUnavailable,
    TooLarge,
    UnknownOutcome,
)
from .options import Options
from .pipeline import POOLER_SQLSTATES, Failed, Lost

_NO_WRITES = ("53100", "25006")
"""SQLSTATEs of a server that cannot write because its disk is full or because it is a standby or read-only."""


def broken(lost: Lost, options: Options, *, unsure: bool) -> MemoristError:
    """Return the error for a broken connection. `unsure` means that a write may have been committed."""
    address = options.address
    if unsure:
        return UnknownOutcome(f"the connection to {address} broke before the reply came; read before writing again")
    if lost.slow:
        return StoreTimeout(f"Postgres at {address} did not answer in time")
    return StoreUnavailable(f"the connection to {address} keeps breaking", place=address)


def refused(failed: Failed, options: Options) -> MemoristError:
    """Return the error for a failed statement, by its SQLSTATE."""
    # The server's own message is left out, because it may quote values.
    state, address = failed.state, options.address
    if state == "57014":
        return StoreTimeout(f"Postgres ended a statement after {options.statement_timeout:g} s")
    if state == "55P03":
        return StoreTimeout(f"a row stayed locked for {options.lock_timeout:g} s; another writer holds it")
    if state in ("54000", "22001"):
        return TooLarge("a key is too long for an index of Postgres; use shorter ids")
    if state in POOLER_SQLSTATES:
        return StoreError("a pooler mixes up prepared statements; add memorist_prepare=off to the URL")
    if state in ("3F000", "42P01", "42883", "42703"):
        return SchemaError("tables are missing or have another version; run: memorist migrate")
    if state == "42501":
        return SchemaError("the database user lacks rights; grant it memorist_app, and memorist_worker to workers")
    if state.startswith(("XX001", "XX002")):
        return CorruptRecord(f"Postgres reports damaged pages ({state}); restore a backup")
    # Classes 57P and 08 mean that the server stops or the connection broke, and 53 that it lacks a resource.
    if failed.fatal or state.startswith(("57P", "08", "53", "25006")):
        facts: dict[str, object] = {"refuses_writes": True} if state in _NO_WRITES else {}
        text = f"Postgres at {address} cannot serve requests now ({state}: {failed.message})"
        return StoreUnavailable(text, place=address, **facts)
    return StoreError(f"Postgres failed ({state})")
