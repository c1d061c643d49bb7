"""What the handles on one memory share."""

from datetime import UTC, datetime
from typing import Any

from memorist.engine.shared import Shared
from memorist.runtime import BlockingRuntime
from memorist.stores.memory import MemoryStore


def test_forgetting_drops_an_org_from_every_cache_by_thread() -> None:
    shared = Shared(MemoryStore(), BlockingRuntime())
    now: Any = datetime.now(UTC)
    for org in ("first", "second"):
        shared.threads[org, "talk"] = "user:ada"
        shared.jobs[org, "talk", "user:ada"] = (now, now, None)  # type: ignore[assignment]  # no row is needed
        shared.appended[org, "talk"] = 3
        shared.request_settings[org, "talk"] = (0.0, None, None)
        shared.message_tokens[org, "talk"] = 20
        shared.busy_threads[org, "talk"] = (0.0, True)
    shared.drop_cached("first")
    caches: list[dict[Any, Any]] = [value for value in vars(shared).values() if isinstance(value, dict)]
    assert {key[0] for cache in caches for key in cache} == {"second"}
