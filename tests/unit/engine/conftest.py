"""A core on each local store, awaited and stepped, with a clock that stands still."""

from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from memorist.engine.core import Core
from memorist.engine.documents.documents import Documents
from memorist.engine.entities import Entities
from memorist.engine.events import Events
from memorist.engine.facts.facts import Facts
from memorist.engine.learnings import Learnings
from memorist.engine.records import PIECE_BYTES, Records
from memorist.engine.shared import Shared
from memorist.engine.state import State
from memorist.engine.tasks.tasks import Tasks
from memorist.engine.threads.threads import Threads
from memorist.engine.working import WorkingMemory
from memorist.records import (
    Candidate,
    ChangeNotice,
    Derivation,
    Entry,
    ImportedDigests,
    IndexProgress,
    MessagePart,
    NamespaceStats,
    Pins,
    RequestLog,
    Summary,
    Sweep,
)
from memorist.runtime import Runtime
from memorist.scope import Scope
from memorist.stores.base import Put, Store
from memorist.stores.memory import MemoryStore
from memorist.stores.sqlite import SqliteStore
from memorist.testing import FakeClock
from memorist_testing.plugin import Run


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, runtime: Runtime, run: Run, tmp_path: Path) -> Iterator[Store]:
    opened: Store = MemoryStore()
    if request.param == "sqlite":
        opened = SqliteStore(str(tmp_path / "memory.db"), runtime=runtime, durability="normal")
    run(opened.open())
    yield opened
    run(opened.close())


@pytest.fixture
def core(store: Store, runtime: Runtime, clock: FakeClock, org: str) -> Core:
    return Core(Shared(store, runtime, clock), Scope(org, all_orgs=True))


@pytest.fixture
def ada(core: Core) -> Core:
    return core.narrowed(core.scope.narrow(user="ada"))


@pytest.fixture
def fill() -> Callable[..., Coroutine[Any, Any, None]]:
    return _fill


@pytest.fixture
def entry() -> Callable[..., Entry]:
    return _entry


async def _fill(core: Core, user: str, mark: str) -> None:
    """Something of every kind, under a user's namespace and derived from it elsewhere, each holding the mark."""
    ns, at = f"user:{user}", core.at()
    own = core.narrowed(core.scope.narrow(user=user))
    threads, facts = Threads(core), Facts(core)
    thread = f"{mark}-thread"
    await threads.create(ns, f"title {mark}", id=thread, metadata={"m": mark})
    [statement] = await threads.append(thread, f"I am {mark}, remember me", key=f"key-{mark}")
    [answered] = await threads.append(thread, {"role": "assistant", "content": f"hello {mark}"})
    source, first, last = statement.message.id, statement.message.seq, answered.message.seq
    await facts.set(ns, f"name.{mark}", f"value {mark} one", source=source)
    await facts.set(ns, f"name.{mark}", f"value {mark} two", source=source)
    await facts.set("global", f"heard.{mark}", f"of {mark}", source=source)
    await facts.set("global", f"second.{mark}", f"hand {mark}", source=f"global/heard.{mark}")
    await Learnings(own).add(f"likes {mark} a lot", source=source)
    event = await Events(core).add(f"meets {mark}", ns=ns, source=source)
    await Events(core).update(event.id, ns=ns, text=f"meets {mark} again")
    await Events(core).add(f"heard that {mark} travels", ns="global", source=source)
    await State(own).set(f"state-{mark}", mark)
    await Records(core).put(ns, (mark,), f"bytes of {mark}".encode())
    await Records(core).put(ns, (mark, "long"), mark.encode() * (PIECE_BYTES // len(mark) + 1))
    await WorkingMemory(own).update(scratchpad=mark)
    await WorkingMemory(own).update(session=f"s-{mark}", scratchpad=mark)
    await Documents(core).add(ns, f"# {mark}\nAbout {mark}.", source=f"http://{mark}", metadata={"m": mark})
    await Entities(core).get("customer", user, lambda id: {"name": mark})
    async with Tasks(core).run(f"task-{mark}", ns=ns, state={"log": [mark]}) as task:
        await task.complete(mark)
    summary = Summary(org=core.org, thread=thread, first=first, last=last, text=mark, tokens=1, ns=ns, created_at=at)
    rows: list[Any] = [
        summary,
        Candidate(
            org=core.org, ns=ns, id=mark, kind="fact", text=mark, sources=(source,), created_at=at, updated_at=at
        ),
        IndexProgress(org=core.org, thread=thread, position=last, updated_at=at),
        Derivation(org=core.org, thread=thread, position=last, ended={"1": [mark]}, updated_at=at),
        Pins(org=core.org, thread=thread, seqs=(first,), updated_at=at),
        MessagePart(org=core.org, thread=thread, digest="0", data=mark.encode(), created_at=at),
        RequestLog(org=core.org, thread=thread, reports=[mark], pieces=[mark], updated_at=at),
        ImportedDigests(org=core.org, thread=thread, block=0, digests=mark.encode(), updated_at=at),
        NamespaceStats(org=core.org, ns=ns, stamp=1, entries=3, speakers=(mark,), updated_at=at),
        Sweep(org=core.org, ns=ns, processor="embed", position=1, updated_at=at),
        ChangeNotice(org=core.org, ns=ns, kind="fact", updated_at=at),
        _entry(core, ns, "message", thread, source, mark),
        _entry(core, ns, "message", thread, answered.message.id, mark),
        _entry(core, ns, "summary", thread, summary.id, mark),
        _entry(core, "global", "fact", "", f"global/heard.{mark}", mark),
    ]
    await core.apply(*(Put(row) for row in rows))


def _entry(core: Core, ns: str, kind: str, parent: str, id: str, mark: str) -> Entry:
    return Entry(org=core.org, ns=ns, kind=kind, parent=parent, id=id, terms=mark, source=mark, created_at=core.at())


@pytest.fixture
def meanwhile(core: Core, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets another process write between the next read of a row and the write that follows it."""

    def arrange(kind: type[Any], work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        get, remaining = core.store.get, [work]

        async def interrupted(record_type: type[Any], key: Any, *, now: int) -> Any:
            row = await get(record_type, key, now=now)
            if record_type is kind and remaining:
                await remaining.pop()()
            return row

        monkeypatch.setattr(core.store, "get", interrupted)

    return arrange


@pytest.fixture
def elsewhere(store: Store, runtime: Runtime, clock: FakeClock, org: str) -> Core:
    """A core as another process has it: the same store, nothing else shared."""
    return Core(Shared(store, runtime, clock), Scope(org, user="ada"))
