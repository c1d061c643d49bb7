"""A disk that can be watched, filled, broken and unplugged: an SQLite VFS over the real one."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512
SHM = "-shm"


class Event:
    """One thing that happened to a file, or an acknowledgement to the caller (`file` is None)."""

    def __init__(self, kind: str, file: str | None, offset: int = 0, data: bytes = b"", note: Any = None) -> None:
        self.kind = kind
        self.file = file
        self.offset = offset
        self.data = data
        self.note = note


class Disk(apsw.VFS):
    """Logs writes, truncations and syncs; `before` may raise or end the process at any of them."""

    def __init__(self) -> None:
        self.log: list[Event] = []
        self.before: Callable[[Event], None] = lambda event: None
        super().__init__(f"disk-{id(self)}", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.happened(Event("delete", os.path.basename(filename)))
        super().xDelete(filename, syncdir)

    def happened(self, event: Event) -> None:
        self.before(event)
        self.log.append(event)

    def acknowledge(self, note: Any) -> None:
        """Remember that the caller was told of a write here."""
        self.log.append(Event("ack", None, note=note))


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk
        full = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = os.path.basename(str(full))

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.happened(Event("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:
        self._disk.happened(Event("truncate", self._name, size))
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:
        self._disk.happened(Event("sync", self._name))
        super().xSync(flags)


@contextmanager
def watched() -> Iterator[Disk]:
    """All SQLite files opened inside go through the disk that comes out."""
    disk = Disk()
    try:
        yield disk
    finally:
        disk.unregister()


def image_after_power_loss(log: list[Event], cut: int, folder: Path, dice: random.Random) -> None:
    """Write the files as a power cut after `cut` events may leave them.

    What was synced is there. Of what was written since, any part may be: none, all, some writes, half a write.
    """
    files: dict[str, bytearray] = {}
    pending: dict[str, list[Event]] = {}
    for event in log[:cut]:
        if event.file is None:
            continue
        if event.kind == "sync":
            for waiting in pending.pop(event.file, []):
                _apply(files, waiting, 1.0, dice)
        elif event.kind == "delete":
            pending.pop(event.file, None)
            files.pop(event.file, None)
        else:
            pending.setdefault(event.file, []).append(event)
    keeps = dice.choice((0.0, 0.5, 0.9, 1.0))
    for name in sorted(pending):
        for waiting in pending[name]:
            _apply(files, waiting, keeps, dice)
    for name, data in files.items():
        (folder / name).write_bytes(bytes(data))
        (folder / name).chmod(0o600)


def _apply(files: dict[str, bytearray], event: Event, keeps: float, dice: random.Random) -> None:
    if event.file is None or dice.random() >= keeps > 0 or keeps == 0:
        return
    data = files.setdefault(event.file, bytearray())
    if event.kind == "truncate":
        del data[event.offset :]
        return
    body = event.data
    if keeps < 1.0 and len(body) > SECTOR and dice.random() < 0.3:
        body = body[: SECTOR * dice.randrange(1, len(body) // SECTOR + 1)]
    if len(data) < event.offset + len(body):
        data.extend(bytes(event.offset + len(body) - len(data)))
    data[event.offset : event.offset + len(body)] = body
