"""Reads folders of Markdown and text files as documents. In Obsidian vaults it also reads front matter, tags and
links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from ..values import JsonObject
from .files import Part, SourceFiles
from .items import DocumentItem, Item, Problem, moment_or_none

ENDINGS = (".md", ".markdown", ".mdx", ".txt", ".text", ".rst", ".org")
MAX_NOTE_BYTES = 4 * 1024 * 1024
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"([\w -]{1,60}):[ \t]*(.*)")
_HEADING = re.compile(r"^#{1,2}[ \t]+(\S[^\n]{0,300})$", re.MULTILINE)
_LINK = re.compile(r"\[\[([^\[\]|#\n]{1,200})")
_TAG = re.compile(r"(?:^|\s)#([\w/-]{1,100})")
MAX_NAMED_NOTES = 200
"""The maximum number of links, and of tags, stored with a note."""


def recognises(source: SourceFiles) -> bool:
    """Return whether the source is a text, or a folder or archive that contains texts."""
    if source.url is not None:
        return False
    if source.is_file:
        return source.path.suffix.casefold() in ENDINGS
    return any(_is_wanted(part.name) for part in source.parts())


def recognises_vault(source: SourceFiles) -> bool:
    """Return whether the source is an Obsidian vault."""
    return source.url is None and source.is_folder and (source.path / ".obsidian").is_dir()


def read(source: SourceFiles) -> Iterator[Item]:
    """Yield a document for each text."""
    yield from _read(source, vault=False)


def read_vault(source: SourceFiles) -> Iterator[Item]:
    """Yield a document for each note, with tags, links and aliases in its metadata."""
    yield from _read(source, vault=True)


def _read(source: SourceFiles, *, vault: bool) -> Iterator[Item]:
    for part in source.parts():
        if source.is_file or _is_wanted(part.name):
            yield _document(part, vault=vault)


def _is_wanted(name: str) -> bool:
    path = PurePosixPath(name)
    hidden = any(step.startswith(".") for step in path.parts)
    return path.suffix.casefold() in ENDINGS and not hidden


def _document(part: Part, *, vault: bool) -> Item:
    if part.size > MAX_NOTE_BYTES:
        return Problem(part.name, f"it has more than {MAX_NOTE_BYTES // 1024 // 1024} MB")
    with part.open() as file:
        data = file.read(MAX_NOTE_BYTES + 1)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Problem(part.name, "it is not UTF-8 text")
    if not text.strip():
        return Problem(part.name, "it is empty")
    fields, body = _front(text)
    heading = _HEADING.search(body)
    title = str(fields.get("title") or (heading.group(1).strip() if heading else PurePosixPath(part.name).stem))
    metadata: JsonObject = {"path": part.name, **(_vault(fields, body) if vault else {})}
    at = moment_or_none(fields.get("created") or fields.get("date")) or part.changed
    return DocumentItem(part.name, text, title[:1000], None, metadata, at, part.name)


def _vault(fields: JsonObject, body: str) -> JsonObject:
    """Return the tags, links and aliases of a note."""
    tags = [*_several(fields.get("tags")), *_TAG.findall(body)]
    named = {
        "tags": tags,
        "links": [link.strip() for link in _LINK.findall(body)],
        "aliases": _several(fields.get("aliases")),
    }
    return {name: list(dict.fromkeys(names))[:MAX_NAMED_NOTES] for name, names in named.items() if names}


def _several(value: object) -> list[str]:
    listed = value if isinstance(value, list) else str(value).split(",") if value else []
    return [tag.strip().lstrip("#") for tag in map(str, listed) if tag.strip()]


def _front(text: str) -> tuple[JsonObject, str]:
    """Return the front matter of a note, as names with texts or lists of texts, and the rest of the note."""
    front = _FRONT.match(text)
    if front is None:
        return {}, text
    fields: JsonObject = {}
    name = ""
    for line in front.group(1).splitlines():
        stripped = line.strip()
        if stripped.startswith("- ") and isinstance(fields.get(name), list):
            fields[name].append(_unquoted(stripped[2:]))
        elif (field := _FIELD.fullmatch(line.rstrip())) is not None:
            name, value = field.group(1).strip().casefold(), field.group(2).strip()
            inside = value[1:-1] if value.startswith("[") and value.endswith("]") else None
            fields[name] = (
                [_unquoted(item) for item in inside.split(",")] if inside is not None else _unquoted(value) or []
            )
    return fields, text[front.end() :]


def _unquoted(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
