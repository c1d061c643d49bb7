"""Opens what is imported: a file, a folder, a ZIP archive, or the URL of a database. Reads, never writes, never all.

Whatever is larger than a bound is refused with its place, so that no file takes more memory than a few such pieces.
"""

from __future__ import annotations

import codecs
import fnmatch
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, NoReturn

import msgspec

from ..errors import CorruptRecord, UsageError

HEAD = 65_536
"""Bytes from which a file is recognised."""
PIECE = 32 * 1024 * 1024
"""The most bytes of one line, one conversation or one record."""
STEP = 65_536
MOST_FILES = 200_000
RATIO = 300
"""How much a file in an archive may have been packed; text never is packed so much."""
SQLITE = b"SQLite format 3\x00"
DATABASES = re.compile(r"(postgres(?:ql)?)(?:\+\w+)?(?=://)")
"""How the URL of a database begins; SQLAlchemy's name a driver too."""


class Part(NamedTuple):
    """One file of what is imported."""

    name: str
    open: Callable[[], IO[bytes]]
    size: int
    changed: datetime | None = None


class Given:
    """What a user named to be imported."""

    def __init__(self, path: str | Path) -> None:
        text = str(path)
        self.url = DATABASES.sub(r"\1", text, count=1) if DATABASES.match(text) else None
        self.path = Path(text).expanduser()
        self._archive: zipfile.ZipFile | None = None
        if self.url is None:
            self._look()

    def _look(self) -> None:
        if not self.path.exists():
            raise UsageError(f"there is no file or folder {self.path.name!r} to import")
        self.is_folder = self.path.is_dir()
        if not self.is_folder and not self.path.is_file():
            raise UsageError(f"{self.path.name!r} is neither a file nor a folder")
        if not self.is_folder and zipfile.is_zipfile(self.path):
            try:
                self._archive = zipfile.ZipFile(self.path)
            except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as cause:
                damaged("the archive", "it cannot be opened", cause)

    @property
    def name(self) -> str:
        """What it is called: the name of the file or folder, or of the database."""
        if self.url is not None:
            return self.url.rpartition("/")[2].partition("?")[0] or "postgres"
        return self.path.resolve().name

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return PurePosixPath(self.name).stem or self.name

    @property
    def is_file(self) -> bool:
        """Whether it is one plain file."""
        return self.url is None and not self.is_folder and self._archive is None

    def modified(self) -> datetime:
        """When it was last changed; now for a database."""
        if self.url is not None:
            return datetime.now(UTC)
        return datetime.fromtimestamp(self.path.stat().st_mtime, UTC)

    def head(self) -> bytes:
        """The first bytes of a plain file; nothing for the rest."""
        if not self.is_file:
            return b""
        with self.path.open("rb") as file:
            return file.read(HEAD)

    def parts(self, pattern: str = "*") -> list[Part]:
        """The file itself, whatever it is called; or the files of a folder or archive whose name matches."""
        if self.url is not None:
            return []
        if self._archive is not None:
            return [_member(self._archive, one) for one in self._members(self._archive, pattern)]
        if self.is_folder:
            return [_file(path, str(path.relative_to(self.path))) for path in self._walk(pattern)]
        return [_file(self.path, self.path.name)]

    def _members(self, archive: zipfile.ZipFile, pattern: str) -> list[zipfile.ZipInfo]:
        found = [one for one in archive.infolist() if not one.is_dir() and _matches(one.filename, pattern)]
        return sorted(found[:MOST_FILES], key=lambda one: one.filename)

    def _walk(self, pattern: str) -> list[Path]:
        found: list[Path] = []
        for path in self.path.rglob("*"):
            # No link is followed: it may lead out of the folder.
            if path.is_symlink() or not _matches(path.name, pattern) or not path.is_file():
                continue
            found.append(path)
            if len(found) > MOST_FILES:
                raise UsageError(f"the folder has more than {MOST_FILES} files; import its folders one by one")
        return sorted(found)


def _matches(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(PurePosixPath(name).name.casefold(), pattern)


def _file(path: Path, name: str) -> Part:
    about = path.stat()
    return Part(name, lambda: path.open("rb"), about.st_size, datetime.fromtimestamp(about.st_mtime, UTC))


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Part:
    def opened() -> IO[bytes]:
        if member.file_size > 100_000_000 and member.file_size > RATIO * max(member.compress_size, 1):
            damaged("the archive", "one of its files is packed more than any text could be")
        try:
            return io.BufferedReader(_Checked(archive.open(member)))
        except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as cause:
            damaged("the archive", "one of its files cannot be unpacked", cause)

    return Part(member.filename, opened, member.file_size)


class _Checked(io.RawIOBase):
    """A file of an archive whose damage is told as ours."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._inner.read(len(buffer))
        except Exception as cause:  # zlib, bz2, lzma and zipfile each have their own
            damaged("the archive", "one of its files is damaged", cause)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._inner.close()
        super().close()


def damaged(place: str, why: str, cause: Exception | None = None) -> NoReturn:
    """Refuse what is imported; the error names the place and nothing of the content, nor does its cause."""
    raise CorruptRecord(f"{place} cannot be imported: {why}; nothing was imported", place=place) from (
        None if isinstance(cause, ValueError) else cause
    )


def lines(part: Part) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers, without empty ones."""
    with part.open() as file:
        number = 0
        while line := file.readline(PIECE + 1):
            number += 1
            if len(line) > PIECE:
                damaged(f"line {number}", f"it has more than {PIECE // 1024 // 1024} MB")
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if line.strip():
                yield number, line


def decoded(data: bytes) -> Any:
    """The value of one piece of JSON; ValueError where it is none."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError("it is not JSON") from None


class JsonStream:
    """Reads a large JSON file piece by piece: the elements of an array, the members of an object."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self._text = ""
        self._at = 0
        self._passed = 0
        """Characters before the text in hand."""
        self._end = False
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self._scan = json.JSONDecoder(parse_constant=_no_constant).raw_decode

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in " \t\n\r":
                    return self._text[self._at]
                self._at += 1
            if not self._fill(STEP):
                return ""

    def elements(self) -> Iterator[Any]:
        """The elements of the array that comes next."""
        self._take("[")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield self.value()
            if self._take(",]") == "]":
                return

    def members(self) -> Iterator[str]:
        """The names of the object that comes next; after each one its value must be read, before the next name."""
        self._take("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            name = self.value()
            if not isinstance(name, str):
                self._damaged("a name is missing")
            self._take(":")
            yield name
            if self._take(",}") == "}":
                return

    def value(self) -> Any:
        """The value that comes next, whole."""
        if not self.peek():
            self._damaged("it ends in the middle")
        while True:
            try:
                found, stop = self._scan(self._text, self._at)
            except RecursionError:
                self._damaged("it is nested too deep")
            except ValueError:
                # Damaged, or not all here yet: more is read until there is no more, or too much of it.
                if self._fill(max(STEP, len(self._text) - self._at)):
                    continue
                self._damaged("it is not JSON, or it ends in the middle")
            if stop == len(self._text) and not self._end and not isinstance(found, dict | list | str):
                self._fill(STEP)  # a number may go on
                continue
            self._at = stop
            return found

    def done(self) -> None:
        """Check that nothing follows."""
        if self.peek():
            self._damaged("there is more after its end")

    def _take(self, wanted: str) -> str:
        found = self.peek()
        if not found or found not in wanted:
            self._damaged("it is not JSON, or it ends in the middle" if found else "it ends in the middle")
        self._at += 1
        return found

    def _fill(self, size: int) -> bool:
        """Take in more of the file, and let go of what was read; False at its end."""
        if self._end:
            return False
        if len(self._text) - self._at > PIECE:
            self._damaged(f"one piece of it has more than {PIECE // 1024 // 1024} MB")
        data = self._file.read(size)
        self._end = not data
        try:
            more = self._utf8.decode(data, self._end)
        except UnicodeDecodeError:
            self._damaged("it is not UTF-8 text")
        self._passed += self._at
        self._text, self._at = self._text[self._at :] + more, 0
        return bool(more) or not self._end

    def _damaged(self, why: str) -> NoReturn:
        damaged(f"{self._name}, near character {self._passed + self._at}", why)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
