"""Imports a source in two passes. The first pass reads and checks everything, and the second writes it in batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from ..engine.audit import audit
from ..engine.core import Core
from ..errors import CorruptRecord, UsageError
from ..records import Ref, Tombstone
from ..scope import Ns
from ..stores.base import Delete
from ..values import check_name
from .checking import Checked, Checker
from .files import SourceFiles
from .items import Item, Problem
from .mapping import Places, places
from .readers import Reader, reader_for
from .report import ImportReport, Tally
from .writing import Writer

BATCH_ITEMS = 1000
"""The number of items in one commit."""
Progress = Callable[[int, int | None], None]
"""Called with the number of items processed so far and, in the second pass, the total."""


class Importing:
    """Imports data from other tools."""

    def __init__(self, core: Core) -> None:
        self._core = core.narrowed(core.scope.narrow(actor="import"))

    async def import_from(
        self,
        path: str | os.PathLike[str],
        *,
        kind: str = "auto",
        namespace: Ns | None = None,
        users: Mapping[str, str] | None = None,
        mapping: str | os.PathLike[str] | Mapping[str, object] | None = None,
        source: str | None = None,
        dry_run: bool = False,
        strict: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Read, check and import a source; see `AsyncMemory.import_from`."""
        self._check_scope()
        offload = self._core.runtime.offload
        files: SourceFiles = await offload(SourceFiles, os.fspath(path))
        reader = await offload(reader_for, kind, files)
        name = check_name(f"{reader.kind}:{files.name}"[:200] if source is None else source, "source")
        where = places(namespace, users, mapping)
        survey = await self._survey(files, reader, name, where, progress)
        if strict and survey.failed:
            first = survey.problems[0]
            text = f"{survey.failed} things cannot be imported, the first at {first.place}: {first.reason}"
            raise CorruptRecord(f"{text}; nothing was imported", place=first.place)
        if dry_run:
            return survey.report(reader.kind, name, dry_run=True)
        await self._load(files, reader, name, where, survey, progress)
        return survey.report(reader.kind, name, dry_run=False)

    def _check_scope(self) -> None:
        self._core.scope.whole_org("importing")
        if self._core.batch is not None:
            raise UsageError("an import cannot be part of a batch")

    async def _survey(
        self, files: SourceFiles, reader: Reader, source: str, where: Places, progress: Progress | None
    ) -> Tally:
        """Read and check everything in the first pass, without writing."""
        tally, items, checker, done = Tally(), reader.read(files), Checker(where, source), 0
        while count := (await self._core.runtime.offload(_next, items, checker, tally))[0]:
            done += count
            if progress is not None:
                progress(done, None)
        return tally

    async def _load(
        self, files: SourceFiles, reader: Reader, source: str, where: Places, tally: Tally, progress: Progress | None
    ) -> None:
        """Read everything again in the second pass, and write it."""
        # A source that was forgotten is imported anew: from here on it is a source like any other.
        await self._core.apply(Delete(Tombstone, (self._core.org, "source", Ref("source", key=source).fingerprint)))
        writer = Writer(self._core, source, tally, files.modified())
        items, checker = reader.read(files), Checker(where, source)
        total, done = sum(tally.found.values()) + tally.failed, 0
        while True:
            count, batch = await self._core.runtime.offload(_next, items, checker)
            if not count:
                break
            await writer.write(batch)
            done += count
            if progress is not None:
                progress(done, total)
        detail = {"kind": reader.kind, **{name: tally.added[name] for name in sorted(tally.added)}}
        await self._core.apply(audit(self._core, "import", "source", source, source, detail))


def _next(items: Iterator[Item], checker: Checker, tally: Tally | None = None) -> tuple[int, list[Checked]]:
    """Return the number of items read and the valid ones of the next batch. The first pass counts them in a tally."""
    batch: list[Checked] = []
    count = 0
    for item in islice(items, BATCH_ITEMS):
        count += 1
        problem = item if isinstance(item, Problem) else None
        if not isinstance(item, Problem):
            try:
                batch.append(checker.check(item))
            except ValueError as error:
                problem = Problem(item.position, str(error))
        if tally is not None and problem is not None:
            tally.problem(problem.place, problem.reason)
        elif tally is not None:
            tally.saw(item, batch[-1].ns)
    return count, batch
