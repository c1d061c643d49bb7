"""A URL that cannot be read is our error, on every store, and never repeats a password."""

import pytest

from memorist import AsyncMemory, Memory
from memorist.errors import UsageError

BAD = [
    "postgresql://u:SECRET@[::1:1/db",
    "postgresql://u:SECRET@h:abc/db",
    "postgresql://h/db?nonsense=SECRET",
    "redis://u:SECRET@[::1:1/0",
    "redis://localhost:1/?nonsense=SECRET",
    "redis+cluster://u:SECRET@h:1/?nonsense=1",
    "redis://localhost:1/?socket_timeout=SECRET",
    "redis://localhost:99999999/0",
    "sqlite://bob:SECRET@host/x",
    "file://host/x",
    "http2://u:SECRET@x",
    "\ud800.db",
    "x\x00y",
]


@pytest.mark.parametrize("kind", [Memory, AsyncMemory])
@pytest.mark.parametrize("url", BAD, ids=range(len(BAD)))
def test_a_url_that_cannot_be_read_is_refused_at_opening(url: str, kind: type) -> None:
    with pytest.raises(UsageError) as refused:
        kind(url, worker=False)
    assert "SECRET" not in str(refused.value)
    assert "SECRET" not in repr(refused.value.__cause__)


def test_no_limit_is_too_large(tmp_path: object) -> None:
    with Memory(f"{tmp_path}/m.db", worker=False) as memory:
        memory.facts.set("global", "k", 1)
        assert len(memory.facts.list("global", limit=2**70)) == 1
