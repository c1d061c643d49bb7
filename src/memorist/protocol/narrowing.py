"""Implements the `Memorist-Scope` header, which a client uses to narrow a request to one user of the org, or to fewer
grants."""

from __future__ import annotations

import json

import msgspec

NARROWED = "memorist-scope"
"""The name of the header, whose value is a JSON object."""


class Narrowed(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Describes how a handle on a server was narrowed."""

    org: str | None = None
    user: str | None = None
    actor: str | None = None
    read: list[str] | None = None
    write: list[str] | None = None

    def header(self) -> dict[str, str]:
        """Return the header to send, or an empty dict if nothing is narrowed."""
        # Not msgspec's encoder: `json.dumps` escapes all other characters, and a header's value must be ASCII.
        text = json.dumps(msgspec.to_builtins(self))
        return {} if text == "{}" else {NARROWED: text}
