"""Tests inputs. Values come back exactly, or every store refuses them with the same error and writes nothing."""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec
import pytest

from memorist.errors import InvalidValue, TooLarge, UsageError
from memorist.messages.message import Message
from memorist.records import Fact, FactVersion, StateEntry, Thread
from memorist.stores.base import Append, Put, Scan, Store

from ..samples import NOW, WHEN, entry, fact, message, thread


def _nested(depth: int) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = [value]
    return value


ACCEPTED_VALUES: dict[str, Any] = {
    "empty text": "", "empty dict": {}, "empty list": [], "null": None, "true": True, "false": False, "zero": 0,
    "nul": "a\u0000b", "nul in key": {"\u0000": 1},
    "invalid utf-8 read with replace": b"\xff\xfe".decode(errors="replace"),
    "bidi": "\u202eabc\u202c\u2066x\u2069", "non-characters": "\ufffe\uffff\ufdd0\U0001fffe\U0010ffff",
    "combining": "e" + "\u0301" * 1000,
    "nfc and nfd twins": {"\u00e9": 1, "e\u0301": 2}, "case twins": {"a": 1, "A": 2, "\u00df": 3, "SS": 4, "ss": 5},
    "minus zero": -0.0,
    "minus zero inside": [-0.0, 0.0, 0], "64 bits": [2**63 - 1, -(2**63)], "2**53 + 1": 2**53 + 1,
    "small float": 5e-324,
    "large float": 1.7976931348623157e308, "float like an integer": [1.0, 1, 1e15, 1e16, 1e22, 1e23], "tenth": 0.1,
    "crlf": "a\r\nb\rc\n", "ansi": "\x1b[31mred\x1b[0m\x07", "separators": "%_*?{}:[]\\'\"`$;--/",
    "line separators": "\u2028\u2029\u0085",
    "key order": {"b": 1, "a": 2, "": 3, "10": 4, "9": 5}, "number texts": ["1e5", "NaN", "Infinity", "-0"],
    "json in text": '{"a": 1}',
    "depth 63": _nested(63), "10^5 keys": {f"k{i}": i for i in range(100_000)}, "1 MB of text": "\u00e9x" * 350_000,
    "emoji family": "\U0001f468\u200d\U0001f469\u200d\U0001f467", "whitespace": " \t\n\u00a0\u3000",
    "slash": "</script>\\/",
}  # fmt: skip

REFUSED_VALUES: dict[str, tuple[Any, type[UsageError]]] = {
    "lone surrogate": ("a\ud800", InvalidValue), "lone surrogate inside": ({"a": ["\udfff"]}, InvalidValue),
    "lone surrogate in key": ({"\ud800": 1}, InvalidValue), "nan": (float("nan"), InvalidValue),
    "inf": (float("inf"), InvalidValue),
    "minus inf inside": ([1, float("-inf")], InvalidValue), "2**70": (2**70, InvalidValue),
    "2**63": ({"n": 2**63}, InvalidValue),
    "5,000 digits": (10**5000, InvalidValue), "bytes": (b"\xff", InvalidValue), "a set": ({1, 2}, InvalidValue),
    "an object": (object(), InvalidValue),
    "number key": ({1: 2}, InvalidValue), "depth 10^5": (_nested(100_000), TooLarge),
    "depth 65": (_nested(65), TooLarge),
    "10 MB": ("x" * 10_000_000, TooLarge), "10 MB inside": (["x" * 10_000_000], TooLarge),
    "a datetime": (WHEN, InvalidValue),
}  # fmt: skip


def exact(value: Any) -> str:
    """Return a text that is equal only for values with the same type, the same sign of zero and the same key order."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


class Inputs:
    """Tests what may be stored."""

    async def test_values_come_back_exactly(self, store: Store, org: str) -> None:
        changed = []
        await store.apply([Put(thread(org))], now=NOW)
        for seq, (name, content) in enumerate(ACCEPTED_VALUES.items(), 1):
            await store.apply([Put(fact(org, name, content)), Put(entry(org, name, content))], now=NOW)
            await store.apply([Append(org, "t", (message(org, content, extra={"x": content}),), WHEN)], now=NOW)
            fact_row = await store.get(Fact, (org, "global", name), now=NOW)
            state_row = await store.get(StateEntry, (org, "global", name), now=NOW)
            message_row = await store.get(Message, (org, "t", seq), now=NOW)
            assert fact_row is not None and state_row is not None and message_row is not None
            if {
                exact(back) for back in (fact_row.value, state_row.value, message_row.content, message_row.extra["x"])
            } != {exact(content)}:
                changed.append(name)
        assert changed == []

    async def test_what_cannot_come_back_is_refused_and_nothing_written(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org))], now=NOW)
        for content, error in REFUSED_VALUES.values():
            for change in (
                Put(fact(org, value=content)),
                Put(entry(org, value=content)),
                Append(org, "t", (message(org, "fine"), message(org, content)), WHEN),
                Put(thread(org, "t2", metadata={"x": content})),
            ):
                with pytest.raises(error):
                    await store.apply([Put(entry(org, "before")), change, Put(entry(org, "after"))], now=NOW)
        assert await store.scan(Scan(StateEntry, (org,)), now=NOW) == []
        assert await store.scan(Scan(Fact, (org,)), now=NOW) == []
        assert [(item.id, item.length) for item in await store.scan(Scan(Thread, (org,)), now=NOW)] == [("t", 0)]

    async def test_an_importance_of_any_number_comes_back_as_a_float(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org))], now=NOW)
        numbers = [0, 1, 5, -3, 0.5, 1e-300, 1e300, sys.float_info.min, 2**53, -0.0]
        messages = tuple(message(org, "x", importance=number) for number in numbers)
        await store.apply([Append(org, "t", messages, WHEN)], now=NOW)
        back = [item.importance for item in await store.scan(Scan(Message, (org, "t")), now=NOW)]
        assert {type(number) for number in back} == {float}
        assert back == numbers

    @pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
    async def test_a_confidence_or_importance_that_is_no_number_is_refused(
        self, store: Store, org: str, number: float
    ) -> None:
        await store.apply([Put(thread(org))], now=NOW)
        with pytest.raises(InvalidValue):
            await store.apply([Put(fact(org, confidence=number))], now=NOW)
        with pytest.raises(InvalidValue):
            await store.apply([Append(org, "t", (message(org, "x", importance=number),), WHEN)], now=NOW)
        assert await store.scan(Scan(Fact, (org,)), now=NOW) == []
        assert await store.scan(Scan(Message, (org,)), now=NOW) == []

    async def test_the_caller_may_change_a_value_after_writing_it(self, store: Store, org: str) -> None:
        value = {"list": [1]}
        await store.apply([Put(fact(org, value=value))], now=NOW)
        value["list"].append(2)
        row = await store.get(Fact, (org, "global", "k"), now=NOW)
        assert row is not None and row.value == {"list": [1]}

    async def test_the_caller_may_change_a_value_that_was_read(self, store: Store, org: str) -> None:
        await store.apply([Put(fact(org, value={"list": [1]}))], now=NOW)
        row = await store.get(Fact, (org, "global", "k"), now=NOW)
        assert row is not None
        row.value["list"].append(2)
        again = await store.get(Fact, (org, "global", "k"), now=NOW)
        assert again is not None and again.value == {"list": [1]}

    async def test_history_holds_the_exact_bytes_too(self, store: Store, org: str) -> None:
        awkward = {"b": -0.0, "a": "\u0000\u202e", "": [1.0, 1]}
        await store.apply([Put(fact(org, value=awkward)), Put(fact(org, value=2))], now=NOW)
        [version] = await store.scan(Scan(FactVersion, (org,)), now=NOW)
        assert exact(version.value) == exact(awkward)

    async def test_a_message_of_every_field_comes_back_with_its_extras(self, store: Store, org: str) -> None:
        await store.apply([Put(thread(org))], now=NOW)
        calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
        extra = {"tool_calls": calls, "x_unknown": {"k": [None]}}
        fields: dict[str, Any] = {
            "trust": "web",
            "shape": "bare",
            "metadata": {"m": 1},
            "importance": 0.5,
            "pinned": True,
        }
        written = message(org, None, role="assistant", name="ada", extra=extra, counter="estimate", **fields)
        await store.apply([Append(org, "t", (written,), WHEN)], now=NOW)
        [back] = await store.scan(Scan(Message, (org, "t")), now=NOW)
        assert back == msgspec.structs.replace(written, seq=1)
