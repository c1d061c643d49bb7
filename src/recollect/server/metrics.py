"""What Prometheus reads at /metrics: counts and seconds by operation, never an id or a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

BOUNDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Figures of one process since it started."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: dict[str, list[float]] = {}
        self._gauges: dict[str, float] = {}
        self._store_errors: Counter[str] = Counter()

    def done(self, operation: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests[(operation, status)] += 1
        buckets = self._seconds.setdefault(operation, [0.0] * (len(BOUNDS) + 2))
        for place, bound in enumerate(BOUNDS):
            buckets[place] += seconds <= bound
        buckets[-2] += 1
        buckets[-1] += seconds

    def failed(self, kind: str) -> None:
        """The store failed under a request."""
        self._store_errors[kind] += 1

    def gauge(self, name: str, value: float) -> None:
        """A figure that goes up and down."""
        self._gauges[name] = value

    def text(self) -> str:
        """The exposition format of Prometheus."""
        return "\n".join([*self._counts(), *self._histograms(), *self._rest()]) + "\n"

    def _counts(self) -> Iterable[str]:
        yield "# TYPE recollect_requests_total counter"
        for (operation, status), count in sorted(self._requests.items()):
            yield f'recollect_requests_total{{operation="{operation}",status="{status}"}} {count}'

    def _histograms(self) -> Iterable[str]:
        yield "# TYPE recollect_request_seconds histogram"
        for operation, buckets in sorted(self._seconds.items()):
            for bound, count in zip(BOUNDS, buckets, strict=False):
                yield f'recollect_request_seconds_bucket{{operation="{operation}",le="{bound}"}} {count:.0f}'
            yield f'recollect_request_seconds_bucket{{operation="{operation}",le="+Inf"}} {buckets[-2]:.0f}'
            yield f'recollect_request_seconds_count{{operation="{operation}"}} {buckets[-2]:.0f}'
            yield f'recollect_request_seconds_sum{{operation="{operation}"}} {buckets[-1]:.6f}'

    def _rest(self) -> Iterable[str]:
        yield "# TYPE recollect_store_errors_total counter"
        for kind, count in sorted(self._store_errors.items()):
            yield f'recollect_store_errors_total{{kind="{kind}"}} {count}'
        for name, value in sorted({**self._gauges, "in_flight": self.in_flight}.items()):
            yield f"# TYPE recollect_{name} gauge"
            yield f"recollect_{name} {value:g}"
