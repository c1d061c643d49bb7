"""Fingerprints: hashes that identify values which must not come back, and ids of things that were forgotten.

A hash is enough to recognise the thing, and reveals nothing of it. Tombstones, epochs, jobs and the audit event of a
forgetting name things by these.
"""

from __future__ import annotations

from ...ids import digest
from ...records import Fact
from ...values import fingerprint_json


def fingerprint(*parts: str) -> str:
    """The fingerprint of an id: a source, a thread, a namespace, or a learning by its namespace and id."""
    return digest("\x00".join(parts).encode("utf-8", "surrogatepass"))


def value_fingerprint(fact: Fact, source: str | None) -> str:
    """The fingerprint of a fact's value from one source, or from any source (None)."""
    return digest(fingerprint_json([fact.ns, fact.key, fact.value, source]))
