"""The inverted index."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from memorist import Memory
from memorist.recall.lexical import SMALL_SCOPE_ENTRIES, LexicalIndex, select_terms
from memorist.runtime import run_blocking


def index(**texts: str) -> LexicalIndex[str]:
    lexical_index: LexicalIndex[str] = LexicalIndex()
    for key, terms in texts.items():
        lexical_index.add(key, terms)
    return lexical_index


def test_rarer_terms_count_more() -> None:
    hits = index(a="cat dog", b="cat bird", c="cat fish", d="cat ant").search(["cat", "bird"], 10)
    assert hits[0][0] == "b"
    assert len(hits) == 4


def test_the_turn_before_helps_to_find_a_turn_but_counts_less() -> None:
    turns: LexicalIndex[str] = LexicalIndex()
    turns.add("answer", "violin", "instrument play")
    turns.add("question", "instrument play")
    turns.add("other", "weather")
    assert [key for key, _ in turns.search(["instrument"], 10)] == ["question", "answer"]


def test_a_removed_entry_is_not_found_nor_counted() -> None:
    entries = index(a="cat", b="cat dog")
    assert entries.remove("a")
    assert not entries.remove("a")
    assert [key for key, _ in entries.search(["cat"], 10)] == ["b"]
    assert entries.frequency(["cat", "dog", "none"]) == {"cat": 1, "dog": 1}


def test_adding_again_replaces() -> None:
    entries = index(a="cat")
    entries.add("a", "dog")
    assert entries.search(["cat"], 10) == []
    assert [key for key, _ in entries.search(["dog"], 10)] == ["a"]
    assert len(entries) == 1


def test_frequent_terms_are_dropped_only_where_rarer_ones_remain() -> None:
    many = SMALL_SCOPE_ENTRIES * 10
    frequency = {"the": many // 2, "cat": 10, "dog": 20, "often": many // 3}
    assert select_terms(["the", "cat", "dog", "none"], frequency, many) == ["cat", "dog"]
    assert select_terms(["the", "often"], frequency, many) == ["often", "the"]
    assert select_terms(["the", "cat"], frequency, 1000) == ["the", "cat"]
    assert select_terms(["the", "cat", "dog"], {"the": 9_000, "cat": 40, "dog": 7}, 1_000_000) == ["cat", "dog"]


terms = st.lists(st.sampled_from("abcdef"), max_size=6).map(" ".join)
steps = st.lists(st.tuples(st.booleans(), st.integers(0, 30), terms, terms), max_size=200)


@settings(max_examples=60)
@given(steps, st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3, unique=True))
def test_any_history_gives_the_same_as_a_fresh_index(
    history: list[tuple[bool, int, str, str]], query_terms: list[str]
) -> None:
    lived: LexicalIndex[int] = LexicalIndex()
    now: dict[int, tuple[str, str]] = {}
    for add, key, own, context in history:
        if add:
            lived.add(key, own, context)
            now.pop(key, None)
            now[key] = (own, context)
        else:
            assert lived.remove(key) == (now.pop(key, None) is not None)
    fresh: LexicalIndex[int] = LexicalIndex()
    for key, (own, context) in now.items():
        fresh.add(key, own, context)
    for term in query_terms:
        assert lived.frequency([term]).get(term, 0) == fresh.frequency([term]).get(term, 0)
    assert lived.mean_terms == fresh.mean_terms
    assert dict(lived.search(query_terms, 100)) == dict(fresh.search(query_terms, 100))


def test_the_text_index_of_sqlite_gives_the_best_and_not_the_first(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder=None, worker=False, extract=None) as memory:
        thread = memory.threads.create("user:ada").id
        reports = [f"The weather report number {i} was long and dull" for i in range(300)]
        memory.threads.append(thread, *({"role": "user", "content": text} for text in reports))
        memory.threads.append(thread, {"role": "user", "content": "A walrus gave the weather report"})
        hits = memory.recall("walrus weather report", namespaces="user:ada", top_k=3)
        assert hits[0].text == "A walrus gave the weather report"
        entries = run_blocking(
            memory._core.store.search_text(  # type: ignore[attr-defined]
                memory.org, "user:ada", ["walrus", "weather", "report"], limit=5, now=0
            )
        )
        assert entries[0].terms.startswith("walrus")
