"""Export and import: the same bytes through any two stores, and a damaged file changes nothing."""

import os
import zlib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memorist.engine.core import Core
from memorist.engine.facts.facts import Facts
from memorist.engine.forgetting.forget import Forgetting
from memorist.engine.portable import Portable
from memorist.engine.shared import Shared
from memorist.engine.statistics import recount_jobs
from memorist.errors import CorruptRecord, SchemaError, StoreUnavailable, UsageError
from memorist.kinds import RECORDS as KINDS
from memorist.messages.message import Message
from memorist.records import Entry, Fact, Job, Link, Record, Ref, Thread, Watermark
from memorist.runtime import Runtime
from memorist.scope import Scope
from memorist.stores.base import DeleteRange
from memorist.stores.memory import MemoryStore
from memorist.testing import FakeClock

Fill = Callable[..., Coroutine[Any, Any, None]]


@pytest.fixture
def other(runtime: Runtime, clock: FakeClock) -> Core:
    return Core(Shared(MemoryStore(), runtime, clock), Scope(org="elsewhere"))


def test_every_kind_of_row_is_exported() -> None:
    def below(kind: type[Record]) -> set[type[Record]]:
        return {kind for sub in kind.__subclasses__() for kind in ({sub} | below(sub))}

    assert set(KINDS) == {kind for kind in below(Record) if kind.__module__.startswith("memorist.")}


async def test_export_import_export_gives_the_same_bytes(core: Core, fill: Fill, other: Core, tmp_path: Path) -> None:
    await fill(core, "ada", "text")
    written = await Portable(core).export(tmp_path / "a.jsonl")
    loaded = await Portable(other).import_(tmp_path / "a.jsonl")
    await Portable(other).export(tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert written.counts == loaded.counts and written.rows > 30
    back = Core(Shared(core.store, core.runtime, core.shared.clock), Scope(org=f"{core.org}-third"))
    await Portable(back).import_(tmp_path / "b.jsonl")
    await Portable(back).export(tmp_path / "c.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()


async def test_a_namespace_to_be_counted_again_is_counted_where_it_is_imported(
    core: Core, other: Core, tmp_path: Path
) -> None:
    await core.apply(*recount_jobs([DeleteRange(Entry, (core.org, "global"))], core.at()))
    await Portable(core).export(tmp_path / "a.jsonl")
    await Portable(other).import_(tmp_path / "a.jsonl")
    assert [job.item for job in await other.scan(Job, "count")] == ["global"]


async def test_versions_times_history_and_order_survive(core: Core, fill: Fill, other: Core, tmp_path: Path) -> None:
    await fill(core, "ada", "text")
    await Portable(core).export(tmp_path / "a.jsonl")
    await Portable(other).import_(tmp_path / "a.jsonl")
    for kind in (Thread, Message, Fact):
        ours, theirs = await core.scan(kind), await other.scan(kind)
        assert [row.row_key[1:] for row in ours] == [row.row_key[1:] for row in theirs]
        assert [getattr(row, "version", 0) for row in ours] == [getattr(row, "version", 0) for row in theirs]


async def test_importing_twice_is_importing_once(core: Core, fill: Fill, other: Core, tmp_path: Path) -> None:
    await fill(core, "ada", "text")
    await Portable(core).export(tmp_path / "a.jsonl")
    for _ in range(2):
        await Portable(other).import_(tmp_path / "a.jsonl")
    await Portable(other).export(tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


async def test_many_rows_are_exported_in_pages(core: Core, other: Core, tmp_path: Path) -> None:
    from memorist.stores.base import Load

    at = core.at()
    links = [Link.of(core.org, Ref("source", key=f"s{i:05d}"), Ref("fact", "global", "t"), at) for i in range(1203)]
    await core.apply(*(Load(link) for link in links))
    steps: list[tuple[int, int | None]] = []
    await Portable(core).export(tmp_path / "a.jsonl", progress=lambda count, total: steps.append((count, total)))
    assert steps == [(500, None), (1000, None), (1203, None)]
    await Portable(other).import_(tmp_path / "a.jsonl", progress=lambda count, total: steps.append((count, total)))
    assert steps[3:] == [(500, 1203), (1000, 1203), (1203, 1203)]


async def test_a_broken_off_import_goes_on_where_it_stopped(core: Core, other: Core, tmp_path: Path) -> None:
    from memorist.stores.base import Load

    at = core.at()
    await core.apply(
        *(Load(Link.of(core.org, Ref("source", key=f"s{i:05d}"), Ref("fact", "global", "t"), at)) for i in range(1203))
    )
    await Portable(core).export(tmp_path / "a.jsonl")

    def stop(count: int, total: int | None) -> None:
        if count == 1000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await Portable(other).import_(tmp_path / "a.jsonl", progress=stop)
    loaded = await Portable(other).import_(tmp_path / "a.jsonl")
    assert loaded.resumed_at == 1000
    assert len(await other.scan(Link)) == 1203
    assert await other.scan(Watermark) == []


@pytest.mark.parametrize("damage", ["flip", "cut line", "cut file", "drop line", "not json", "add", "table", "empty"])
async def test_a_damaged_file_names_its_line_and_changes_nothing(
    core: Core, fill: Fill, other: Core, tmp_path: Path, damage: str
) -> None:
    await fill(core, "ada", "text")
    path = tmp_path / "a.jsonl"
    await Portable(core).export(path)
    lines = path.read_bytes().splitlines(keepends=True)
    index = 9
    changed = {
        "flip": lambda: lines.__setitem__(index, lines[index].replace(b"text", b"tezt", 1)),
        "cut line": lambda: lines.__setitem__(index, lines[index][:20] + b"\n"),
        "cut file": lambda: lines.__delitem__(slice(index, None)),
        "drop line": lambda: lines.__delitem__(index),
        "not json": lambda: lines.__setitem__(index, b"hello\n"),
        "add": lambda: lines.append(lines[index]),
        "table": lambda: lines.__setitem__(index, lines[index].replace(b'"table":"', b'"table":"x', 1)),
        "empty": lambda: lines.clear(),
    }
    changed[damage]()
    line = {"cut file": index + 1, "drop line": len(lines), "add": len(lines), "empty": 1}.get(damage, index + 1)
    path.write_bytes(b"".join(lines))
    with pytest.raises(CorruptRecord, match=f"line {line} ") as caught:
        await Portable(other).import_(path)
    assert caught.value.facts["line"] == line
    assert [await other.scan(kind) for kind in KINDS] == [[]] * len(KINDS)


async def test_a_newer_format_is_refused(core: Core, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"memorist":"export","format":99}\n{"rows":0}\n')
    with pytest.raises(SchemaError, match="format 99"):
        await Portable(core).import_(tmp_path / "a.jsonl")


async def test_an_export_is_private_and_complete_or_not_there(
    core: Core, fill: Fill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(core, "ada", "text")
    path = tmp_path / "a.jsonl"
    await Portable(core).export(path)
    assert path.stat().st_mode & 0o777 == 0o600

    async def broken(*args: Any, **more: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(core.store, "scan", broken)
    with pytest.raises(KeyboardInterrupt):
        await Portable(core).export(tmp_path / "b.jsonl")
    assert [name for name in os.listdir(tmp_path) if "jsonl" in name] == ["a.jsonl"]


async def test_a_users_handle_cannot_take_the_whole_org(ada: Core, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="whole org"):
        await Portable(ada).export(tmp_path / "a.jsonl")


def _hostile(path: Path, table: str, row: dict[str, Any]) -> None:
    """A file with one row, as someone with an editor would write it."""
    body = msgspec.json.encode(row)
    lines = [
        msgspec.json.encode({"memorist": "export", "format": 1}),
        msgspec.json.encode({"table": table, "crc": zlib.crc32(body), "row": msgspec.Raw(body)}),
        msgspec.json.encode({"rows": 1}),
    ]
    path.write_bytes(b"\n".join(lines) + b"\n")


AT = "2026-01-02T00:00:00Z"


async def test_an_imported_order_to_forget_is_not_executed(core: Core, tmp_path: Path) -> None:
    await Facts(core).set("user:bob", "k", "kept")
    order = {"kind": "user", "id": "bob", "physical": False}
    _hostile(tmp_path / "x", "jobs", {"queue": "forget", "ns": "global", "item": "user:x", "payload": order,
                                      "run_at": AT, "created_at": AT, "updated_at": AT})  # fmt: skip
    await Portable(core).import_(tmp_path / "x")
    await Forgetting(core).forget(source="nothing")
    assert await core.scan(Job, "forget") == []
    assert await Facts(core).get("user:bob", "k") is not None


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("facts", {"ns": "nonsense", "key": "k", "value": 1, "created_at": AT, "updated_at": AT}),
        ("facts", {"ns": "user:ada", "key": "", "value": 1, "created_at": AT, "updated_at": AT}),
        ("facts", {"ns": "user:ada", "key": "k", "value": 1, "version": -1, "created_at": AT, "updated_at": AT}),
        ("threads", {"id": "t", "ns": "user:", "created_at": AT, "updated_at": AT}),
        ("messages", {"thread": "t", "seq": 2**60, "role": "user"}),
        ("namespace_stats", {"ns": "nonsense", "updated_at": AT}),
        (
            "events",
            {"ns": "user:ada", "id": "x" * 600, "text": "Standup", "starts_at": AT, "created_at": AT, "updated_at": AT},
        ),
        ("candidates", {"ns": "user:ada", "id": "", "kind": "fact", "text": "x", "created_at": AT, "updated_at": AT}),
    ],
    ids=["namespace", "name", "version", "thread", "number", "mark", "event", "candidate"],
)
async def test_what_could_not_be_typed_is_not_imported(
    core: Core, tmp_path: Path, table: str, row: dict[str, Any]
) -> None:
    _hostile(tmp_path / "x", table, row)
    with pytest.raises(CorruptRecord, match="line 2"):
        await Portable(core).import_(tmp_path / "x")


async def test_an_export_follows_no_planted_link_and_keeps_no_mode(core: Core, tmp_path: Path) -> None:
    await Facts(core).set("user:ada", "k", "v")
    precious, target = tmp_path / "precious", tmp_path / "x.jsonl"
    precious.write_text("precious")
    (tmp_path / "x.jsonl.part").symlink_to(precious)
    target.symlink_to(precious)
    await Portable(core).export(target)
    assert precious.read_text() == "precious"
    assert not target.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600


async def test_an_export_that_fails_leaves_nothing(core: Core, tmp_path: Path) -> None:
    def full(rows: int, total: int | None) -> None:
        raise OSError(28, "No space left on device")

    await Facts(core).set("user:ada", "k", "v")
    with pytest.raises(StoreUnavailable):
        await Portable(core).export(tmp_path / "x.jsonl", progress=full)
    assert [name for name in os.listdir(tmp_path) if "x.jsonl" in name] == []


async def test_an_export_can_be_streamed(core: Core, tmp_path: Path) -> None:
    await Facts(core).set("user:ada", "k", "v")
    (tmp_path / "x").write_bytes(b"".join([lines async for lines in Portable(core).rows()]))
    await Portable(core).export(tmp_path / "y")
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()
