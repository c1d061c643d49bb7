"""Parses all files of a checkout, in a process pool if it is large, and merges the results in path order."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from memorist.errors import UsageError
from memorist_analyze.discover import Checkout, Source
from memorist_analyze.parse import parse
from memorist_analyze.reader import read
from memorist_analyze.records import File

_BATCH_BYTES = 400_000
_POOL_FROM_BYTES = 3_000_000

Progress = Callable[[int, int], None]


def gather(checkout: Checkout, *, processes: int | None = None, time_limit: float = 300.0,
           progress: Progress | None = None) -> list[File]:  # fmt: skip
    """Return the facts of every source file.

    Raises `UsageError` after `time_limit` seconds, because findings from only some of the files would differ from those
    of all files. Unreadable files are listed in `checkout.skipped`.
    """
    batches = list(_batches(checkout.sources))
    started = time.monotonic()
    files: list[File] = []
    done_files = 0
    for batch, result in zip(batches, _run(checkout.root, batches, processes), strict=True):
        done_files += len(batch)
        files.extend(result)
        if progress is not None:
            progress(done_files, len(checkout.sources))
        if time.monotonic() - started > time_limit:
            raise UsageError(
                f"not read within {time_limit:.0f} s ({done_files} of {len(checkout.sources)} files): give a longer "
                "--time-limit or the folder of one package",
                limit=str(time_limit),
            )
    checkout.skipped.extend((f.path, f.broken) for f in files if f.broken)
    return [f for f in files if not f.broken]


def _batches(sources: list[Source]) -> Iterator[list[Source]]:
    batch: list[Source] = []
    size = 0
    for source in sources:
        batch.append(source)
        size += source.size
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _run(root: Path, batches: list[list[Source]], processes: int | None) -> Iterator[list[File]]:
    count = processes or min(4, os.cpu_count() or 1)
    if count == 1 or sum(s.size for b in batches for s in b) < _POOL_FROM_BYTES:
        for batch in batches:
            yield read_batch(root, batch)
        return
    with ProcessPoolExecutor(max_workers=count) as pool:
        # `map` yields results in the order of the batches, so the output is deterministic.
        yield from pool.map(read_batch, [root] * len(batches), batches)


def read_batch(root: Path, batch: list[Source]) -> list[File]:
    """Parse the files of one batch. This runs in a worker process. For an unreadable file, `broken` contains the
    reason."""
    return [_read_one(root, source) for source in batch]


def _read_one(root: Path, source: Source) -> File:
    try:
        data = (root / source.path).read_bytes()
        return read(parse(source.path, source.language, data), source.package)
    except (OSError, RecursionError) as error:
        return File(source.path, source.language, 0, source.package, f"{type(error).__name__}")
