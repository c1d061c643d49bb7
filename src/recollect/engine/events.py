"""Events: hooks that users register, and OpenTelemetry where it is installed. Ids and sizes only, never content."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ..errors import UsageError

EVENTS = ("message", "fact", "learning", "fold", "forget", "recall", "context", "job")
log = logging.getLogger("recollect")


class Event(msgspec.Struct, frozen=True):
    """Something happened: its name, the org, and ids and sizes."""

    name: str
    org: str
    data: Mapping[str, Any]


Hook = Callable[[Event], Any]


class Events:
    """Who is told of what."""

    def __init__(self) -> None:
        self.listening = False
        """Whether anyone is told of anything: callers on hot paths ask first."""
        self._hooks: dict[str, list[Hook]] = {}
        self._traced: Any = None

    def on(self, name: str, hook: Hook) -> Callable[[], None]:
        """Call `hook` for each event of this name; what comes back takes it off again."""
        if name not in EVENTS:
            raise UsageError(f"no event {name!r}; there are {', '.join(EVENTS)}")
        self.listening = True
        self._hooks.setdefault(name, []).append(hook)
        return lambda: self._hooks[name].remove(hook)

    def trace(self) -> None:
        """Count events in OpenTelemetry from now on."""
        from ..telemetry import Telemetry

        self._traced = Telemetry()
        self.listening = True

    def emit(self, name: str, org: str, data: Mapping[str, Any]) -> None:
        """Tell everyone; a hook that fails is logged and never stops the work it was told of."""
        if self._traced is not None:
            self._traced.count(name, org, data)
        for hook in self._hooks.get(name, ()):
            try:
                hook(Event(name, org, data))
            except Exception as problem:  # a user's function may raise anything
                log.warning("a hook on %s failed: %s", name, type(problem).__name__)
