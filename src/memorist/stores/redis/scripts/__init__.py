"""Contains the Lua scripts. Each is prefixed with rows.lua, which contains the functions that all of them use."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple


class Script(NamedTuple):
    """Holds a script's text and the digest by which the server identifies it."""

    text: bytes
    digest: bytes

    def command(self, key: bytes, args: Sequence[object]) -> tuple[object, ...]:
        """Return the command that runs the script by its digest."""
        # Only one key is declared. The script computes the others, which share its hash tag and therefore its Cluster
        # slot. In a Cluster, the declared key decides which node runs the script.
        return ("EVALSHA", self.digest, 1, key, *args)


def _load(name: str) -> Script:
    folder = files(__package__ or __name__)
    text = folder.joinpath("rows.lua").read_bytes() + folder.joinpath(f"{name}.lua").read_bytes()
    script = Script(text, hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())
    TEXTS[script.digest] = script.text
    return script


TEXTS: dict[bytes, bytes] = {}
"""The texts of all scripts by their digests, for servers that do not know a script yet."""


APPLY = _load("apply")
SCAN = _load("scan")
PURGE = _load("purge")
CLAIM = _load("claim")
USE_INDEXES = _load("use_indexes")
BRING_IN = _load("bring_in")
DONE = _load("done")
ENDING_ENTER = _load("ending_enter")
ENDING_LEAVE = _load("ending_leave")
RETIRE = _load("retire")
