"""Puts a hot store in front of a durable one."""

from .store import TieredStore

__all__ = ["TieredStore"]
