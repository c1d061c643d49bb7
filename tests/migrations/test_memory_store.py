"""Two versions of a record in RAM, where both are kinds of one process."""

from __future__ import annotations

from memorist.records import Fact, FactVersion, Record, Table
from memorist.runtime import run_blocking
from memorist.stores.base import Put, Scan
from memorist.stores.memory import MemoryStore
from memorist_testing.samples import NOW, fact

BY_ACTOR = {"by_actor": ("org", "ns", "actor", "key")}


class NextFact(Fact, frozen=True, kw_only=True):
    """A fact as the next version has it."""

    table = Table("facts", ("org", "ns", "key"), indexes=BY_ACTOR, history="fact_versions", checksum=True)
    lang: str | None = None
    mood: str = "calm"


class Note(Record, frozen=True, kw_only=True):
    """A kind that the version before does not have."""

    table = Table("notes", ("org", "id"))
    id: str


def next_fact(**more: str) -> NextFact:
    old = fact("o")
    return NextFact(**{name: getattr(old, name) for name in old.__struct_fields__}, **more)


def test_a_column_a_table_and_an_index_are_added() -> None:
    store, key = MemoryStore(), ("o", *fact("o").row_key[1:])
    run_blocking(store.apply([Put(fact("o"))], now=NOW))
    stored = run_blocking(store.get(NextFact, key, now=NOW))
    assert stored is not None and (stored.lang, stored.mood) == (None, "calm")
    run_blocking(store.apply([Put(next_fact(lang="en", mood="glad")), Put(Note(org="o", id="n"))], now=NOW))
    run_blocking(store.apply([Put(fact("o", value="newer"))], now=NOW))
    stored = run_blocking(store.get(NextFact, key, now=NOW))
    assert stored is not None and (stored.value, stored.lang, stored.mood, stored.version) == ("newer", "en", "glad", 3)
    by_actor = Scan(NextFact, ("o", stored.ns, stored.actor), index="by_actor")
    assert [row.key for row in run_blocking(store.scan(by_actor, now=NOW))] == [stored.key]
    assert [version.version for version in run_blocking(store.scan(Scan(FactVersion, ("o",)), now=NOW))] == [1, 2]
    assert [note.id for note in run_blocking(store.scan(Scan(Note, ("o",)), now=NOW))] == ["n"]
