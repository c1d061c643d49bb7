"""Memorist: memory and context for LLM agents. Importing the package does not open, read or send anything; each name is
loaded when it is first used. These are the names that most programs need. `memorist.types` contains the types of
results and of parts that you can plug in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import load

__version__ = "0.1.0"

_HOMES = {
    "memory": ("AsyncMemory",),
    "running": ("run_with_memory",),
    "blocking.memory": ("Memory",),
    "messages.message": ("Message", "ToolCall", "ToolResult"),
    "scope": ("Namespace",),
    "records": ("Fact", "Event", "Thread", "Learning", "Document"),
    "engine.sessions.assembling": ("Recall",),
    "engine.sessions.inject": ("Remember",),
    "engine.sessions.session": ("AsyncSession",),
    "engine.forgetting.forget": ("Erasure",),
    "extract.extraction": ("Extraction",),
    "gate.policy": ("Gate", "Retention"),
    "gate.encryption": ("Encryption",),
    "engine.processors": (
        "TtlGarbageCollector", "TokenLimiter", "Summarizer", "FactExtractor", "VectorIndexer", "Embedder",
        "Archiver", "Deduplicator", "Tidier",
    ),
    "recall.hit": ("Hit",),
    "context.budget": ("TokenBudget",),
    "context.builder": ("PromptBuilder",),
    "context.context": ("Context",),
    "context.compress": ("compress",),
    "context.policies": (
        "Fifo", "SlidingWindow", "Summarize", "VectorSwap", "Importance", "ElideToolResults", "Chain",
    ),
    "engine.tasks.tasks": ("Checkpoint",),
    "engine.working": ("Working",),
    "errors": (
        "MemoristError", "UsageError", "InvalidNamespace", "Forbidden", "InvalidFilter", "InvalidValue", "TooLarge",
        "NotAdmitted", "Unsupported", "NotFound", "Conflict", "BudgetError", "StoreError", "StoreUnavailable",
        "StoreTimeout", "CorruptRecord", "SchemaError", "UnknownOutcome", "ModelError", "LeaseLost", "SuspendedError",
    ),
    "blocking.session": ("Session",),
    "wrapping.clients": ("wrap",),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted({*_HOME_OF, "__version__"} - {"Embedder"})  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    value = globals()[name] = load(__name__, _HOME_OF, name)
    return value


def __dir__() -> list[str]:
    return list(__all__)


if TYPE_CHECKING:
    from .blocking.memory import Memory as Memory
    from .blocking.session import Session as Session
    from .context.budget import TokenBudget as TokenBudget
    from .context.builder import PromptBuilder as PromptBuilder
    from .context.compress import compress as compress
    from .context.context import Context as Context
    from .context.policies import Chain as Chain
    from .context.policies import ElideToolResults as ElideToolResults
    from .context.policies import Fifo as Fifo
    from .context.policies import Importance as Importance
    from .context.policies import SlidingWindow as SlidingWindow
    from .context.policies import Summarize as Summarize
    from .context.policies import VectorSwap as VectorSwap
    from .engine.forgetting.forget import Erasure as Erasure
    from .engine.processors import Archiver as Archiver
    from .engine.processors import Deduplicator as Deduplicator
    from .engine.processors import Embedder as Embedder
    from .engine.processors import FactExtractor as FactExtractor
    from .engine.processors import Summarizer as Summarizer
    from .engine.processors import Tidier as Tidier
    from .engine.processors import TokenLimiter as TokenLimiter
    from .engine.processors import TtlGarbageCollector as TtlGarbageCollector
    from .engine.processors import VectorIndexer as VectorIndexer
    from .engine.sessions.assembling import Recall as Recall
    from .engine.sessions.inject import Remember as Remember
    from .engine.sessions.session import AsyncSession as AsyncSession
    from .engine.tasks.tasks import Checkpoint as Checkpoint
    from .engine.working import Working as Working
    from .errors import BudgetError as BudgetError
    from .errors import Conflict as Conflict
    from .errors import CorruptRecord as CorruptRecord
    from .errors import Forbidden as Forbidden
    from .errors import InvalidFilter as InvalidFilter
    from .errors import InvalidNamespace as InvalidNamespace
    from .errors import InvalidValue as InvalidValue
    from .errors import LeaseLost as LeaseLost
    from .errors import MemoristError as MemoristError
    from .errors import ModelError as ModelError
    from .errors import NotAdmitted as NotAdmitted
    from .errors import NotFound as NotFound
    from .errors import SchemaError as SchemaError
    from .errors import StoreError as StoreError
    from .errors import StoreTimeout as StoreTimeout
    from .errors import StoreUnavailable as StoreUnavailable
    from .errors import SuspendedError as SuspendedError
    from .errors import TooLarge as TooLarge
    from .errors import UnknownOutcome as UnknownOutcome
    from .errors import Unsupported as Unsupported
    from .errors import UsageError as UsageError
    from .extract.extraction import Extraction as Extraction
    from .gate.encryption import Encryption as Encryption
    from .gate.policy import Gate as Gate
    from .gate.policy import Retention as Retention
    from .memory import AsyncMemory as AsyncMemory
    from .messages.message import Message as Message
    from .messages.message import ToolCall as ToolCall
    from .messages.message import ToolResult as ToolResult
    from .recall.hit import Hit as Hit
    from .records import Document as Document
    from .records import Event as Event
    from .records import Fact as Fact
    from .records import Learning as Learning
    from .records import Thread as Thread
    from .running import run_with_memory as run_with_memory
    from .scope import Namespace as Namespace
    from .wrapping.clients import wrap as wrap
