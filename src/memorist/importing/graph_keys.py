"""Defines the keys of facts that form a graph: `entity/<name>`, and `relation/<from>/<type>/<to>`.

The graph tools of the MCP server and the importer of such graphs share them.
"""

from __future__ import annotations

import hashlib

ENTITY = "entity/"
RELATION = "relation/"
_MAX_NAME_BYTES = 400
"""The maximum length, in bytes, of a name that is written into its key. A key is at most 512 bytes long."""


def entity_key(name: str) -> str:
    """Return the key of an entity."""
    return _key(ENTITY, name)


def relation_key(start: str, kind: str, end: str) -> str:
    """Return the key of a relation. Slashes inside its parts are escaped, so that no two relations share a key."""
    return _key(RELATION, *(part.replace("%", "%25").replace("/", "%2F") for part in (start, kind, end)))


def _key(beginning: str, *parts: str) -> str:
    """Return a key that consists of names.

    Names that are too long or not allowed in a key are replaced by their digest. The value contains them in full.
    """
    key = "/".join(parts)
    data = key.encode("utf-8", "surrogatepass")
    if len(data) > _MAX_NAME_BYTES or "\x00" in key or any("\ud800" <= character <= "\udfff" for character in key):
        return f"{beginning}#{hashlib.sha256(data).hexdigest()}"
    return beginning + key
