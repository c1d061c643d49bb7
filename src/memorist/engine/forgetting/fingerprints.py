"""Computes fingerprints: hashes that identify forgotten things, and values that must not come back.

A hash is enough to recognise a thing but reveals nothing about it. Tombstones, epochs, jobs and the audit event of an
erasure identify things by their fingerprints.
"""

from __future__ import annotations

from ...ids import digest
from ...records import Fact, Ref
from ...values import fingerprint_json


def fingerprint(*parts: str) -> str:
    """Return the fingerprint of an id. For a learning, pass its namespace, id and source."""
    return digest("\x00".join(parts).encode("utf-8", "surrogatepass"))


def ref_fingerprint(ref: Ref) -> str:
    """Return the fingerprint of a reference.

    It does not include the kind, because a caller who names a source may not know it.
    """
    return fingerprint(ref.ns, ref.key, ref.part)


def value_fingerprint(fact: Fact, source: str | None) -> str:
    """Return the fingerprint of a fact's value from one source, or from none."""
    return digest(fingerprint_json([fact.ns, fact.key, fact.value, source]))
