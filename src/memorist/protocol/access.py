"""Lists the access that each public method requires on a user's handle. The table in `docs/security.md` is generated
from it.

The engine enforces it at the start of each method (`Scope.readable`, `writable`, `whole_org`). A test calls every
method with every kind of handle and compares the outcome with this table.
"""

from __future__ import annotations

from typing import Literal

from ..errors import UsageError

Access = Literal["read", "write", "own", "org", "handle"]
"""`read` works on namespaces that the handle may read, and `write` on namespaces that it may write. `own` works only on
rows of the handle's user. `org` is refused on a user's handle, because it also works on other users' rows. `handle`
does not touch any rows."""

_METHODS: dict[str, dict[Access, str]] = {
    "": {
        "read": "context namespaces recall stats watch why",
        "write": "forget session task tidy",
        "own": "remember wait",
        "org": "doctor export export_lines import_ import_from on process scrub trace",
        "handle": "batch close find_tools scope",
    },
    "audit": {"own": "list", "org": "expire"},
    "documents": {"read": "chunks get get_many list", "write": "add delete"},
    "entities": {"org": "get get_many invalidate register stats"},
    "events": {"read": "get get_many history list", "write": "add cancel delete update"},
    "facts": {
        "read": "get get_many history list",
        "write": "correct delete delete_expired delete_range end reject restore set set_many touch unforget update",
    },
    "gate": {"own": "check get", "org": "report reset set"},
    "jobs": {"write": "backlog dead retry_dead", "org": "drain"},
    "learnings": {"own": "add delete get get_many list reinforce update used weaken"},
    "memories": {"read": "get get_many history list search typed", "write": "delete undo update"},
    "plans": {"write": "apply make undo"},
    "profile": {"own": "block get get_many set_preference"},
    "records": {"read": "get get_many scan", "write": "delete delete_range put put_many"},
    "review": {"read": "get get_many list", "write": "approve edit reject"},
    "state": {"own": "delete entry get get_many increment list set"},
    "tasks": {"read": "get_many history list resume", "write": "delete run save"},
    "threads": {
        "read": "compactions get get_many list message messages recent requests summaries summary_lines",
        "write": "append create delete delete_messages fork pin pop redact replace report stash update",
    },
    "working": {"own": "add_turn clear get get_many record_action set undo_action update", "handle": "template"},
}
"""The methods by the group they belong to, and by the access that they need. The memory's own methods have no group."""

ACCESS: dict[str, Access] = {
    f"{group}.{method}".lstrip("."): access
    for group, methods in _METHODS.items()
    for access, names in methods.items()
    for method in names.split()
}
"""Access by the name of the operation, as in `memorist.protocol.surface.operations()`."""


def access_of(name: str) -> Access:
    """Return the access that an operation needs. If the table has no row for it, raise an error with advice."""
    try:
        return ACCESS[name]
    except KeyError:
        raise UsageError(
            f"{name} has no row in ACCESS (memorist/protocol/access.py); add one with the access that it needs"
        ) from None
