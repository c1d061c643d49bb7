"""Records the schema version under one key on the server, so that an old program refuses data it cannot read."""

from __future__ import annotations

from ...errors import SchemaError
from ..migrations import refuse_newer
from .connection import Client
from .keys import SCHEMA_KEY

SCHEMA = 1
OLDEST_READING_SCHEMA = 1
"""The oldest schema that a program must know to use data written by this version. Both numbers are stored on the
server."""


async def prepare(client: Client) -> None:
    """Record our schema version on a new server. Raises SchemaError if this version cannot read the server's rows."""
    stored = await client.command(SCHEMA_KEY, "GET", SCHEMA_KEY)
    if stored is None:
        # NX: of several processes that open a new server at once, the first one writes its version.
        await client.command(SCHEMA_KEY, "SET", SCHEMA_KEY, b"%d %d" % (SCHEMA, OLDEST_READING_SCHEMA), "NX")
        return
    parts = bytes(stored).split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise SchemaError(
            "the key mm:schema on this Redis was not written by Memorist; use another server or database number"
        )
    refuse_newer(int(parts[0]), int(parts[1]), SCHEMA)
