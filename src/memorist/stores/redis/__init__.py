"""The Redis store: plain Redis 7 or Valkey, one server or a Cluster, blocking and async."""

from __future__ import annotations

from .checks import DurabilityWarning
from .store import RedisStore

__all__ = ["DurabilityWarning", "RedisStore"]
