"""Opens the store that a URL names. A driver is imported here, and only when a URL needs it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from ..errors import Unsupported, UsageError
from ..extras import install_command
from ..runtime import Runtime
from .base import Store

IN_RAM = ("memory://", ":memory:")
"""`:memory:` is SQLite's name for RAM. Nobody who uses it wants a file with that name."""


_POSTGRES = ("postgresql", "postgres")
_REDIS = (
    "redis", "rediss", "unix", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel", "valkey",
)  # fmt: skip


class NothingLasts(UserWarning):
    """Warns that a memory exists only in RAM, because no file or server was named, and will be lost when the process
    ends."""


def open_store(url: object, hot: object, runtime: Runtime, durability: str, read_url: str | None = None) -> Store:
    """Return the store that a URL names, behind a hot store if `hot` names one."""
    if durability not in ("full", "normal"):
        raise UsageError("durability is 'full' (survives power loss) or 'normal' (survives a killed process)")
    if url is None or url in IN_RAM:
        # The warning points at the user's line, above this function, `opening.py` and the facade's constructor.
        warning = "this memory is in RAM and ends with the process; pass a path to keep it: Memory('agent.db')"
        warnings.warn(warning, NothingLasts, stacklevel=4)
    store = _open_one(url, runtime, durability, read_url)
    if hot is None:
        return store
    from .tiered import TieredStore

    return TieredStore(store, _open_one(hot, runtime, durability))


def open_beside(
    store: Store, url: object, hot: object, runtime: Runtime, durability: str, read_url: str | None = None
) -> Store:
    """Return a second store over the same data for the other runtime (blocking or async).

    A store in RAM is shared directly.
    """
    from .memory import MemoryStore
    from .tiered import TieredStore

    if isinstance(store, MemoryStore):
        return store
    if isinstance(store, TieredStore):
        durable = open_beside(store.durable, url, None, runtime, durability, read_url)
        return TieredStore(durable, open_beside(store.hot, hot, None, runtime, durability))
    if not isinstance(url, str | os.PathLike):
        raise Unsupported("a store object serves one kind of caller; open the memory with a URL to have both")
    return _open_one(url, runtime, durability, read_url)


def _open_one(url: Any, runtime: Runtime, durability: str, read_url: str | None = None) -> Store:
    if read_url is not None and _scheme(str(url)) not in _POSTGRES:
        raise Unsupported("read_url= names a replica of a Postgres database; this memory does not use Postgres")
    if url is None or url in IN_RAM:
        from .memory import MemoryStore

        return MemoryStore()
    if not isinstance(url, str | os.PathLike):
        if hasattr(url, "apply") and hasattr(url, "scan"):
            store: Store = url
            return store
        raise UsageError(f"a memory is opened with a path or a URL, not {type(url).__name__}")
    text = os.fspath(url)
    scheme = _scheme(text)
    if scheme in ("", "sqlite", "file"):
        return _sqlite(text, scheme, runtime, durability)
    if scheme in _POSTGRES:
        return _load("postgres", "PostgresStore")(text, runtime=runtime, durability=durability, read_url=read_url)
    if scheme in _REDIS:
        return _load("redis", "RedisStore")(text, runtime=runtime, durability=durability)
    raise UsageError(
        f"no store for {scheme}:// URLs; use a path, sqlite:///path, postgresql://…, redis://…, redis+cluster://…, "
        "redis+sentinel://… or memory://"
    )


def _scheme(text: str) -> str:
    """Return the scheme of a URL, or "" for a path. Errors do not repeat the text, which may contain a password."""
    if "://" not in text:
        return ""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        if "," not in parts.netloc:  # the URL of a cluster may list several hosts, which `port` cannot parse
            _ = parts.port
    except ValueError:
        raise UsageError("this URL cannot be read; an IPv6 host needs brackets, and a port must be a number") from None
    if parts.scheme in ("sqlite", "file") and parts.netloc:
        raise UsageError(f"a file has no host; write {parts.scheme}:///path with three slashes, or the path alone")
    return parts.scheme


def _sqlite(text: str, scheme: str, runtime: Runtime, durability: str) -> Store:
    from .sqlite import SqliteStore

    if scheme:
        from urllib.parse import unquote

        # As in SQLAlchemy's URLs, sqlite:///relative.db has three slashes and sqlite:////absolute.db has four.
        text = unquote(text.partition("://")[2])
        text = text.removeprefix("/") if text.startswith("/") else text
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise UsageError("the path of the memory file has a lone surrogate, which no file system accepts") from None
    if not text or "\x00" in text:
        raise UsageError("the path of the memory file is empty or contains a NUL")
    return SqliteStore(text, runtime=runtime, durability=durability)


def _load(module: str, name: str) -> Callable[..., Store]:
    import importlib

    try:
        store_class: Callable[..., Store] = getattr(importlib.import_module(f"memorist.stores.{module}"), name)
        return store_class
    except ModuleNotFoundError as cause:
        # A missing module of our own is a bug, and advice to install a driver would hide it.
        if cause.name and cause.name.startswith("memorist"):
            raise
        raise UsageError(
            f"the {module} store needs a driver that is not installed; run: {install_command(module)}"
        ) from cause
