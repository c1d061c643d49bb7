"""Assembles a request to a model: within its token budget, with whole tool exchanges, stable for prompt caches."""

from .assemble import Assembly
from .budget import TokenBudget
from .builder import PromptBuilder
from .compress import compress, maybe_compress
from .context import Context
from .fold import Fold, fold_of, plan_fold, write_fold
from .items import MemoryItem
from .manifest import Manifest
from .measure import count_message, count_tools
from .policies import Chain, ElideToolResults, Fifo, Importance, SlidingWindow, Summarize, VectorSwap
from .profile import ProfileLine
from .summaries import summarize
from .tokens import open_counter
from .units import Unit, units

__all__ = [
    "Assembly",
    "Chain",
    "Context",
    "ElideToolResults",
    "Fifo",
    "Fold",
    "Importance",
    "Manifest",
    "MemoryItem",
    "ProfileLine",
    "PromptBuilder",
    "SlidingWindow",
    "Summarize",
    "TokenBudget",
    "Unit",
    "VectorSwap",
    "compress",
    "count_message",
    "count_tools",
    "fold_of",
    "maybe_compress",
    "open_counter",
    "plan_fold",
    "summarize",
    "units",
    "write_fold",
]
