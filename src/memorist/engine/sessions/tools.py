"""Finds tools for a purpose by searching their names, descriptions and parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ...errors import ModelError, UsageError
from ...messages.message import Message
from ..core import Core

if TYPE_CHECKING:
    import numpy as np

    from ...context.given import Tool
    from ...context.tool_choice import ToolChoice
    from .assembling import Request

READ_BACK_MESSAGES = 64
"""How many of a thread's newest messages to search for the tools in use."""
MAX_TOOLS = 5_000
MAX_CACHED_VECTORS = 20_000
FUSION_OFFSET = 10.0
"""Reduces the difference between the top ranks when the two rankings are added. It is smaller than the value for
documents, because only a handful of tools are chosen."""


class ToolRecall:
    """Ranks tools for a query."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def find_tools(self, query: str, tools: Iterable[Tool], *, top_k: int = 5) -> list[Tool]:
        """Return the tools most relevant to a query, best first."""
        from ...context.reading import as_tools

        listed = as_tools(tools)
        if isinstance(top_k, bool) or not isinstance(top_k, int) or not 0 < top_k <= MAX_TOOLS:
            raise UsageError(f"top_k is a number from 1 to {MAX_TOOLS}")
        return [listed[index] for index in (await self.rank(query, listed))[:top_k]]

    async def rank(self, query: str, tools: Sequence[Tool]) -> list[int]:
        """Return the indices of the tools that match a query, best first, ranked by words and by meaning."""
        from ...context.tool_choice import rank_by_words, tool_text

        if len(tools) > MAX_TOOLS:
            raise UsageError(f"at most {MAX_TOOLS:,} tools can be searched; there are {len(tools):,}")
        if not query.strip():
            return list(range(len(tools)))
        texts = [tool_text(tool) for tool in tools]
        # Both rankings count by rank, because a word score and a cosine similarity have no common scale.
        by_words = [index for index, _ in rank_by_words(query, texts)]
        scores = dict.fromkeys(by_words, 0.0)
        for ranking in (by_words, await self._by_meaning(query, texts)):
            for rank, index in enumerate(ranking):
                scores[index] = scores.get(index, 0.0) + 1 / (FUSION_OFFSET + rank)
        return sorted(scores, key=lambda index: (-scores[index], index))

    async def _by_meaning(self, query: str, texts: Sequence[str]) -> list[int]:
        """Return the texts ordered by cosine similarity to the query, or nothing if there is no working embedder."""
        import numpy as np

        from ...recall.query import content

        shared = self._core.shared
        if shared.embedder is None or not texts:
            return []
        try:
            question_vectors = await shared.embedder.embed(
                [content(query) if shared.embedder.static else query], query=True
            )
            vectors = await self._vectors(texts)
        except ModelError as problem:
            # The ranking by words is still useful, and `doctor` reports the embedder.
            shared.note("embedder", problem)
            return []
        order = np.argsort(-(vectors @ np.asarray(question_vectors)[0]), kind="stable")
        return [int(index) for index in order]

    async def _vectors(self, texts: Sequence[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        """Return the vectors of texts.

        Each text is embedded only once, because the same tools are sent with many requests.
        """
        import numpy as np

        embedder = self._core.shared.embedder
        assert embedder is not None
        cache = self._core.shared.tool_vectors
        missing = [text for text in dict.fromkeys(texts) if (embedder.name, text) not in cache]
        if missing:
            if len(cache) + len(missing) > MAX_CACHED_VECTORS:
                # The vectors of this call's other texts go too, so all of them are embedded again.
                cache.clear()
                missing = list(dict.fromkeys(texts))
            for text, vector in zip(missing, np.asarray(await embedder.embed(missing)), strict=True):
                cache[(embedder.name, text)] = vector
        return np.stack([cache[(embedder.name, text)] for text in texts])

    async def choose(self, query: str, asked: Request, ceiling: int | None) -> ToolChoice:
        """Return the tools of a request that fit within their ceiling; see `memorist.context.tool_choice`.

        If there is a `stash`, the tools include those that read back long results.
        """
        from ...context.measure import count_tools
        from ...context.read_tools import SEARCH_HISTORY, with_read_tools
        from ...context.reading import as_tools
        from ...context.stash import READ_MORE
        from ...context.tool_choice import choose_tools, used_tools

        definitions, counter = as_tools(asked.tools), self._core.shared.counter
        pinned, earlier = asked.pinned_tools, asked.earlier_tools
        if asked.stash is not None:
            definitions = tuple(with_read_tools(definitions))
            pinned = (*pinned, READ_MORE, SEARCH_HISTORY)
        if ceiling is None or count_tools(definitions, counter) <= ceiling:
            return choose_tools(definitions, None, counter, ranked=(), pinned=pinned)
        newest = [] if asked.thread is None else await self._core.scan(
            Message, asked.thread, reverse=True, limit=READ_BACK_MESSAGES
        )  # fmt: skip
        used = used_tools(newest[::-1])
        # After the first request, only tools that the thread has used are added, so nothing has to be ranked.
        ranked = () if earlier else await self.rank(query, definitions)
        return choose_tools(definitions, ceiling, counter, ranked=ranked, pinned=pinned, used=used, earlier=earlier)
