"""Text to terms, in many scripts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.recall.analyze import normalise, query_terms, stemmer_of, token_string, tokens, words


def test_words_are_case_folded_stemmed_and_freed_of_stop_words() -> None:
    assert tokens("The kids were RUNNING to the parks") == ["kid", "run", "park"]


def test_possessives_and_contractions_do_not_make_terms_of_their_own() -> None:
    assert tokens("Caroline's dog doesn't bark, O’Brien’s does") == ["carolin", "dog", "bark", "obrien"]


@pytest.mark.parametrize(
    ("written", "query"), [("café", "cafe"), ("Ｆｕｌｌ width", "full"), ("naïve", "naive"), ("ﬁne", "fine")]
)
def test_accents_and_widths_do_not_matter(written: str, query: str) -> None:
    assert set(tokens(query)) <= set(tokens(written))


def test_scripts_without_spaces_become_pairs_of_characters() -> None:
    assert tokens("東京タワー") == ["東京", "京タ", "タワ", "ワー"]
    assert tokens("猫") == ["猫"]
    assert set(tokens("大阪城")) <= set(tokens("昨日大阪城に行きました"))


@pytest.mark.parametrize(
    "text", ["हिन्दी भाषा", "தமிழ் மொழி", "العربية لغة", "עברית שפה", "ภาษาไทย", "ქართული ენა", "ελληνική γλώσσα"]
)
def test_no_script_is_lost(text: str) -> None:
    assert tokens(text)


def test_combining_vowels_stay_in_their_word() -> None:
    assert len(words("हिन्दी भाषा")) == 2


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Ich habe die Häuser nicht gesehen und bin nach Hause", "german"),
        ("je ne sais pas où est le chat de la voisine", "french"),
        ("no sé dónde está el gato de mi vecina", "spanish"),
        ("the cat of my neighbour is on the roof", "english"),
        ("Zanzibar", None),
    ],
)
def test_the_language_is_told_by_its_small_words(text: str, language: str | None) -> None:
    assert stemmer_of(text) == language


def test_a_text_too_short_to_tell_is_in_the_usual_language() -> None:
    assert tokens("Sopimuksen irtisanoin", usual="finnish") == tokens("Sopimuksen irtisanoin", "finnish")
    assert tokens("running shoes", usual=None) == ["run", "shoe"]


def test_other_languages_are_stemmed_as_they_should_be() -> None:
    assert tokens("Häuser", "de") == tokens("Haus", "de")
    assert tokens("книги") == tokens("книгой")


def test_a_short_question_is_read_in_both_languages() -> None:
    terms = query_terms("Wo sind die Häuser")
    assert tokens("Häuser", "de")[0] in terms
    assert tokens("Häuser", "en")[0] in terms


def test_an_endless_word_is_cut() -> None:
    assert len(tokens("a" * 5000)[0]) <= 64


@given(st.text())
def test_terms_are_safe_for_any_engine_and_always_the_same(text: str) -> None:
    terms = tokens(text)
    assert terms == tokens(text)
    assert token_string(text).split(" ") == (terms or [""])
    for term in terms:
        assert term
        assert not set(term) & set(" \t\n\"'*():^-+{}")


@given(st.text())
def test_what_is_written_is_found_by_asking_for_the_same(text: str) -> None:
    assert set(tokens(text)) <= set(query_terms(text))


@given(st.text())
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    assert words(normalise(text)) == words(text)


@pytest.mark.parametrize(
    ("language", "singular", "plural"),
    [
        ("danish", "cykel", "cykler"), ("danish", "artikel", "artikler"), ("danish", "hotel", "hoteller"),
        ("norwegian", "sykkel", "sykler"), ("norwegian", "nøkkel", "nøkler"), ("swedish", "fågel", "fåglar"),
    ],
)  # fmt: skip
def test_nordic_nouns_that_drop_an_e_in_the_plural_have_one_stem(language: str, singular: str, plural: str) -> None:
    assert tokens(singular, language) == tokens(plural, language)
    assert tokens("del", language) == ["del"]
