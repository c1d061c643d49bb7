"""Reads the extraction settings from a file, for the command line and the server."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from ..errors import UsageError
from ..values import JsonObject
from .extraction import Beyond, Extraction, Role, Verdict


class _Settings(msgspec.Struct, forbid_unknown_fields=True):
    """Holds the fields of the file, which have the same meaning as the arguments of `Extraction`."""

    schemas: list[str] = []
    """Paths of JSON Schema files, relative to this file."""
    instructions: str = ""
    only: list[str] = []
    never: list[str] = []
    admit: dict[str, Verdict] | Literal["active", "review", "refuse"] | None = None
    read_from: tuple[Role, ...] = ("user",)
    daily_tokens: int | None = None
    beyond: Beyond = "rules"
    brief: bool = False


def read_extraction(path: Path) -> Extraction:
    """Return the extraction that a TOML or JSON file describes. Raises UsageError if the file is missing or invalid."""
    try:
        text = path.read_text("utf-8")
        fields = msgspec.json.decode(text) if path.suffix == ".json" else tomllib.loads(text)
        settings = msgspec.convert(fields, _Settings)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.DecodeError) as problem:
        raise UsageError(f"the extraction file {path.name!r} cannot be read: {problem}") from problem
    schemas = [_read_schema_file(path.parent / name) for name in settings.schemas]
    return Extraction(**{**msgspec.structs.asdict(settings), "schemas": schemas})


def _read_schema_file(path: Path) -> JsonObject:
    try:
        schema: JsonObject = msgspec.json.decode(path.read_bytes(), type=dict)
    except (OSError, msgspec.DecodeError) as problem:
        raise UsageError(f"the JSON Schema {path.name!r} cannot be read: {problem}") from problem
    return schema
