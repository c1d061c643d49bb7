"""Fingerprints: what is kept of a thing that must not come back, and of the id of a thing that was forgotten.

A hash is enough to know the thing again and holds nothing to read. Tombstones, epochs, jobs and the audit event of a
forgetting name things by these.
"""

from __future__ import annotations

from ...ids import digest
from ...records import Fact
from ...values import fingerprint_json


def fingerprint(*parts: str) -> str:
    """Of an id: a source, a thread, a namespace, or a learning by its namespace and id."""
    return digest("\x00".join(parts).encode("utf-8", "surrogatepass"))


def value_fingerprint(fact: Fact, source: str | None) -> str:
    """Of a fact's value, as it came from one source, or (None) whatever it came from."""
    return digest(fingerprint_json([fact.ns, fact.key, fact.value, source]))
