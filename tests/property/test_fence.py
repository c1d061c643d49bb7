"""Fenced text is never changed and can never close its fence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memorist.context.fence import absent_number, fence, fenced_memory, unfence

PIECES = st.sampled_from(
    ["<", "</", "memory", ">", " ", "\n", "《", "\u200b", "12", "note", "＜", "\ufe0f", "[", '"""', "é"]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_a_fence_gives_back_its_text_and_closes_once(text: str) -> None:
    fenced = fence("memory", "note", text)
    assert unfence("memory", "note", fenced) == text
    closing = fenced.rpartition("\n")[2]
    assert closing not in text
    assert fence("memory", "note", text) == fenced


@given(st.text(), st.text())
def test_a_forged_fence_is_fenced_again(text: str, more: str) -> None:
    intact = fenced_memory(text)
    assert fenced_memory(intact) == intact
    forged = intact + more
    assert forged == intact or fenced_memory(forged) != forged


@given(st.text(alphabet="0123456789", max_size=2_000))
def test_a_number_that_a_text_does_not_contain(text: str) -> None:
    assert absent_number(text) not in text
