"""What may be stored."""

import pytest

from memorist.errors import InvalidValue, TooLarge
from memorist.values import MAX_NAME_BYTES, check_name, check_text, decode_json, encode_json, fingerprint_json
from memorist_testing.suite.inputs import ACCEPTED_VALUES, REFUSED_VALUES, exact


@pytest.mark.parametrize("name", ACCEPTED_VALUES)
def test_a_value_survives_its_json(name: str) -> None:
    assert exact(decode_json(encode_json(ACCEPTED_VALUES[name]))) == exact(ACCEPTED_VALUES[name])


@pytest.mark.parametrize("name", REFUSED_VALUES)
def test_a_value_that_would_not_is_refused(name: str) -> None:
    value, error = REFUSED_VALUES[name]
    with pytest.raises(error):
        encode_json(value)


def test_an_error_names_what_was_refused_and_not_what_it_held() -> None:
    with pytest.raises(InvalidValue, match="metadata") as caught:
        encode_json({"private": float("nan")}, "metadata")
    assert "private" not in str(caught.value)


def test_a_value_that_holds_itself_is_too_deep() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(TooLarge):
        encode_json(loop)
    twice: dict[str, object] = {}
    twice["a"] = twice["b"] = twice  # a walk by levels would double with each
    with pytest.raises(TooLarge):
        encode_json(twice)


def test_equal_values_have_equal_fingerprints_whatever_their_key_order() -> None:
    assert fingerprint_json({"b": 1, "a": [1, {"y": 2, "x": 3}]}) == fingerprint_json(
        {"a": [1, {"x": 3, "y": 2}], "b": 1}
    )
    assert fingerprint_json([1, 2]) != fingerprint_json([2, 1])


@pytest.mark.parametrize(
    "name", ["a", "%_*?{}:[]\\'\"", "x" * MAX_NAME_BYTES, "\u00e9" * 256, "\U0001f600", " ", "\n"], ids=ascii
)
def test_a_name_may_hold_almost_anything(name: str) -> None:
    assert check_name(name, "key") == name


@pytest.mark.parametrize("name", ["", "a\u0000", "\ud800", "\udfffx", 5, None, b"a", ["a"]], ids=ascii)
def test_a_name_that_no_store_can_keep_is_refused(name: object) -> None:
    with pytest.raises(InvalidValue):
        check_name(name, "key")


@pytest.mark.parametrize("name", ["x" * 513, "\u00e9" * 257, "\U0001f600" * 129])
def test_a_name_is_measured_in_bytes(name: str) -> None:
    with pytest.raises(TooLarge):
        check_name(name, "key")


def test_text_has_a_limit_and_no_nul() -> None:
    assert check_text("x" * 10, "title", limit=10) == "x" * 10
    with pytest.raises(TooLarge):
        check_text("x" * 11, "title", limit=10)
    for bad in ("a\u0000", "\ud800", 5):
        with pytest.raises(InvalidValue):
            check_text(bad, "title")
