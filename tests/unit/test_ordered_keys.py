"""Record keys as text: the order and the values of the tuples are kept exactly."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import InvalidValue, TooLarge
from memorist.ordered_keys import AFTER_ELEMENTS, MAX_KEY_BYTES, decode_record_key, encode_record_key
from memorist_testing.samples import ADVERSARIAL

numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text("\x00\x01\x02\x03\x04au", max_size=6)
keys = st.lists(numbers | texts, max_size=4).map(tuple)


def rank(key: tuple[Any, ...]) -> list[tuple[int, Any]]:
    return [(isinstance(element, str), element) for element in key]


@given(keys, keys)
def test_texts_sort_as_keys_do(first: tuple[Any, ...], second: tuple[Any, ...]) -> None:
    encoded_first, encoded_second = encode_record_key(first), encode_record_key(second)
    # By code points, as SQLite and Postgres compare UTF-8 bytes.
    assert (encoded_first.encode() < encoded_second.encode()) == (rank(first) < rank(second))
    assert (encoded_first == encoded_second) == (rank(first) == rank(second))


@given(keys)
def test_a_key_comes_back(key: tuple[Any, ...]) -> None:
    assert decode_record_key(encode_record_key(key)) == key


@given(keys, keys)
def test_what_starts_with_a_prefix_lies_between_its_text_and_the_end_mark(prefix: Any, rest: Any) -> None:
    start, whole = encode_record_key(prefix), encode_record_key(prefix + rest)
    assert whole.startswith(start)
    assert start <= whole < start + AFTER_ELEMENTS


def test_order_at_the_edges_of_numbers() -> None:
    edges = [
        -1.7e308, -(2.0**63), -(2**63), -(2**63) + 1, -(2.0**53), -10, -9.5, -9, -1, -0.1, -5e-324, 0, 5e-324,
        0.1, 0.5, 1, 1.5, 9, 10, 100, 2**53 - 1, 2.0**53, 2**53 + 1, 2**63 - 1, 2.0**63, 1.7e308,
    ]  # fmt: skip
    for low, high in itertools.combinations(edges, 2):
        assert (encode_record_key((low,)) < encode_record_key((high,))) == (low < high), (low, high)


@pytest.mark.parametrize("text", ADVERSARIAL)
def test_odd_texts_come_back(text: str) -> None:
    assert decode_record_key(encode_record_key((text, 1, text))) == (text, 1, text)


def test_equal_numbers_are_one_key() -> None:
    assert encode_record_key((1.0, -0.0)) == encode_record_key((1, 0))


@pytest.mark.parametrize(
    "key", ["text", 1, None, (None,), (b"x",), (True,), (("a",),), (math.nan,), (math.inf,), (2**63,), ("\ud800",)]
)
def test_what_has_no_place_in_an_order_is_refused(key: Any) -> None:
    with pytest.raises(InvalidValue):
        encode_record_key(key)


def test_long_keys() -> None:
    nested = ("checkpoint", *(f"agent:{'0123456789abcdef' * 2}{n:04d}" for n in range(24)))
    assert len(encode_record_key(nested)) > 1000
    with pytest.raises(TooLarge):
        encode_record_key(("x" * MAX_KEY_BYTES,))
    with pytest.raises(TooLarge):
        encode_record_key(("\u00e9" * (MAX_KEY_BYTES // 2),))
