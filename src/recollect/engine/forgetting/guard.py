"""The guard between deriving and forgetting: nothing derived is written once its source was forgotten.

Each source (a thread, a document, a fact) has an epoch: a versioned mark under the fingerprint of its id. Whoever
derives something reads the epochs of its sources *before* it reads the sources, and expects them unchanged in the
transaction that writes the result. Forgetting removes a thing and raises its epoch in one transaction, and looks for
what was derived from it only after that. So a derived write either committed before, and its link is found, or it is
refused.

An epoch row is made by the first derived write, since a row that is not there cannot be locked on Postgres; from
version 2 on something of that source was forgotten or deleted. `docs/decisions/0010-forgetting.md` has the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from ...errors import Conflict
from ...kinds import LINKED
from ...records import Document, Link, Mark, Thread, Tombstone
from ...stores.base import Change, Expect, Put
from ..core import Core
from .fingerprints import fingerprint

EPOCH = "epoch"
IMPORT = "import"
"""The kind of links from the name of an import to the threads that came from it."""
OWNED = ("thread", "document")
"""Kinds of links from a namespace to something in it whose own id does not tell the namespace."""


class Guard(msgspec.Struct, frozen=True):
    """What a derived write commits along with itself, and whether it must not be written at all."""

    changes: tuple[Change, ...] = ()
    forgotten: bool = False

    def caused(self, conflict: Conflict) -> bool:
        """Whether a conflict means that a source was forgotten meanwhile, rather than that the row moved on."""
        return any(isinstance(change, Expect) and change.key == conflict.facts.get("key") for change in self.changes)


def owner_of(source: str) -> str:
    """What a source is part of: the thread of a message or summary, the document of a chunk; else itself."""
    return source.rpartition("#")[0] or source


def imported_marks(thread: str) -> str:
    """The name of the marks that keep which messages were imported into a thread."""
    return f"imported:{thread}"


async def epochs(core: Core, *things: str) -> list[Change]:
    """Changes that hold only while none of these threads, documents, facts or namespaces is forgotten; to be read
    before the things are."""
    return (await _held(core, list(dict.fromkeys(map(fingerprint, things)))))[0]


async def guard(core: Core, sources: Sequence[str], *, since: datetime | None = None) -> Guard:
    """The guard of something derived from sources: their epochs, and whether one of them was forgotten already.

    A source that was forgotten and is there again counts as forgotten where it happened after `since`.
    """
    if not sources:
        return Guard()
    owners = list(dict.fromkeys(fingerprint(owner_of(source)) for source in sources))
    changes, raised = await _held(core, owners)
    suspects = [source for source in sources if fingerprint(owner_of(source)) in raised]
    return Guard(tuple(changes), bool(suspects) and await forgotten(core, suspects, since=since))


async def _held(core: Core, owners: list[str]) -> tuple[list[Change], set[str]]:
    """The epochs of owners as expectations, and which of them were ever raised."""
    rows = await core.get_many(Mark, [(EPOCH, owner) for owner in owners])
    changes: list[Change] = []
    for owner, row in zip(owners, rows, strict=True):
        mark = _epoch(core, owner)
        changes += [Put(mark, absent=True), Expect(Mark, mark.row_key, row.version if row else 1)]
    return changes, {row.item for row in rows if row is not None and row.version > 1}


def raised(core: Core, *ids: str) -> list[Change]:
    """Changes that fail every derived write which has begun to read one of these things."""
    owners = dict.fromkeys(fingerprint(one) for id in ids for one in (id, owner_of(id)))
    # The first makes the row, where there is none, so that the second gives it a version above the first one.
    return [Put(_epoch(core, owner), absent) for owner in owners for absent in (True, False)]


async def forgotten(core: Core, sources: Sequence[str], *, since: datetime | None = None) -> bool:
    """Whether one of these sources was forgotten, and is not there again."""
    for source in dict.fromkeys(sources):
        names = dict.fromkeys((source, owner_of(source)))
        marks = await core.get_many(Tombstone, [("source", fingerprint(name)) for name in names])
        times = [mark.created_at for mark in marks if mark is not None]
        if times and ((since is not None and max(times) >= since) or not await _present(core, source)):
            return True
    return False


def owned(core: Core, ns: str, kind: str, id: str) -> Put:
    """The link from a namespace to a thread or document of it, which outlives the thing: what was derived from it is
    found by it when the namespace is forgotten after the thing was deleted or expired."""
    return Put(Link(org=core.org, source=ns, kind=kind, target=id, created_at=core.at()), absent=True)


async def owners(core: Core, kind: str, id: str) -> list[Link]:
    """The links of `owned` that lead to something."""
    return [link for link in await core.scan(Link, id, index="by_target") if link.kind == kind]


async def _present(core: Core, source: str) -> bool:
    for kind in LINKED:
        assert kind.read is not None
        for key in kind.read(source, None):
            if await core.get(kind.record, *key) is not None:
                return True
    if await core.get(Thread, source) is not None:
        return True
    names = dict.fromkeys((source, owner_of(source)))
    links = [link for name in names for link in await owners(core, "document", name)]
    return any(await core.get_many(Document, [(link.source, link.target) for link in links]))


def _epoch(core: Core, owner: str) -> Mark:
    return Mark(org=core.org, name=EPOCH, item=owner, updated_at=core.at())
