"""The registry of kinds: nothing that is stored is missing from it, and its ids can be read back."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memorist
from memorist.kinds import FINDABLE, KINDS, LINKED, RECORDS, kind_of, owned_by, parse_refs, source_of
from memorist.messages.message import Message
from memorist.records import Chunk, Document, Fact, FactVersion, Learning, Record, Ref, Summary

AT = datetime(2026, 1, 2, tzinfo=UTC)


def _subclasses(record_type: type[Record]) -> set[type[Record]]:
    below = {subclass for subclass in record_type.__subclasses__() if subclass.__module__.startswith("memorist.")}
    return below.union(*(_subclasses(subclass) for subclass in below))


def test_every_record_is_registered_once() -> None:
    stored = {kind for kind in _subclasses(Record) if "table" in vars(kind)}
    assert len(RECORDS) == len(set(RECORDS)) == len(KINDS)
    assert set(RECORDS) == stored


def test_no_two_kinds_share_a_table() -> None:
    assert len({kind.record.table.name for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize(
    ("record", "id"),
    [
        (Message(thread="a/b#c", seq=7, role="user"), "a/b#c#7"),
        (Summary(thread="a#1", first=2, last=9, text="t", tokens=1, ns="global", created_at=AT), "a#1#2-9"),
        (Fact(ns="user:a/b", key="c/d#2", value=1, created_at=AT, updated_at=AT), "user:a/b/c/d#2"),
        (Learning(ns="user:ada", id="f0", content="x", created_at=AT, updated_at=AT), "user:ada/f0"),
        (Document(ns="agent:x", id="d#1", text="x", created_at=AT, updated_at=AT), "agent:x/d#1"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Record) else None,
)
def test_an_id_reads_back_to_its_row(record: Record, id: str) -> None:
    kind = kind_of(record)
    assert kind.ref is not None
    assert kind.key is not None
    assert kind.ref(record).id == kind.label(record) == id
    assert kind.key(kind.ref(record)) == record.row_key[1:]
    assert record.row_key[1:] in [kind.key(ref) for ref in parse_refs(id)]


def test_a_chunk_is_read_with_its_namespace() -> None:
    chunk = Chunk(ns="global", document="d#1", part="f00", position=0, text="x", created_at=AT)
    kind = kind_of(Chunk)
    assert kind.ref is not None
    assert kind.key is not None
    assert kind.ref(chunk).id == "d#1#f00"
    assert kind.key(kind.ref(chunk)) == chunk.row_key[1:]


@pytest.mark.parametrize(
    ("id", "refs"),
    [
        ("talk#12", [Ref("message", key="talk", part="12")]),
        ("talk#1-12", [Ref("summary", key="talk", part="1-12")]),
        ("user:ada/city", [Ref("source", "user:ada", "city")]),
        ("user:ada/b/c", [Ref("source", "user:ada", "b/c"), Ref("source", "user:ada/b", "c")]),
        ("user:ada/talk#3", [Ref("message", key="user:ada/talk", part="3"), Ref("source", "user:ada", "talk#3")]),
        ("user:ada", [Ref("namespace", "user:ada")]),
        ("handbook#c0ffee", [Ref("chunk", key="handbook", part="c0ffee")]),
        ("https://example.org/page", [Ref("source", key="https://example.org/page")]),
        ("#5", [Ref("source", key="#5")]),
    ],
)
def test_an_id_is_parsed_at_the_door(id: str, refs: list[Ref]) -> None:
    assert parse_refs(id) == refs


def test_an_entry_leads_to_its_record() -> None:
    fact = Fact(ns="user:ada", key="a/b", value={"x": 1}, created_at=AT, updated_at=AT)
    findable = FINDABLE["fact"].findable
    assert findable is not None
    assert findable.make_entry is not None
    entry = findable.make_entry(fact)
    assert findable.key(entry.ns, entry.parent, entry.seq, entry.id) == fact.row_key[1:]


def test_a_version_of_a_fact_is_a_fact_in_lineage() -> None:
    assert kind_of(FactVersion).name == kind_of(Fact).name == "fact"


def test_rows_of_a_namespace_are_found_by_their_key() -> None:
    assert {Fact, FactVersion, Learning, Document, Chunk} <= set(owned_by("ns"))
    assert Message in owned_by("thread")


def test_hits_name_their_source_as_links_do() -> None:
    assert source_of("learning", "user:ada", "f0") == "user:ada/f0"
    assert source_of("fact", "user:ada", "user:ada/name") == "user:ada/name"
    assert source_of("message", "user:ada", "t#1") == "t#1"


def test_what_lineage_connects_says_what_derives_from_it() -> None:
    for name, kind in LINKED.items():
        assert kind.ref is not None, name
        assert {*kind.derives} <= {*LINKED}, name
        assert kind.derives or name == "record", name


def test_a_new_kind_touches_the_places_that_contributing_names() -> None:
    """Counted for events. A place more is a place that the next kind forgets: put it into the registry, or name it."""
    numbered = re.findall(r"^(\d+)\. `([^`]+)`", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    named_files = [file for _, file in numbered[-15:]]
    assert [int(number) for number, _ in numbered[-15:]] == list(range(1, 16))
    files = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.sql")]
    # Not counted: what is generated, and files in which an event is a hook, a stream or another framework's.
    others = ("blocking/", "adapters/", "cli/", "server/", "remote/", "mcp/")
    names = {file.relative_to(SOURCE).as_posix(): file for file in files}
    touched = {
        name
        for name, file in names.items()
        if not name.startswith(others)
        and (
            _TELLS_OF_EVENTS.search(file.read_text())
            or (name.startswith(_BEHAVIOUR) and _NAMES_EVENTS.search(file.read_text()))
        )
    }
    folder = "extract/writer/"
    assert {folder if name.startswith(folder) else name for name in touched} == set(named_files[:13])


_BEHAVIOUR = ("engine/", "recall/", "context/", "extract/", "gate/", "exporting/", "redteam", "checking/")
"""Where a kind is treated by name. Elsewhere, "event" may also name a hook or an event of another program."""
_NAMES_EVENTS = re.compile(r"""["']events?["']|\bEventVersion\b""")
SOURCE = Path(memorist.__file__).parent
ROOT = SOURCE.parent.parent
_TELLS_OF_EVENTS = re.compile(
    r"class Event\(Record|^    Event,$|import .*\bEvent\b|\.events import Events\b"
    r'|CREATE TABLE (memorist\.)?events|"events\.add"|^    "events": |^ +"events",$',
    re.MULTILINE,
)
