"""Blocking sessions."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..engine import session as engine
from ..engine.session import Ended, SessionState
from ..engine.threads import MessageReceipt
from ..runtime import run_blocking

if TYPE_CHECKING:
    from ..context.context import Context


class Session:
    """One run of a conversation over a thread."""

    def __init__(self, engine: engine.Session) -> None:
        self._engine = engine

    @property
    def id(self) -> str:
        return self._engine.id

    @property
    def thread(self) -> str:
        return self._engine.thread

    def start(self) -> Self:
        run_blocking(self._engine.start())
        return self

    def add(self, *messages: Any, key: str | None = None) -> list[MessageReceipt]:
        return run_blocking(self._engine.add(*messages, key=key))

    def context(self, input: Any, **options: Any) -> Context:
        return run_blocking(self._engine.context(input, **options))

    def state(self) -> SessionState:
        return run_blocking(self._engine.state())

    def end(self) -> Ended:
        return run_blocking(self._engine.end())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.end()
