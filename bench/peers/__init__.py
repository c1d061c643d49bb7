"""Peers from the package index, in an environment of their own, beside ours: same machine, same disk, same minute."""

from __future__ import annotations

from .compare import run

__all__ = ["run"]
