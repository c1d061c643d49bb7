"""Contains the nouns that only a server has. Each uses the memory of a request and, through it, the server.

Their methods are declared here once, like those of the engine's nouns. The table of operations, the client and the
OpenAPI document read the same signatures, so this package imports neither the server nor a web framework.
"""

from __future__ import annotations

from collections.abc import Mapping

from .analyses import Analyses
from .batches import Batches
from .caller import ServerNoun
from .entity_cache import EntityCache
from .erasing import Erasing
from .event_stream import EventStream
from .functions import Functions
from .keys import KeyRing
from .leases import Leases
from .outbox import OutboxOf
from .transfers import Transfers
from .turns import Turns
from .watching import Watching

SERVER_NOUNS: Mapping[str, type[ServerNoun]] = {
    "keys": KeyRing,
    "batches": Batches,
    "leases": Leases,
    "entity_cache": EntityCache,
    "turns": Turns,
    "functions": Functions,
    "erasing": Erasing,
    "outbox": OutboxOf,
    "transfers": Transfers,
    "stream": EventStream,
    "analyses": Analyses,
    "watching": Watching,
}
"""The classes by the name of the noun."""
