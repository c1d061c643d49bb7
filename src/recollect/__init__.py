"""Recollect: memory and context for LLM agents.

Importing this opens, reads and sends nothing; each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "memory": ("Memory", "AsyncMemory"),
    "messages": ("Message", "ToolCall", "ToolResult"),
    "scope": ("Namespace", "Scope"),
    "records": ("Fact", "Thread", "Summary", "Learning", "Document", "StateEntry", "AuditEvent"),
    "engine.threads": ("MessageReceipt",),
    "engine.tasks": ("Checkpoint",),
    "engine.working": ("Working", "WorkingUser", "Page", "Action", "PlanStep"),
    "engine.profile": ("UserProfile",),
    "engine.forget": ("Erasure",),
    "engine.provenance": ("Why",),
    "errors": (
        "RecollectError", "UsageError", "InvalidNamespace", "InvalidFilter", "InvalidValue", "TooLarge", "Unsupported",
        "NotFound", "Conflict", "BudgetError", "StoreError", "StoreUnavailable", "StoreTimeout", "CorruptRecord",
        "SchemaError", "UnknownOutcome", "ModelError", "LeaseLost", "SuspendedError",
    ),
    "stores.opening": ("NothingLasts",),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    value = getattr(import_module(f"recollect.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)


if TYPE_CHECKING:
    from .engine.forget import Erasure as Erasure
    from .engine.profile import UserProfile as UserProfile
    from .engine.provenance import Why as Why
    from .engine.tasks import Checkpoint as Checkpoint
    from .engine.threads import MessageReceipt as MessageReceipt
    from .engine.working import Action as Action
    from .engine.working import Page as Page
    from .engine.working import PlanStep as PlanStep
    from .engine.working import Working as Working
    from .engine.working import WorkingUser as WorkingUser
    from .errors import *  # noqa: F403
    from .memory import AsyncMemory as AsyncMemory
    from .memory import Memory as Memory
    from .messages import Message as Message
    from .messages import ToolCall as ToolCall
    from .messages import ToolResult as ToolResult
    from .records import AuditEvent as AuditEvent
    from .records import Document as Document
    from .records import Fact as Fact
    from .records import Learning as Learning
    from .records import StateEntry as StateEntry
    from .records import Summary as Summary
    from .records import Thread as Thread
    from .scope import Namespace as Namespace
    from .scope import Scope as Scope
    from .stores.opening import NothingLasts as NothingLasts
