"""Parses the server's address, which is a libpq URL with our own options as `memorist_…` parameters."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ...errors import UsageError


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the settings of a Postgres store. Times are in seconds."""

    conninfo: str
    """This is for libpq. It contains the password, so it is never shown."""
    address: str
    """This is `host:port`, for messages."""
    durability: str = "full"
    pool_size: int = 10
    prepare: bool = True
    statement_timeout: float = 30.0
    lock_timeout: float = 10.0
    connect_timeout: float = 10.0


_SWITCH = {"on": True, "true": True, "1": True, "yes": True, "off": False, "false": False, "0": False, "no": False}


def options_of(url: str, **overrides: object) -> Options:
    """Return options from a URL and keywords. Keywords have priority."""
    plain, ours = _split(url)
    values = {name: _read(name, text) for name, text in ours.items()}
    values.update((name, value) for name, value in overrides.items() if value is not None)
    _check(values)
    try:
        parts = conninfo_to_dict(plain)
    except psycopg.Error:
        # The driver's own message quotes the URL, password included.
        raise UsageError("not a Postgres URL; write it like postgresql://user:password@host:5432/database") from None
    host = parts.get("host") or parts.get("hostaddr") or os.environ.get("PGHOST") or "localhost"
    address = f"{host}:{parts.get('port') or os.environ.get('PGPORT') or 5432}"
    # libpq takes whole seconds, and 0 would mean to wait forever.
    timeout = max(1, round(values.get("connect_timeout", 10.0)))
    name = str(parts.get("application_name") or "memorist")
    # Parameters and results are encoded and decoded as UTF-8 here, whatever PGCLIENTENCODING says.
    conninfo = make_conninfo(plain, connect_timeout=timeout, client_encoding="UTF8", application_name=name)
    return Options(conninfo=conninfo, address=address, **values)


def _split(url: str) -> tuple[str, dict[str, str]]:
    pieces = urlsplit(url)
    pairs = parse_qsl(pieces.query, keep_blank_values=True)
    ours = {name.removeprefix("memorist_"): value for name, value in pairs if name.startswith("memorist_")}
    rest = [(name, value) for name, value in pairs if not name.startswith("memorist_")]
    return urlunsplit(pieces._replace(query=urlencode(rest))), ours


def _read(name: str, text: str) -> Any:
    types: dict[str, Any] = {
        "pool_size": int, "prepare": _switch, "statement_timeout": float,
        "lock_timeout": float, "connect_timeout": float,
    }  # fmt: skip
    if name not in types:
        raise UsageError(f"unknown option memorist_{name} in the URL; use one of {', '.join(sorted(types))}")
    try:
        return types[name](text)
    except (ValueError, KeyError):
        raise UsageError(f"option memorist_{name} in the URL cannot be read") from None


def _switch(text: str) -> bool:
    return _SWITCH[text.lower()]


def _check(values: dict[str, Any]) -> None:
    if values.get("durability", "full") not in ("full", "normal"):
        raise UsageError("durability is 'full' or 'normal' (a crash of the server may lose the last writes)")
    if values.get("pool_size", 1) < 1:
        raise UsageError("pool_size must be at least 1")
    for name in ("statement_timeout", "lock_timeout", "connect_timeout"):
        if values.get(name, 1.0) <= 0:
            raise UsageError(f"{name} must be positive seconds")
