"""Memorist: memory and context for LLM agents.

Importing this opens, reads and sends nothing; each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "memory": ("AsyncMemory", "AsyncBatch"),
    "running": ("run_with_memory",),
    "blocking.memory": ("Memory", "Batch"),
    "messages.message": ("Message", "ToolCall", "ToolResult"),
    "scope": ("Namespace",),
    "ports": ("Embedder", "Reranker", "Model", "Completion", "Usage", "TokenCounter", "Clock"),
    "stores.base": ("Store", "Scrubbed"),
    "records": (
        "Fact", "Event", "Thread", "Summary", "Learning", "Document", "Chunk", "StateEntry", "AuditEvent", "Task",
        "Job",
    ),
    "engine.threads.receipts": ("MessageReceipt",),
    "engine.sessions.assembling": ("Recall",),
    "engine.sessions.inject": ("Remember",),
    "engine.records": ("OpaqueRecord", "RecordPut"),
    "engine.sessions.session": ("AsyncSession", "SessionState", "Turn", "Ended"),
    "engine.hooks": ("HookEvent",),
    "engine.derive.outbox": ("Backlog",),
    "engine.health": ("Stats", "ReadingCost", "Turns", "Diagnosis"),
    "engine.entities": ("EntityStats",),
    "engine.memories": ("Remembered",),
    "engine.portable": ("Transfer", "AsyncExport"),
    "engine.watching": ("Notice", "AsyncWatch"),
    "blocking.export": ("Export",),
    "blocking.watch": ("Watch",),
    "importing.report": ("ImportReport", "Sample"),
    "importing.items": ("Problem",),
    "engine.processors": (
        "TtlGarbageCollector", "TokenLimiter", "Summarizer", "FactExtractor", "LearningExtractor",
        "VectorIndexer", "Archiver", "Deduplicator", "Processor", "Report",
    ),
    "recall.hit": ("Hit", "Reason"),
    "context.budget": ("TokenBudget",),
    "context.builder": ("PromptBuilder",),
    "context.context": ("Context",),
    "context.manifest": ("Manifest",),
    "context.compress": ("compress", "maybe_compress"),
    "context.policies": ("Fifo", "SlidingWindow", "Summarize", "VectorSwap", "Importance", "ElideToolResults", "Chain"),
    "context.items": ("MemoryItem",),
    "context.profile": ("ProfileLine",),
    "context.tokens": ("open_counter",),
    "context.fates": ("InputFate",),
    "context.plan": ("Policy",),
    "engine.tasks.tasks": ("Checkpoint",),
    "engine.working": ("Working", "WorkingUser", "Page", "Action", "PlanStep"),
    "engine.profile": ("UserProfile",),
    "engine.forgetting.forget": ("Erasure",),
    "engine.forgetting.provenance": ("Why", "WhyStep"),
    "errors": (
        "MemoristError", "UsageError", "InvalidNamespace", "Forbidden", "InvalidFilter", "InvalidValue", "TooLarge",
        "Unsupported", "NotFound", "Conflict", "BudgetError", "StoreError", "StoreUnavailable",
        "StoreTimeout", "CorruptRecord", "SchemaError", "UnknownOutcome", "ModelError", "LeaseLost",
        "SuspendedError",
    ),
    "stores.opening": ("NothingLasts",),
    "engine.tasks.run": ("AsyncTaskRun",),
    "blocking.session": ("Session",),
    "blocking.tasks": ("TaskRun",),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'memorist' has no attribute {name!r}")
    value = getattr(import_module(f"memorist.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)


if TYPE_CHECKING:
    from .blocking.export import Export as Export
    from .blocking.memory import Batch as Batch
    from .blocking.memory import Memory as Memory
    from .blocking.session import Session as Session
    from .blocking.tasks import TaskRun as TaskRun
    from .blocking.watch import Watch as Watch
    from .context.budget import TokenBudget as TokenBudget
    from .context.builder import PromptBuilder as PromptBuilder
    from .context.compress import compress as compress
    from .context.compress import maybe_compress as maybe_compress
    from .context.context import Context as Context
    from .context.fates import InputFate as InputFate
    from .context.items import MemoryItem as MemoryItem
    from .context.manifest import Manifest as Manifest
    from .context.plan import Policy as Policy
    from .context.policies import Chain as Chain
    from .context.policies import ElideToolResults as ElideToolResults
    from .context.policies import Fifo as Fifo
    from .context.policies import Importance as Importance
    from .context.policies import SlidingWindow as SlidingWindow
    from .context.policies import Summarize as Summarize
    from .context.policies import VectorSwap as VectorSwap
    from .context.profile import ProfileLine as ProfileLine
    from .context.tokens import open_counter as open_counter
    from .engine.derive.outbox import Backlog as Backlog
    from .engine.entities import EntityStats as EntityStats
    from .engine.forgetting.forget import Erasure as Erasure
    from .engine.forgetting.provenance import Why as Why
    from .engine.forgetting.provenance import WhyStep as WhyStep
    from .engine.health import Diagnosis as Diagnosis
    from .engine.health import ReadingCost as ReadingCost
    from .engine.health import Stats as Stats
    from .engine.health import Turns as Turns
    from .engine.hooks import HookEvent as HookEvent
    from .engine.memories import Remembered as Remembered
    from .engine.portable import AsyncExport as AsyncExport
    from .engine.portable import Transfer as Transfer
    from .engine.processors import Archiver as Archiver
    from .engine.processors import Deduplicator as Deduplicator
    from .engine.processors import FactExtractor as FactExtractor
    from .engine.processors import LearningExtractor as LearningExtractor
    from .engine.processors import Processor as Processor
    from .engine.processors import Report as Report
    from .engine.processors import Summarizer as Summarizer
    from .engine.processors import TokenLimiter as TokenLimiter
    from .engine.processors import TtlGarbageCollector as TtlGarbageCollector
    from .engine.processors import VectorIndexer as VectorIndexer
    from .engine.profile import UserProfile as UserProfile
    from .engine.records import OpaqueRecord as OpaqueRecord
    from .engine.records import RecordPut as RecordPut
    from .engine.sessions.assembling import Recall as Recall
    from .engine.sessions.inject import Remember as Remember
    from .engine.sessions.session import AsyncSession as AsyncSession
    from .engine.sessions.session import Ended as Ended
    from .engine.sessions.session import SessionState as SessionState
    from .engine.sessions.session import Turn as Turn
    from .engine.tasks.run import AsyncTaskRun as AsyncTaskRun
    from .engine.tasks.tasks import Checkpoint as Checkpoint
    from .engine.threads.receipts import MessageReceipt as MessageReceipt
    from .engine.watching import AsyncWatch as AsyncWatch
    from .engine.watching import Notice as Notice
    from .engine.working import Action as Action
    from .engine.working import Page as Page
    from .engine.working import PlanStep as PlanStep
    from .engine.working import Working as Working
    from .engine.working import WorkingUser as WorkingUser
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
    from .importing.items import Problem as Problem
    from .importing.report import ImportReport as ImportReport
    from .importing.report import Sample as Sample
    from .memory import AsyncBatch as AsyncBatch
    from .memory import AsyncMemory as AsyncMemory
    from .messages.message import Message as Message
    from .messages.message import ToolCall as ToolCall
    from .messages.message import ToolResult as ToolResult
    from .ports import Clock as Clock
    from .ports import Completion as Completion
    from .ports import Embedder as Embedder
    from .ports import Model as Model
    from .ports import Reranker as Reranker
    from .ports import TokenCounter as TokenCounter
    from .ports import Usage as Usage
    from .recall.hit import Hit as Hit
    from .recall.hit import Reason as Reason
    from .records import AuditEvent as AuditEvent
    from .records import Chunk as Chunk
    from .records import Document as Document
    from .records import Event as Event
    from .records import Fact as Fact
    from .records import Job as Job
    from .records import Learning as Learning
    from .records import StateEntry as StateEntry
    from .records import Summary as Summary
    from .records import Task as Task
    from .records import Thread as Thread
    from .running import run_with_memory as run_with_memory
    from .scope import Namespace as Namespace
    from .stores.base import Scrubbed as Scrubbed
    from .stores.base import Store as Store
    from .stores.opening import NothingLasts as NothingLasts
