"""Provides a fake clock that you move yourself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ..ports import to_micros

# Far ahead of any real clock, so that a server that drops expired rows by its own clock never does so in a test.
START = datetime(2040, 1, 1, tzinfo=UTC)


class FakeClock:
    """Represents a clock that moves only when you advance or set it. Pass it to `Memory(clock=…)`."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def __call__(self) -> datetime:
        return self._now

    @property
    def micros(self) -> int:
        """This is the time in microseconds, as stores use it."""
        return to_micros(self._now)

    def advance(self, seconds: float | timedelta) -> None:
        """Move the clock by the given number of seconds. A negative number moves it backwards."""
        self._now += seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds)

    def set(self, when: datetime) -> None:
        """Jump to a time."""
        to_micros(when)  # refuses a naive datetime here rather than where it is read
        self._now = when
