"""Implements the Postgres store, which needs the `postgres` extra."""

from __future__ import annotations

from ...errors import Unsupported
from ...extras import install_command

try:
    import psycopg as _driver  # noqa: F401  # imported here first, so that a missing extra raises one clear error
except ImportError as cause:
    raise Unsupported(f"the Postgres driver is not installed; run: {install_command('postgres')}") from cause

from .store import PostgresStore

__all__ = ["PostgresStore"]
