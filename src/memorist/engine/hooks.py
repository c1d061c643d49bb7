"""Sends events to the hooks that users register, and to OpenTelemetry if it is installed.

They contain ids and sizes, never content.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import UsageError
from ..records import as_dict
from ..values import JsonMapping

if TYPE_CHECKING:
    from .core import Core

EVENTS = ("message", "fact", "learning", "fold", "forget", "recall", "context", "job")


class HookEvent(msgspec.Struct, frozen=True):
    """An event: its name, the org, ids and sizes, but never content."""

    to_dict = as_dict

    name: str
    org: str
    data: JsonMapping


def warn(text: str, *values: object) -> None:
    """Log a warning under `memorist` that contains ids and error names, but never content."""
    import logging

    logging.getLogger("memorist").warning(text, *values)


Hook = Callable[[HookEvent], Any]


class Events:
    """Holds the registered hooks, and OpenTelemetry if it is enabled."""

    def __init__(self) -> None:
        self.listening = False
        """Whether there are any hooks or tracers. Callers on hot paths check this first."""
        self._hooks: dict[str, list[Hook]] = {}
        self._traced: Any = None

    def on(self, name: str, hook: Hook) -> Callable[[], None]:
        """Call `hook` for each event with this name, and return a function that removes it."""
        if name not in EVENTS:
            raise UsageError(f"there is no event {name!r}; use one of {', '.join(EVENTS)}")
        if not callable(hook) or inspect.iscoroutinefunction(hook):
            raise UsageError("a hook is a plain function of one event; it may start a task where it needs to await")
        hooks = self._hooks.setdefault(name, [])
        hooks.append(hook)
        self.listening = True

        def off() -> None:
            if hook in hooks:
                hooks.remove(hook)
            self.listening = self._traced is not None or any(self._hooks.values())

        return off

    def trace(self) -> None:
        """Start sending counters and spans to OpenTelemetry."""
        from ..telemetry import Telemetry

        self._traced = Telemetry()
        self.listening = True

    def emit(self, name: str, org: str, data: Mapping[str, object]) -> None:
        """Call the hooks for an event. If a hook raises an error, it is logged, and the operation continues."""
        if self._traced is not None:
            self._traced.count(name, org, data)
        # A copy, because a hook may remove itself.
        for hook in tuple(self._hooks.get(name, ())):
            try:
                hook(HookEvent(name, org, data))
            except Exception as problem:  # a user's function may raise anything
                warn("a hook on %s failed: %s", name, type(problem).__name__)

    def span(self, name: str, **attributes: object) -> AbstractContextManager[object]:
        """Return a span around an operation, if OpenTelemetry is enabled."""
        if self._traced is None:
            return _NO_SPAN
        spanned: AbstractContextManager[object] = self._traced.span(name, **attributes)
        return spanned


_NO_SPAN = nullcontext()


class Listens:
    """Provides the methods that register hooks for both facades."""

    _core: Core

    def on(self, event: str, hook: Hook) -> Callable[[], None]:
        """Call `hook` for each event with this name (message, fact, fold, forget, …), and return a function that
        removes it.
        """
        scope = self._core.scope
        scope.whole_org("listening to events")
        if scope.all_orgs or not callable(hook) or inspect.iscoroutinefunction(hook):
            return self._core.shared.events.on(event, hook)
        return self._core.shared.events.on(event, lambda news: hook(news) if news.org == scope.org else None)

    def trace(self) -> None:
        """Send event counters and operation spans to OpenTelemetry (this needs the `otel` extra)."""
        self._core.scope.whole_org("tracing")
        self._core.shared.events.trace()
