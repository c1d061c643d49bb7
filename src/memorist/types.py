"""Exports the types of results, and the protocols of parts that you can plug in.

You rarely need to import these, because methods return them and type checkers know them. Use them in annotations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import load

_HOMES = {
    "engine.memories": ("Remembered",),
    "engine.remembering": ("Refusal", "Understood"),
    "engine.tidying": ("Plan", "PlanLine", "AsyncPlan"),
    "blocking.plans": ("TidyPlan",),
    "extract.extraction": ("Proposal",),
    "memory": ("AsyncBatch",),
    "blocking.memory": ("Batch",),
    "ports": ("Embedder", "Reranker", "Model", "Completion", "Usage", "TokenCounter", "Clock"),
    "stores.base": ("Store", "Scrubbed"),
    "records": ("Candidate", "Summary", "Chunk", "StateEntry", "AuditEvent", "Task", "Job"),
    "engine.threads.receipts": ("MessageReceipt",),
    "engine.threads.attributing": ("SummaryLine",),
    "engine.records": ("OpaqueRecord", "RecordPut"),
    "engine.sessions.session": ("SessionState", "Turn", "Ended"),
    "engine.sessions.children": ("ChildResult",),
    "engine.hooks": ("HookEvent",),
    "engine.derive.outbox": ("Backlog",),
    "engine.retaining": ("RetentionState",),
    "engine.health": ("Stats", "ReadingCost", "Turns", "Diagnosis"),
    "engine.entities": ("EntityStats",),
    "engine.gating": ("GateCheck", "GateReport"),
    "engine.portable": ("Transfer", "AsyncExport"),
    "engine.watching": ("Notice", "AsyncWatch"),
    "blocking.export": ("Export",),
    "blocking.watch": ("Watch",),
    "importing.report": ("ImportReport", "Sample"),
    "importing.items": ("Problem",),
    "engine.processors": ("Processor", "Report"),
    "recall.hit": ("Reason",),
    "context.manifest": ("Manifest",),
    "context.items": ("MemoryItem",),
    "context.profile": ("ProfileLine",),
    "context.tokens": ("open_counter",),
    "context.fates": ("InputFate",),
    "messages.stashed": ("Stashed",),
    "messages.compactions": ("Compaction",),
    "messages.reports": ("Piece", "Break", "RequestReport"),
    "context.plan": ("Policy",),
    "engine.working": ("WorkingUser", "Page", "Action", "PlanStep"),
    "engine.profile": ("UserProfile",),
    "engine.provenance": ("Why", "WhyStep"),
    "stores.opening": ("NothingLasts",),
    "engine.tasks.run": ("AsyncTaskRun",),
    "blocking.tasks": ("TaskRun",),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    value = globals()[name] = load(__name__, _HOME_OF, name)
    return value


def __dir__() -> list[str]:
    return list(__all__)


if TYPE_CHECKING:
    from .blocking.export import Export as Export
    from .blocking.memory import Batch as Batch
    from .blocking.plans import TidyPlan as TidyPlan
    from .blocking.tasks import TaskRun as TaskRun
    from .blocking.watch import Watch as Watch
    from .context.fates import InputFate as InputFate
    from .context.items import MemoryItem as MemoryItem
    from .context.manifest import Manifest as Manifest
    from .context.plan import Policy as Policy
    from .context.profile import ProfileLine as ProfileLine
    from .context.tokens import open_counter as open_counter
    from .engine.derive.outbox import Backlog as Backlog
    from .engine.entities import EntityStats as EntityStats
    from .engine.gating import GateCheck as GateCheck
    from .engine.gating import GateReport as GateReport
    from .engine.health import Diagnosis as Diagnosis
    from .engine.health import ReadingCost as ReadingCost
    from .engine.health import Stats as Stats
    from .engine.health import Turns as Turns
    from .engine.hooks import HookEvent as HookEvent
    from .engine.memories import Remembered as Remembered
    from .engine.portable import AsyncExport as AsyncExport
    from .engine.portable import Transfer as Transfer
    from .engine.processors import Processor as Processor
    from .engine.processors import Report as Report
    from .engine.profile import UserProfile as UserProfile
    from .engine.provenance import Why as Why
    from .engine.provenance import WhyStep as WhyStep
    from .engine.records import OpaqueRecord as OpaqueRecord
    from .engine.records import RecordPut as RecordPut
    from .engine.remembering import Refusal as Refusal
    from .engine.remembering import Understood as Understood
    from .engine.retaining import RetentionState as RetentionState
    from .engine.sessions.children import ChildResult as ChildResult
    from .engine.sessions.session import Ended as Ended
    from .engine.sessions.session import SessionState as SessionState
    from .engine.sessions.session import Turn as Turn
    from .engine.tasks.run import AsyncTaskRun as AsyncTaskRun
    from .engine.threads.attributing import SummaryLine as SummaryLine
    from .engine.threads.receipts import MessageReceipt as MessageReceipt
    from .engine.tidying import AsyncPlan as AsyncPlan
    from .engine.tidying import Plan as Plan
    from .engine.tidying import PlanLine as PlanLine
    from .engine.watching import AsyncWatch as AsyncWatch
    from .engine.watching import Notice as Notice
    from .engine.working import Action as Action
    from .engine.working import Page as Page
    from .engine.working import PlanStep as PlanStep
    from .engine.working import WorkingUser as WorkingUser
    from .extract.extraction import Proposal as Proposal
    from .importing.items import Problem as Problem
    from .importing.report import ImportReport as ImportReport
    from .importing.report import Sample as Sample
    from .memory import AsyncBatch as AsyncBatch
    from .messages.compactions import Compaction as Compaction
    from .messages.reports import Break as Break
    from .messages.reports import Piece as Piece
    from .messages.reports import RequestReport as RequestReport
    from .messages.stashed import Stashed as Stashed
    from .ports import Clock as Clock
    from .ports import Completion as Completion
    from .ports import Embedder as Embedder
    from .ports import Model as Model
    from .ports import Reranker as Reranker
    from .ports import TokenCounter as TokenCounter
    from .ports import Usage as Usage
    from .recall.hit import Reason as Reason
    from .records import AuditEvent as AuditEvent
    from .records import Candidate as Candidate
    from .records import Chunk as Chunk
    from .records import Job as Job
    from .records import StateEntry as StateEntry
    from .records import Summary as Summary
    from .records import Task as Task
    from .stores.base import Scrubbed as Scrubbed
    from .stores.base import Store as Store
    from .stores.opening import NothingLasts as NothingLasts
