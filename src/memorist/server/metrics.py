"""Provides Prometheus metrics for /metrics: request counts and durations by operation, without ids or content."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

BOUNDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Holds the counters, histograms and gauges of one process since it started."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: dict[str, float] = {}
        self._counts_by_time: dict[str, list[int]] = {}
        """Histograms by operation: the number of requests in each interval between two bounds."""
        self._gauges: dict[str, float] = {}
        self._store_errors: Counter[str] = Counter()

    def done(self, operation: str, status: int, seconds: float) -> None:
        """Record a finished request."""
        self._requests[(operation, status)] += 1
        counts = self._counts_by_time.get(operation)
        if counts is None:
            counts = self._counts_by_time[operation] = [0] * (len(BOUNDS) + 1)
            self._seconds[operation] = 0.0
        counts[bisect_left(BOUNDS, seconds)] += 1
        self._seconds[operation] += seconds

    def failed(self, kind: str) -> None:
        """Record a store error by its type."""
        self._store_errors[kind] += 1

    def gauge(self, name: str, value: float) -> None:
        """Set a gauge."""
        self._gauges[name] = value

    def text(self) -> str:
        """Return all metrics in the Prometheus text format."""
        return "\n".join([*self._counts(), *self._histograms(), *self._rest()]) + "\n"

    def _counts(self) -> Iterable[str]:
        yield "# TYPE memorist_requests_total counter"
        for (operation, status), count in sorted(self._requests.items()):
            yield f'memorist_requests_total{{operation="{operation}",status="{status}"}} {count}'

    def _histograms(self) -> Iterable[str]:
        yield "# TYPE memorist_request_seconds histogram"
        for operation, counts in sorted(self._counts_by_time.items()):
            # Prometheus buckets are cumulative: each one includes all smaller durations.
            for bound, count in zip((*BOUNDS, "+Inf"), accumulate(counts), strict=True):
                yield f'memorist_request_seconds_bucket{{operation="{operation}",le="{bound}"}} {count}'
            yield f'memorist_request_seconds_count{{operation="{operation}"}} {sum(counts)}'
            yield f'memorist_request_seconds_sum{{operation="{operation}"}} {self._seconds[operation]:.6f}'

    def _rest(self) -> Iterable[str]:
        yield "# TYPE memorist_store_errors_total counter"
        for kind, count in sorted(self._store_errors.items()):
            yield f'memorist_store_errors_total{{kind="{kind}"}} {count}'
        for name, value in sorted({**self._gauges, "in_flight": self.in_flight}.items()):
            yield f"# TYPE memorist_{name} gauge"
            yield f"memorist_{name} {value:g}"
