"""Implements the blocking and async Redis store on plain Redis 7 or Valkey, for one server or a Cluster."""

from __future__ import annotations

from .checks import DurabilityWarning
from .store import RedisStore

__all__ = ["DurabilityWarning", "RedisStore"]
