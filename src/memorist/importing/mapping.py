"""Maps users and namespaces in a source to namespaces here."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..errors import InvalidNamespace, UsageError
from ..scope import Namespace, Ns
from ..values import MAX_NAME_BYTES, JsonMapping
from .files import decoded

HOME = "user:me"
"""The default namespace for items without an owner."""
MAX_FILE_BYTES = 10 * 1024 * 1024


class Places(msgspec.Struct, frozen=True):
    """Maps owners to namespaces."""

    default: str = HOME
    users: dict[str, str] = {}
    """This maps user ids in the source to user ids here."""
    namespaces: dict[str, str] = {}
    """This maps users or namespaces in the source to namespaces here."""
    everything: bool = False
    """This is True if items of unmapped owners also go to the default namespace."""

    def of(self, owner: str | None, space: str | None = None) -> str:
        """Return the namespace for an item of `owner`. `space` is the reader's own suggestion."""
        if owner:
            named = self.namespaces.get(owner)
            if named is not None:
                return named
            user = self.users.get(owner)
            if user is not None:
                return f"user:{user}"
        if self.everything or not (owner or space):
            return self.default
        return _checked(space if space is not None else f"user:{owner}")


def places(
    namespace: Ns | None, users: Mapping[str, str] | None, mapping: str | os.PathLike[str] | JsonMapping | None
) -> Places:
    """Return the mapping from options and a mapping file. Options have priority.

    A `namespace` receives everything except mapped users and namespaces.
    """
    read = read_mapping(mapping)
    default = namespace if namespace is not None else read.get("namespace")
    spaces = _texts(read, "namespaces")
    places = Places(
        default=HOME if default is None else str(Namespace.parse(default)),
        users={**_texts(read, "users"), **dict(users or {})},
        namespaces={name: str(Namespace.parse(space)) for name, space in spaces.items()},
        everything=default is not None,
    )
    for user in places.users.values():
        Namespace.parse(f"user:{user}")
    return places


def read_mapping(mapping: Any) -> JsonMapping:
    if mapping is None:
        return {}
    read = mapping if isinstance(mapping, Mapping) else _from_file(Path(mapping))
    unknown = sorted(set(read) - {"namespace", "users", "namespaces"})
    if unknown:
        raise UsageError(f"a mapping has `namespace`, `users` and `namespaces`, not {', '.join(unknown)[:100]}")
    return read


def _from_file(path: Path) -> JsonMapping:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UsageError(f"the mapping file {path.name!r} is over {MAX_FILE_BYTES // 1024 // 1024} MB")
        data = path.read_bytes()
        read = decoded(data) if path.suffix == ".json" else tomllib.loads(data.decode())
    except OSError as cause:
        raise UsageError(f"the mapping file {path.name!r} cannot be read: {cause.strerror}") from cause
    except ValueError as cause:
        raise UsageError(f"the mapping file {path.name!r} is not TOML (or JSON, if its name ends in .json)") from cause
    if not isinstance(read, Mapping):
        raise UsageError(f"the mapping file {path.name!r} must be a table with `namespace`, `users` and `namespaces`")
    return read


def _texts(read: Mapping[str, object], name: str) -> dict[str, str]:
    table = read.get(name, {})
    if not isinstance(table, Mapping) or not all(isinstance(value, str) for value in table.values()):
        raise UsageError(f"`{name}` of a mapping must map names of the source to names here, both text")
    return dict(table)


def _checked(space: str) -> str:
    """Return a namespace for a name in the source. Raises UsageError if the name cannot be part of one."""
    try:
        return str(Namespace.parse(space))
    except (InvalidNamespace, UsageError) as cause:
        size = len(space.encode("utf-8", "replace"))
        text = f"its owner's name cannot be part of a namespace here ({size} bytes, at most {MAX_NAME_BYTES}); map it"
        raise UsageError(text) from cause
