"""Rewrites a store's files without deleted bytes, and searches them for pieces of deleted text."""

from __future__ import annotations

from ..errors import Forbidden, Unsupported
from ..stores.base import Absence, Scrubbed, Scrubs, Verifies
from .core import Core


class Scrubbing:
    """Rewrites the store's files without deleted bytes. This command is for operators, because on a server it affects
    all tenants."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def scrub(self) -> Scrubbed:
        """Rewrite every file of the store. A user's handle may not call this. If the store is a server, neither may a
        handle on one org.
        """
        self._core.scope.whole_org("scrub")
        self._core.scope.check_files("scrub")
        await self._core.shared.open()
        store = self._core.store
        if not isinstance(store, Scrubs):
            raise Unsupported(f"the {store.name} store cannot remove deleted bytes from its files")
        if not store.owns_files and not self._core.scope.all_orgs:
            raise Forbidden(
                f"scrub rewrites the files of every org on the {store.name} store; an operator does it: "
                "`memorist scrub`, or a handle opened with all_orgs=True"
            )
        return await store.scrub()


def own_files(core: Core) -> Scrubs:
    """Return the store if its files belong only to this memory. Otherwise raise Unsupported or Forbidden."""
    core.scope.check_files("physical=True")
    store = core.store
    if isinstance(store, Scrubs) and store.owns_files:
        return store
    raise Unsupported(
        f"physical=True rewrites files, and those of the {store.name} store are shared with others: forget without "
        "it, then have an operator run `memorist scrub` (or memory.scrub() on a handle with all_orgs=True)"
    )


async def search_files(core: Core, needles: set[bytes], physical: bool, deleted: bool) -> Absence:
    """Search rewritten files for pieces of deleted data, or report what was not searched and why. `deleted` says
    whether there was any."""
    store = core.store
    if not physical and store.name == "memory":
        return Absence()
    if not physical:
        is_own = isinstance(store, Scrubs) and store.owns_files
        how = "physical=True removes them" if is_own else "an operator removes them with `memorist scrub`"
        reason = f"files of the {store.name} store (deleted bytes stay there until they are rewritten: {how})"
    elif not isinstance(store, Verifies):
        reason = f"the {store.name} store (it cannot be searched)"
    elif not deleted:
        reason = f"the {store.name} store (nothing was deleted this time, so there is no text to search for)"
    elif not needles:
        reason = f"the {store.name} store (no deleted text is long enough to search for: others may have the same)"
    else:
        return await store.verify_absent(sorted(needles), org=core.org)
    return Absence(unchecked=[reason])
