"""Words of like meaning, by which documents are searched and their sentences scored."""

from __future__ import annotations

from memorist import Memory
from memorist.recall.alike import terms_alike, words_alike
from memorist.recall.query import analyse
from memorist.stores.memory import MemoryStore


def test_a_word_leads_to_the_words_listed_with_it_in_any_form() -> None:
    assert "caretaker" in words_alike("When can I meet the janitors?")["janitors"]
    assert "probat" in terms_alike("How long is the trial phase?")
    assert words_alike("Which planet is red?") == {}


def test_a_phrase_counts_only_as_a_whole() -> None:
    assert "caretaker" in words_alike("Who will look after the building?")["look"]
    assert "caretaker" not in words_alike("Where do I look this up?").get("look", ())


def test_a_question_keeps_its_own_terms_apart_from_those_alike() -> None:
    query = analyse("What does the janitor do about rubbish and waste?")
    assert "caretak" in query.alike and "caretak" not in query.terms
    assert not set(query.alike) & set(query.terms)


def test_a_passage_in_other_words_is_found_among_many() -> None:
    """Without vectors, too: sixty passages share words with the question, the one that answers none."""
    with Memory(MemoryStore(), user="ada", worker=False, embedder=None) as memory:
        for place in range(60):
            text = f"# Note {place}\n\nOn which day do they pick up parcel {place}? They pick it up on day {place}."
            memory.documents.add("user:ada", text, title=f"note {place}")
        memory.documents.add("user:ada", "# House\n\nRefuse: bins are emptied on Tuesdays.", title="house")
        hits = memory.recall("On which day do they pick up the garbage?", kinds="document", top_k=100)
    assert any("Tuesdays" in hit.text for hit in hits)
