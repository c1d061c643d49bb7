"""Documents and their chunks: on borders, within the target, and kept where the text did not change."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.engine.audit import Audit
from memorist.engine.core import Core
from memorist.engine.documents.chunking import chunk
from memorist.engine.documents.documents import Documents
from memorist.errors import Forbidden, InvalidValue, TooLarge
from memorist.records import Chunk, Entry, Job
from memorist.stores.base import Put
from memorist.testing import FakeClock


def _words(text: str) -> int:
    return len(text.split())


def _section(name: str, sentences: int) -> str:
    return f"## {name}\n\n" + " ".join(f"{name} sentence {i} has six words." for i in range(sentences)) + "\n\n"


def test_chunks_end_on_sentences_and_stay_within_the_target() -> None:
    text = _section("Alpha", 40)
    pieces = chunk(text, _words, target_tokens=50, overlap_tokens=10)
    assert len(pieces) > 3
    assert all(piece.tokens <= 50 for piece in pieces)
    assert all(piece.text.endswith("words.") for piece in pieces)
    assert all(text[piece.start : piece.stop] == piece.text for piece in pieces)


def test_each_chunk_repeats_the_end_of_the_one_before() -> None:
    pieces = chunk(_section("Alpha", 40), _words, target_tokens=50, overlap_tokens=10)
    for before, after in pairwise(pieces):
        assert before.start < after.start < before.stop < after.stop


def test_a_heading_begins_a_chunk_and_names_it() -> None:
    text = "# Guide\nHello there.\n\n" + _section("One", 3) + _section("Two", 3) + "Under\n=====\nLast."
    pieces = chunk(text, _words)
    assert [piece.heading for piece in pieces] == ["Guide", "Guide > One", "Guide > Two", "Under"]


def test_a_heading_without_words_of_its_own_belongs_to_the_section_below() -> None:
    text = "# Lab\n\n## PCR\n\n### Primers\n\nThey bind.\n\nLysis\n-----\n\n## Buffer\n\nMix it."
    pieces = chunk(text, _words)
    assert [piece.heading for piece in pieces] == ["Lab > PCR > Primers", "Lab > Buffer"]
    assert pieces[0].text == "# Lab\n\n## PCR\n\n### Primers\n\nThey bind."


def test_rows_of_a_table_and_lines_of_code_are_not_cut_inside() -> None:
    rows = "".join(f"| no. {n} | Dr. Who said so. Twice. | open |\n" for n in range(12))
    code = "```python\n" + "".join(f"call({n}). then(x); y = 1. + 2\n" for n in range(12)) + "```\n"
    text = f"Before. It begins.\n\n| no. | who | state |\n|---|---|---|\n{rows}\n{code}\nAfter. It ends."
    for piece in chunk(text, _words, target_tokens=30, overlap_tokens=0):
        assert text[: piece.start].endswith("\n") or piece.start == 0 or text[piece.start :].startswith("It ")
        lines = [line for line in piece.text.splitlines() if line.startswith(("|", "call"))]
        assert all(line.endswith(("|", "2")) for line in lines)


def test_a_hash_inside_a_code_fence_is_no_heading() -> None:
    pieces = chunk("# Real\n```\n# not a heading\n```\nText.", _words)
    assert [piece.heading for piece in pieces] == ["Real"]


def test_abbreviations_and_scripts_without_spaces() -> None:
    pieces = chunk("Dr. Smith came.", _words, target_tokens=2, overlap_tokens=0)
    assert "Dr." not in [piece.text for piece in pieces]
    pieces = chunk("第一句。第二句！第三句？", len, target_tokens=4, overlap_tokens=0)
    assert [piece.text for piece in pieces] == ["第一句。", "第二句！", "第三句？"]


@settings(max_examples=150)
@given(st.text(alphabet="ab .!?\n#`-=é。1", max_size=400), st.integers(1, 30), st.integers(0, 10))
def test_every_word_is_in_some_chunk_whatever_the_text(text: str, target: int, overlap: int) -> None:
    pieces = chunk(text, len, target_tokens=target, overlap_tokens=overlap)
    covered = {index for piece in pieces for index in range(piece.start, piece.stop)}
    assert {index for index, letter in enumerate(text) if not letter.isspace()} <= covered
    assert all(text[piece.start : piece.stop] == piece.text and piece.text for piece in pieces)
    assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)


async def test_a_document_comes_back_with_its_chunks(core: Core) -> None:
    documents = Documents(core)
    document = await documents.add(
        "global", "# Title\nSome text.", title="T", source="file://a", metadata={"lang": "en"}
    )
    assert await documents.get("global", document.id) == document
    assert (document.title, document.source, document.metadata, document.chunks, document.trust) == (
        "T",
        "file://a",
        {"lang": "en"},
        1,
        "document",
    )
    assert [piece.text for piece in await documents.chunks("global", document.id)] == ["# Title\nSome text."]
    assert [job.item for job in await core.scan(Job, "index", "global")] == [f"document:{document.id}"]


async def test_the_same_source_replaces_and_unchanged_chunks_are_kept(core: Core, clock: FakeClock) -> None:
    documents = Documents(core)
    first = await documents.add("global", _section("One", 3) + _section("Two", 3), source="s")
    before = {piece.heading: piece for piece in await documents.chunks("global", first.id)}
    await _index(core)
    clock.advance(60)
    second = await documents.add("global", _section("New", 3) + _section("Two", 3), source="s")
    assert (second.id, second.version, second.created_at) == (first.id, 2, first.created_at)
    after = {piece.heading: piece for piece in await documents.chunks("global", first.id)}
    assert list(after) == ["New", "Two"]
    assert after["Two"].id == before["Two"].id and after["Two"].created_at == before["Two"].created_at
    entries = await core.scan(Entry, "global", "document", first.id)
    assert [entry.id for entry in entries] == [before["Two"].id]


async def test_adding_the_very_same_again_writes_nothing(core: Core) -> None:
    documents = Documents(core)
    first = await documents.add("global", "Text.", source="s")
    assert await documents.add("global", "Text.", source="s") == first
    assert len(await Audit(core).list()) == 1


async def test_equal_chunks_of_one_document_are_all_kept(core: Core) -> None:
    documents = Documents(core)
    document = await documents.add("global", "# A\nSame.\n# A\nSame.\n# A\nSame.")
    pieces = await documents.chunks("global", document.id)
    assert [piece.position for piece in pieces] == [0, 1, 2]
    assert len({piece.id for piece in pieces}) == 3


async def test_one_source_in_two_namespaces_is_two_documents(core: Core) -> None:
    documents = Documents(core)
    first, second = (
        await documents.add("user:a", "Text.", source="s"),
        await documents.add("user:b", "Text.", source="s"),
    )
    assert first.id != second.id


async def test_deleting_takes_chunks_entries_and_the_job_along(core: Core) -> None:
    documents = Documents(core)
    document = await documents.add("global", "Text one. Text two.")
    await _index(core)
    assert await documents.delete("global", document.id) is True
    assert await documents.delete("global", document.id) is False
    assert [await core.scan(Chunk), await core.scan(Entry), await core.scan(Job, "index")] == [[], [], []]


async def test_documents_are_listed_filtered_and_paged(core: Core) -> None:
    documents = Documents(core)
    for number in range(4):
        await documents.add("global", f"Text {number}.", id=f"d{number}", metadata={"even": number % 2 == 0})
    assert [row.id for row in await documents.list("global", limit=2)] == ["d0", "d1"]
    assert [row.id for row in await documents.list("global", after="d1")] == ["d2", "d3"]
    assert [row.id for row in await documents.list("global", where={"even": True})] == ["d0", "d2"]


async def test_bad_documents_are_refused(core: Core, ada: Core) -> None:
    documents = Documents(core)
    with pytest.raises(InvalidValue, match="needs text"):
        await documents.add("global", " \n")
    with pytest.raises(InvalidValue):
        await documents.add("global", "a\x00b")
    with pytest.raises(TooLarge):
        await documents.add("global", "x" * (5 * 1024 * 1024))
    with pytest.raises(Forbidden):
        await Documents(ada).add("user:bob", "x")


async def _index(core: Core) -> None:
    """An index entry per chunk, as the indexer would write it."""
    for piece in await core.scan(Chunk):
        await core.apply(
            Put(
                Entry(
                    org=core.org,
                    ns=piece.ns,
                    kind="document",
                    parent=piece.document,
                    id=piece.id,
                    terms="text",
                    created_at=piece.created_at,
                )
            )
        )


async def test_an_unchanged_chunk_is_not_even_written(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = Documents(core)
    await documents.add("global", _section("One", 3) + _section("Two", 3), source="s")
    written: list[Any] = []
    apply = core.store.apply

    async def recording_apply(changes: Any, *, now: int) -> Any:
        written.extend(change.record for change in changes if isinstance(change, Put))
        return await apply(changes, now=now)

    monkeypatch.setattr(core.store, "apply", recording_apply)
    await documents.add("global", _section("One", 3) + _section("Two", 4), source="s")
    assert [record.heading for record in written if isinstance(record, Chunk)] == ["Two"]
