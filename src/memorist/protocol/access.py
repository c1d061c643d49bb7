"""The access that each public method needs, for a user's handle. The table in `docs/security.md` is made from it.

The engine enforces it at the start of each method (`Scope.readable`, `writable`, `whole_org`); a test calls every
method with every kind of handle and compares the outcome with this table.
"""

from __future__ import annotations

from typing import Literal

from ..errors import UsageError

Access = Literal["read", "write", "own", "org", "handle"]
"""`read`: works on namespaces the handle may read. `write`: on those it may write. `own`: on rows of the handle's user
alone. `org`: refused to a user's handle, because it works on other users' rows too. `handle`: touches no rows."""

ACCESS: dict[str, Access] = {
    "audit.expire": "org",
    "audit.list": "own",
    "batch": "handle",
    "close": "handle",
    "context": "read",
    "doctor": "org",
    "documents.add": "write",
    "documents.chunks": "read",
    "documents.delete": "write",
    "documents.get": "read",
    "documents.get_many": "read",
    "documents.list": "read",
    "entities.get": "org",
    "entities.get_many": "org",
    "entities.invalidate": "org",
    "entities.register": "org",
    "entities.stats": "org",
    "export": "org",
    "export_lines": "org",
    "facts.correct": "write",
    "facts.delete": "write",
    "facts.delete_expired": "write",
    "facts.delete_range": "write",
    "facts.get": "read",
    "facts.get_many": "read",
    "facts.history": "read",
    "facts.list": "read",
    "facts.reject": "write",
    "facts.set": "write",
    "facts.set_many": "write",
    "facts.touch": "write",
    "forget": "write",
    "import_": "org",
    "import_from": "org",
    "jobs.backlog": "write",
    "jobs.dead": "write",
    "jobs.drain": "org",
    "jobs.retry_dead": "write",
    "jobs.wait": "own",
    "learnings.add": "own",
    "learnings.delete": "own",
    "learnings.get": "own",
    "learnings.get_many": "own",
    "learnings.list": "own",
    "learnings.reinforce": "own",
    "learnings.used": "own",
    "learnings.weaken": "own",
    "namespaces": "read",
    "on": "org",
    "on_context": "org",
    "on_fact": "org",
    "on_fold": "org",
    "on_forget": "org",
    "on_job": "org",
    "on_learning": "org",
    "on_message": "org",
    "on_recall": "org",
    "process": "org",
    "profile.block": "own",
    "profile.get": "own",
    "profile.get_many": "own",
    "profile.set_preference": "own",
    "recall": "read",
    "records.delete": "write",
    "records.delete_range": "write",
    "records.get": "read",
    "records.get_many": "read",
    "records.put": "write",
    "records.put_many": "write",
    "records.scan": "read",
    "scope": "handle",
    "scrub": "org",
    "session": "write",
    "state.delete": "own",
    "state.entry": "own",
    "state.get": "own",
    "state.get_many": "own",
    "state.increment": "own",
    "state.list": "own",
    "state.set": "own",
    "stats": "read",
    "task": "write",
    "tasks.delete": "write",
    "tasks.get": "read",
    "tasks.get_many": "read",
    "tasks.history": "read",
    "tasks.list": "read",
    "tasks.resume": "read",
    "tasks.run": "write",
    "tasks.save": "write",
    "threads.append": "write",
    "threads.create": "write",
    "threads.delete": "write",
    "threads.delete_messages": "write",
    "threads.fork": "write",
    "threads.get": "read",
    "threads.get_many": "read",
    "threads.list": "read",
    "threads.message": "read",
    "threads.messages": "read",
    "threads.pop": "write",
    "threads.recent": "read",
    "threads.redact": "write",
    "threads.replace": "write",
    "threads.summaries": "read",
    "threads.update": "write",
    "trace": "org",
    "wait": "own",
    "watch": "read",
    "why": "read",
    "working.add_turn": "own",
    "working.clear": "own",
    "working.get": "own",
    "working.get_many": "own",
    "working.record_action": "own",
    "working.set": "own",
    "working.template": "handle",
    "working.undo_action": "own",
    "working.update": "own",
}
"""Access by the name of the operation, as in `memorist.protocol.surface.operations()`."""


def access_of(name: str) -> Access:
    """The access that an operation needs; raises with what to do if the table has no row for it."""
    try:
        return ACCESS[name]
    except KeyError:
        raise UsageError(
            f"{name} has no row in ACCESS (memorist/protocol/access.py); add one that says its access"
        ) from None
