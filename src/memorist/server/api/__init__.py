"""Implements the nouns that only a server has, using the memory of a request."""

from __future__ import annotations

from collections.abc import Mapping

from .analyses import Analyses
from .asked import ServerNoun
from .batches import Batches
from .entity_cache import EntityCache
from .erasing import Erasing
from .events import EventStream
from .functions import Functions
from .keys import KeyRing
from .leases import Leases
from .outbox import OutboxOf
from .transfers import Transfers
from .turns import Turns
from .watching import Watching

IMPLEMENTED: Mapping[str, type[ServerNoun]] = {
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
