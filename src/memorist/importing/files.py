"""Opens the source of an import for streaming, read-only: a file, a folder, a ZIP archive, or the URL of a database.

A single line, value or record above a size limit is refused, and the error names its position. So memory use is bounded
for any file.
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

HEAD_BYTES = 65_536
"""The number of bytes to read in order to recognise a file's format."""
MAX_ITEM_BYTES = 32 * 1024 * 1024
"""The maximum number of bytes in one line, one conversation or one record."""
READ_BYTES = 65_536
MAX_FILES = 200_000
MAX_COMPRESSION_RATIO = 300
"""The maximum compression ratio of a large file in an archive, as a protection against ZIP bombs. Text never compresses
that well."""
SQLITE = b"SQLite format 3\x00"
DATABASES = re.compile(r"(postgres(?:ql)?)(?:\+\w+)?(?=://)")
"""Matches the scheme of a database URL, with an optional driver as SQLAlchemy writes it (`postgresql+psycopg`)."""


class Part(NamedTuple):
    """Represents one file of the source."""

    name: str
    open: Callable[[], IO[bytes]]
    size: int
    changed: datetime | None = None


class SourceFiles:
    """Represents the source of an import as the user named it: a file, a folder, an archive or a database URL."""

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
        """This is the name of the file, folder or database."""
        if self.url is not None:
            return self.url.rpartition("/")[2].partition("?")[0] or "postgres"
        return self.path.resolve().name

    @property
    def stem(self) -> str:
        """This is the name without its extension."""
        return PurePosixPath(self.name).stem or self.name

    @property
    def is_file(self) -> bool:
        """This is True if the source is one plain file."""
        return self.url is None and not self.is_folder and self._archive is None

    def modified(self) -> datetime:
        """Return when the source was last changed, or the current time for a database."""
        if self.url is not None:
            return datetime.now(UTC)
        return datetime.fromtimestamp(self.path.stat().st_mtime, UTC)

    def head(self) -> bytes:
        """Return the first bytes of a plain file, or nothing for other sources."""
        if not self.is_file:
            return b""
        with self.path.open("rb") as file:
            return file.read(HEAD_BYTES)

    def parts(self, pattern: str = "*") -> list[Part]:
        """Return the files of a folder or archive whose names match. A plain file always matches."""
        if self.url is not None:
            return []
        if self._archive is not None:
            return [_member(self._archive, member) for member in self._members(self._archive, pattern)]
        if self.is_folder:
            return [_file(path, str(path.relative_to(self.path))) for path in self._walk(pattern)]
        return [_file(self.path, self.path.name)]

    def _members(self, archive: zipfile.ZipFile, pattern: str) -> list[zipfile.ZipInfo]:
        members = [
            member for member in archive.infolist() if not member.is_dir() and _matches(member.filename, pattern)
        ]
        return sorted(members[:MAX_FILES], key=lambda member: member.filename)

    def _walk(self, pattern: str) -> list[Path]:
        paths: list[Path] = []
        for path in self.path.rglob("*"):
            # Symbolic links are not followed: they may point outside of the folder.
            if path.is_symlink() or not _matches(path.name, pattern) or not path.is_file():
                continue
            paths.append(path)
            if len(paths) > MAX_FILES:
                raise UsageError(f"the folder has more than {MAX_FILES} files; import its folders one by one")
        return sorted(paths)


def _matches(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(PurePosixPath(name).name.casefold(), pattern)


def _file(path: Path, name: str) -> Part:
    about = path.stat()
    return Part(name, lambda: path.open("rb"), about.st_size, datetime.fromtimestamp(about.st_mtime, UTC))


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Part:
    def opened() -> IO[bytes]:
        if member.file_size > 100_000_000 and member.file_size > MAX_COMPRESSION_RATIO * max(member.compress_size, 1):
            damaged("the archive", "one of its files is packed more than any text could be")
        try:
            return io.BufferedReader(_Checked(archive.open(member)))
        except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as cause:
            damaged("the archive", "one of its files cannot be unpacked", cause)

    return Part(member.filename, opened, member.file_size)


class _Checked(io.RawIOBase):
    """Represents a file in an archive. Decompression errors become CorruptRecord."""

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


def damaged(position: str, why: str, cause: Exception | None = None) -> NoReturn:
    """Raise CorruptRecord with the position and the reason. A ValueError is not kept as the cause, because it may quote
    content."""
    raise CorruptRecord(f"{position} cannot be imported: {why}; nothing was imported", place=position) from (
        None if isinstance(cause, ValueError) else cause
    )


def lines(part: Part) -> Iterator[tuple[int, bytes]]:
    """Yield the non-empty lines of a file with their numbers."""
    with part.open() as file:
        number = 0
        while line := file.readline(MAX_ITEM_BYTES + 1):
            number += 1
            if len(line) > MAX_ITEM_BYTES:
                damaged(f"line {number}", f"it has more than {MAX_ITEM_BYTES // 1024 // 1024} MB")
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if line.strip():
                yield number, line


def decoded(data: bytes) -> object:
    """Decode JSON. Raises ValueError if it is invalid."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError("it is not JSON") from None


class JsonStream:
    """Parses JSON as a stream. It reads an array element by element, and an object member by member."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self._text = ""
        self._at = 0
        self._passed = 0
        """The number of characters before the buffered text."""
        self._end = False
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self._scan = json.JSONDecoder(parse_constant=_no_constant).raw_decode

    def peek(self) -> str:
        """Return the next character that is not white space, or an empty string at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in " \t\n\r":
                    return self._text[self._at]
                self._at += 1
            if not self._fill(READ_BYTES):
                return ""

    def elements(self) -> Iterator[object]:
        """Iterate over the elements of the next array."""
        self._take("[")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield self.value()
            if self._take(",]") == "]":
                return

    def members(self) -> Iterator[str]:
        """Iterate over the names of the next object. The caller must read the value after each name."""
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

    def value(self) -> object:
        """Decode the next value."""
        if not self.peek():
            self._damaged("it ends in the middle")
        while True:
            try:
                element, stop = self._scan(self._text, self._at)
            except RecursionError:
                self._damaged("it is nested too deep")
            except ValueError:
                # Invalid, or not fully buffered: read on until it parses, the file ends or the limit is reached.
                if self._fill(max(READ_BYTES, len(self._text) - self._at)):
                    continue
                self._damaged("it is not JSON, or it ends in the middle")
            if stop == len(self._text) and not self._end and not isinstance(element, dict | list | str):
                self._fill(READ_BYTES)  # a number may continue in the next chunk
                continue
            self._at = stop
            return element

    def done(self) -> None:
        """Raise an error unless the end of the file is reached."""
        if self.peek():
            self._damaged("there is more after its end")

    def _take(self, expected: str) -> str:
        character = self.peek()
        if not character or character not in expected:
            self._damaged("it is not JSON, or it ends in the middle" if character else "it ends in the middle")
        self._at += 1
        return character

    def _fill(self, size: int) -> bool:
        """Read more of the file into the buffer and drop the consumed part. Return False at the end of the file."""
        if self._end:
            return False
        if len(self._text) - self._at > MAX_ITEM_BYTES:
            self._damaged(f"one piece of it has more than {MAX_ITEM_BYTES // 1024 // 1024} MB")
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
