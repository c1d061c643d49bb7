"""Runs the analyser on the folders passed to `memorist serve --analyze`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import NotFound, Unsupported
from ...values import JsonObject
from ..server_nouns import Checkout
from .caller import ServerNoun

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

LIMIT_SECONDS = 120.0


def installed_analyzer() -> EntryPoint | None:
    """Return the entry point of the function that analyses a folder if the `memorist-analyze` package is installed."""
    from importlib.metadata import entry_points

    return next(iter(entry_points(group="memorist.analyzers")), None)


class Analyses(ServerNoun):
    """Runs the analyser, and stores its reports as records of the org."""

    async def run(self, name: str) -> JsonObject:
        """Analyse one of the folders passed to `memorist serve --analyze`, and store the report."""
        self._core.scope.whole_org("the analyser")
        path = self._folders.get(name)
        if path is None:
            raise NotFound("the server does not know this folder; start it with `memorist serve --analyze DIR`")
        point = installed_analyzer()
        if point is None:
            raise Unsupported(
                "the analyser is not installed; run in a checkout of Memorist: pip install ./packages/analyze"
            )
        report_on: Callable[..., JsonObject] = point.load()
        report = await self._core.runtime.offload(lambda: report_on(path, name=name, time_limit=LIMIT_SECONDS))
        await self._memory.records.put("global", ("analysis", name), report)
        return dict(report)

    async def get(self, name: str) -> JsonObject | None:
        """Return the last report on a folder."""
        self._core.scope.whole_org("the analyser")
        row = await self._memory.records.get("global", ("analysis", name)) if name else None
        return dict(row.data) if row is not None and isinstance(row.data, dict) else None

    @property
    def _folders(self) -> dict[str, Path]:
        return {path.name: path for path in self._server.options.analyze}

    async def list(self) -> list[Checkout]:
        """Return the folders that can be analysed, and whether a report on each exists."""
        self._core.scope.whole_org("the analyser")
        done = {row.key[1] for row in await self._memory.records.scan("global", ("analysis",), keys_only=True)}
        return [Checkout(name, name in done) for name in sorted(self._folders)]
