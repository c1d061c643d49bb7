"""Loads public names from their modules when they are first used, so that importing the package is quick."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module


def load(module: str, home_of: Mapping[str, str], name: str) -> object:
    """Return the object behind a public name of a module. Raises AttributeError if there is none."""
    home = home_of.get(name)
    if home is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return getattr(import_module(f"memorist.{home}"), name)
