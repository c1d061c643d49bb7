"""The version of our keys on a server, kept under one key, so that a program stops where a newer one wrote."""

from __future__ import annotations

from ...errors import SchemaError
from ..migrations import refuse_newer
from .connection import Client
from .keys import SCHEMA_KEY

SCHEMA = 1
NEEDS = 1
"""The schema that a program must know to use what this one writes; both numbers are kept on the server."""


async def prepare(client: Client) -> None:
    """Write down our version on a new server; refuse one where a newer program said that we cannot read its rows."""
    found = await client.command(SCHEMA_KEY, b"GET", SCHEMA_KEY)
    if found is None:
        await client.command(SCHEMA_KEY, b"SET", SCHEMA_KEY, b"%d %d" % (SCHEMA, NEEDS), b"NX")
        return
    parts = bytes(found).split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise SchemaError("the key rc:schema of this Redis is not ours; use another server or database number")
    refuse_newer(int(parts[0]), int(parts[1]), SCHEMA)
