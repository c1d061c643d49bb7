"""Reads the text of Markdown, HTML, PDF, Word and plain text files.

HTML and Word become Markdown, so their headings and tables are handled like those in Markdown. The text of a PDF keeps
its pages, and the titles in its outline become headings. The parsers come with the `documents` extra; plain text and
Markdown need none.
"""

from __future__ import annotations

import io
import os
import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import msgspec

from ...errors import InvalidValue, TooLarge, Unsupported
from ...extras import install_command

if TYPE_CHECKING:
    from pypdf import PdfReader
    from pypdf.types import OutlineType

DocumentFormat: TypeAlias = Literal["text", "html", "pdf", "docx"]
DocumentSource: TypeAlias = str | bytes | os.PathLike[str]
"""Text, the bytes of a file, or the path to a file."""
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_UNPACKED_BYTES = 256 * 1024 * 1024
"""The maximum unpacked size of the parts of a Word file. A larger file is probably a zip bomb."""

_HTML = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_FORMATS: dict[str, DocumentFormat] = {
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "docx",
}


class ReadableFile(msgspec.Struct, frozen=True):
    """Holds the text of a file, and the positions where its pages begin."""

    text: str
    title: str | None = None
    page_starts: tuple[int, ...] = ()
    """These are the offsets of the pages in the text. The list is empty for formats without pages."""

    def page_at(self, offset: int) -> int | None:
        """Return the number of the page (counting from 1) that contains an offset in the text."""
        return bisect_right(self.page_starts, offset) if self.page_starts else None


def read_document(source: DocumentSource, name: str | None = None) -> ReadableFile:
    """Read a document from text, from bytes or from a path. The extension of `name` determines the format of bytes;
    without one, the format is detected.

    Raises:
        InvalidValue: The file is missing, damaged, encrypted, or in an unknown format.
        TooLarge: The file is larger than 64 MB.
        Unsupported: Its format needs the extra `documents`, which is not installed.
    """
    if isinstance(source, str):
        return ReadableFile(source)
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
        return _parse(data, _format_of(name or "") or detect_format(data), "the file")
    if not isinstance(source, os.PathLike):
        raise InvalidValue(f"a document is text, bytes or a path, not {type(source).__name__}")
    data = read_bytes(source)
    return _parse(data, _format_of(os.fspath(source)) or detect_format(data), os.path.basename(source))


def read_bytes(path: os.PathLike[str]) -> bytes:
    """Return the bytes of a file if it is not too large."""
    name = os.path.basename(path)
    if "\0" in os.fspath(path):
        raise InvalidValue("the path of a document contains a NUL")
    try:
        with open(path, "rb") as file:
            # One more than allowed, because a size from `stat` may be wrong for a pipe or a file that grows.
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InvalidValue(f"{name} cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise TooLarge(f"{name} is larger than {MAX_FILE_BYTES:,} bytes")
    return data


def _format_of(name: str) -> DocumentFormat | None:
    """Return the format that a file's extension indicates."""
    return _FORMATS.get(os.path.splitext(name)[1].lower())


def detect_format(data: bytes) -> DocumentFormat:
    """Detect the format of a file from its first bytes."""
    if data.startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return "docx"
    return "html" if _HTML.match(data[:4096]) else "text"


def _parse(data: bytes, format: DocumentFormat, name: str) -> ReadableFile:
    if len(data) > MAX_FILE_BYTES:
        raise TooLarge(f"{name} is larger than {MAX_FILE_BYTES:,} bytes")
    parsers = {"text": _parse_text, "html": _parse_html, "pdf": _parse_pdf, "docx": _parse_docx}
    try:
        return parsers[format](data, name)
    except ImportError as error:
        command = install_command("documents")
        raise Unsupported(f"reading {format.upper()} files needs an extra: {command}") from error


def _parse_text(data: bytes, name: str) -> ReadableFile:
    try:
        return ReadableFile(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{name} is neither PDF, Word nor HTML, and not UTF-8 text either") from error


def _parse_html(data: bytes, name: str) -> ReadableFile:
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(data, "html.parser")
    title = soup.title.get_text(" ", strip=True) if soup.title else None
    for tag in soup(["script", "style", "noscript", "template", "head"]):
        tag.decompose()
    try:
        text = MarkdownConverter(heading_style="atx", strip=["img"]).convert_soup(soup)
    except RecursionError as error:
        raise InvalidValue(f"{name} nests its elements too deeply") from error
    return ReadableFile(re.sub(r"\n{3,}", "\n\n", text).strip(), title or None)


def _parse_docx(data: bytes, name: str) -> ReadableFile:
    from zipfile import BadZipFile, ZipFile

    import mammoth  # type: ignore[import-untyped]  # it ships no types

    try:
        with ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
            is_word = "word/document.xml" in archive.namelist()
    except BadZipFile as error:
        raise InvalidValue(f"{name} is not a Word file") from error
    if not is_word:
        raise InvalidValue(f"{name} is an archive, but not a Word file")
    if unpacked > MAX_UNPACKED_BYTES:
        raise TooLarge(f"{name} unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
    try:
        html = mammoth.convert_to_html(io.BytesIO(data)).value
    except Exception as error:  # the parser raises whatever its XML reader and its own lookups raise
        raise InvalidValue(f"{name} is a damaged Word file") from error
    return _parse_html(html.encode(), name)


def _parse_pdf(data: bytes, name: str) -> ReadableFile:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(data))
        # Many files are "encrypted" with an empty password, which only restricts printing.
        if reader.is_encrypted and not reader.decrypt(""):
            raise InvalidValue(f"{name} is encrypted; remove its password first")
        headings = _outline_by_page(reader)
        pages = [
            _with_headings((page.extract_text() or "").strip(), headings.get(number, ()))
            for number, page in enumerate(reader.pages)
        ]
        title = str(reader.metadata.title or "") if reader.metadata else ""
    # On damaged files, pypdf also raises what its own lookups raise.
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, InvalidValue):
            raise
        raise InvalidValue(f"{name} is a damaged PDF file") from error
    starts, at = [], 0
    # Each page is followed by the two line ends of the join below.
    for page in pages:
        starts.append(at)
        at += len(page) + 2
    return ReadableFile("\n\n".join(pages), title or None, tuple(starts))


def _outline_by_page(reader: PdfReader) -> dict[int, list[tuple[int, str]]]:
    """Return the outline's titles and their depths, by the index of the page they point to."""
    by_page: dict[int, list[tuple[int, str]]] = {}

    def walk(items: OutlineType, depth: int) -> None:
        for item in items:
            if isinstance(item, list):
                walk(cast("OutlineType", item), depth + 1)
            elif (number := reader.get_destination_page_number(item)) is not None and item.title:
                by_page.setdefault(number, []).append((depth, " ".join(item.title.split())))

    walk(reader.outline, 1)
    return by_page


def _with_headings(text: str, headings: Iterable[tuple[int, str]]) -> str:
    """Return the text of a page, with the outline's titles as headings wherever the page has a matching line."""
    lines = text.split("\n")
    begin = 0
    for depth, title in headings:
        heading = f"{'#' * min(depth, 6)} {title}"
        match = next((i for i in range(begin, len(lines)) if _fold_title(lines[i]) == _fold_title(title)), None)
        if match is None:
            lines.insert(begin, f"{heading}\n")
            begin += 1
        else:
            lines[match] = f"\n{heading}\n"
            begin = match + 1
    return "\n".join(lines).strip()


def _fold_title(line: str) -> str:
    """Return a line without its numbering and spaces, case-folded, for comparison with a title."""
    return re.sub(r"^[\d.\s]+", "", line).replace(" ", "").casefold()
