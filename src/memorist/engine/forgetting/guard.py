"""The guard between deriving and forgetting: nothing derived is written after its source was forgotten.

Each source (a thread, a document, a fact) has an epoch: a versioned mark under the fingerprint of its id. A deriver
reads the epochs of its sources *before* it reads the sources, and expects them unchanged in the transaction that writes
the result. Forgetting deletes a thing and raises its epoch in one transaction, and looks for derivations only after
that. So a derived write either committed before, and its link is found, or it fails.

The first derived write creates the epoch row, because Postgres cannot lock a row that does not exist; a version above 1
means that something of that source was forgotten or deleted. `docs/decisions/0010-forgetting.md` has the reasons.
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
FORK = "fork"
"""The kind of links from a thread to its forks; the target names the last message copied, as in `branch#12`."""
OWNED = ("thread", "document")
"""Kinds of links from a namespace to things in it whose ids do not contain the namespace."""


class Guard(msgspec.Struct, frozen=True):
    """Changes that a derived write must commit together with itself; if `forgotten`, it must not be written at all."""

    changes: tuple[Change, ...] = ()
    forgotten: bool = False

    def caused(self, conflict: Conflict) -> bool:
        """Whether a conflict came from an epoch (a source was forgotten meanwhile) and not from another row."""
        return any(isinstance(change, Expect) and change.key == conflict.facts.get("key") for change in self.changes)


def owner_of(source: str) -> str:
    """The thing that a source is part of: a message's or summary's thread, a chunk's document, else itself."""
    return source.rpartition("#")[0] or source


def imported_marks(thread: str) -> str:
    """The name of the marks that keep which messages were imported into a thread."""
    return f"imported:{thread}"


async def epochs(core: Core, *things: str) -> list[Change]:
    """Guards that fail if one of these threads, documents, facts or namespaces is forgotten; call this before reading
    the things."""
    return (await _held(core, list(dict.fromkeys(map(fingerprint, things)))))[0]


async def made_again(core: Core, *ids: str, expires: bool) -> list[Change]:
    """Changes that go with making a thread or document, so that one who is forgetting its predecessor notices.

    An epoch that is there already is expected unchanged, which takes turns with a forgetting that expects it too. What
    will expire raises it, because expiry deletes the thing later without a word.
    """
    if expires:
        return raised(core, *ids)
    rows = await core.get_many(Mark, [(EPOCH, fingerprint(id)) for id in ids])
    return [Expect(Mark, row.row_key, row.version) for row in rows if row is not None]


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
    """Guards on the epochs of owners, and which of those epochs were ever raised."""
    rows = await core.get_many(Mark, [(EPOCH, owner) for owner in owners])
    changes: list[Change] = []
    for owner, row in zip(owners, rows, strict=True):
        mark = _epoch(core, owner)
        changes += [Put(mark, absent=True), Expect(Mark, mark.row_key, row.version if row else 1)]
    return changes, {row.item for row in rows if row is not None and row.version > 1}


def raised(core: Core, *ids: str) -> list[Change]:
    """Changes that raise the epochs of these things, which fails every derived write that has begun to read them."""
    owners = dict.fromkeys(fingerprint(one) for id in ids for one in (id, owner_of(id)))
    # The first Put creates a missing row at version 1, so that the second raises the version above 1.
    return [Put(_epoch(core, owner), absent) for owner in owners for absent in (True, False)]


async def forgotten(core: Core, sources: Sequence[str], *, since: datetime | None = None) -> bool:
    """Whether one of these sources was forgotten and does not exist again."""
    for source in dict.fromkeys(sources):
        names = dict.fromkeys((source, owner_of(source)))
        marks = await core.get_many(Tombstone, [("source", fingerprint(name)) for name in names])
        times = [mark.created_at for mark in marks if mark is not None]
        if times and ((since is not None and max(times) >= since) or not await _present(core, source)):
            return True
    return False


def owned(core: Core, ns: str, kind: str, id: str) -> Put:
    """The link from a namespace to one of its threads or documents. It outlives the thing, so that forgetting the
    namespace finds what was derived from a thread that was deleted or expired before."""
    return Put(Link(org=core.org, source=ns, kind=kind, target=id, created_at=core.at()), absent=True)


async def owners(core: Core, kind: str, id: str) -> list[Link]:
    """The links made by `owned` that lead to a thing."""
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
