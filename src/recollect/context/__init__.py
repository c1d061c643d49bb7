"""Context: a request that fits its budget, breaks no tool exchange, and keeps the provider's cache warm."""

from .assemble import Assembly
from .budget import TokenBudget
from .compress import compress
from .context import Context
from .measure import count_message, count_tools
from .policies import Chain, ElideToolResults, Fifo, Importance, SlidingWindow, Summarize, VectorSwap
from .tokens import open_counter
from .units import Unit, units

__all__ = [
    "Assembly",
    "Chain",
    "Context",
    "ElideToolResults",
    "Fifo",
    "Importance",
    "SlidingWindow",
    "Summarize",
    "TokenBudget",
    "Unit",
    "VectorSwap",
    "compress",
    "count_message",
    "count_tools",
    "open_counter",
    "units",
]
