from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from bench.rendered import measure_openai
from memorist.context.budget import TokenBudget
from memorist.context.measure import (
    IMAGE_TOKENS,
    LOW_DETAIL_TOKENS,
    count_content,
    count_message,
    count_tools,
    image_tokens,
    stored_tokens,
)
from memorist.context.tokens import ENCODINGS, SPECIAL, Encoding, open_counter
from memorist.context.usage import price_of
from memorist.errors import UsageError
from memorist.messages.message import Message, as_message

TEXTS = [
    "",
    "hello world",
    "<|endoftext|>",
    "naïve 🙂 数据库",
    "x" * 3_000,
    "a\n\n\n  b\t\t",
    '{"a": [1, 2.5e3, null]}',
]


def words(text: str) -> int:
    return len(text.split())


def test_special_tokens_in_text_are_counted_as_text() -> None:
    assert open_counter("o200k_base").count("<|endoftext|>") == 7


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_text_that_looks_special_is_counted_as_another_call_of_the_tokenizer_counts_it(encoding: str) -> None:
    counter = Encoding(encoding)
    counter.count("load it")
    tokenizer = counter._tokenizer
    assert all(token.startswith(SPECIAL) for token in tokenizer.special_tokens())
    texts = [
        *TEXTS,
        *(f"a {token} b" for token in tokenizer.special_tokens()),
        "<| not one",
        "<",
        "|>",
        "<\u200b|im_end|>",
    ]
    assert [counter.count(text) for text in texts] == [len(tokenizer.encode_ordinary(text)) for text in texts]


def test_known_counts_of_both_encodings() -> None:
    # Published counts of OpenAI's tokenizer for these encodings.
    assert open_counter("cl100k_base").count("tiktoken is great!") == 6
    assert open_counter().count("hello world") == 2
    assert open_counter().name == "o200k_base"


@pytest.mark.parametrize(("column", "encoding"), [(1, "o200k_base"), (2, "cl100k_base")])
def test_counts_of_many_texts_are_those_of_another_tokenizer(column: int, encoding: str) -> None:
    # Counted by quicktok, which is not a dependency: languages, code, numbers, emoji, odd spaces, noise.
    rows = json.loads((Path(__file__).parents[2] / "data" / "token_counts.json").read_text("utf-8"))
    counter = open_counter(encoding)
    assert len(rows) == 300
    assert [row[0] for row in rows if counter.count(row[0]) != row[column]] == []


def test_the_tokenizer_does_not_keep_every_word_ever_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.context.tokens._CACHED_WORDS", 10)
    monkeypatch.setattr("memorist.context.tokens._LOOK_AFTER", 1)
    counter = Encoding("o200k_base")
    counts = [counter.count(f"zqxw{number}vkjh is no word") for number in range(50)]
    assert counts == [open_counter().count(f"zqxw{number}vkjh is no word") for number in range(50)]
    assert counter.cached_words <= 10 + 8


def test_lone_surrogates_are_counted_and_not_refused() -> None:
    assert open_counter().count("broken \ud83d text") > 0


def test_the_estimate_is_a_quarter_of_the_characters_rounded_up() -> None:
    counter = open_counter("estimate")
    assert [counter.count("x" * size) for size in (0, 1, 4, 5, 400)] == [0, 1, 1, 2, 100]


def test_calibrating_the_estimate_moves_it_at_once_and_then_half_way() -> None:
    counter = open_counter("estimate")
    counter.count("x" * 400)
    assert counter.calibrate(150) == 1.5
    assert counter.count("x" * 400) == 150
    counter.calibrate(300, counted_tokens=150)
    assert counter.count("x" * 400) == 225


def test_a_calibrated_estimate_does_not_take_counts_made_before() -> None:
    counter = open_counter("estimate")
    message = Message(role="user", content="x" * 400, tokens=104, counter="estimate")
    assert stored_tokens(message, counter) == 104
    counter.calibrate(200, counted_tokens=100)
    assert stored_tokens(message, counter) == 204


def test_an_exact_counter_records_the_drift_and_keeps_its_counts() -> None:
    counter = open_counter("cl100k_base")
    before = counter.count("some text to count")
    counter.assembled(100)
    assert counter.calibrate(104) == pytest.approx(1.04)
    assert counter.drift == pytest.approx(1.04)
    assert counter.count("some text to count") == before


def test_calibrating_before_anything_was_counted_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing was counted"):
        open_counter(words).calibrate(10)


def test_any_function_is_a_counter_and_a_wrong_answer_is_refused() -> None:
    assert open_counter(words).count("three words here") == 3
    with pytest.raises(UsageError, match="whole number"):
        open_counter(lambda text: 0.5).count("x")


def test_two_lambdas_do_not_share_a_name() -> None:
    first: Any = lambda text: 1  # noqa: E731
    second: Any = lambda text: 2  # noqa: E731
    assert open_counter(first).name != open_counter(second).name


def test_a_hugging_face_tokenizer_is_a_counter(tmp_path: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({"a": 0, "b": 1, "[UNK]": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    counter = open_counter(tokenizer)
    assert counter.count("a b c d") == 4
    assert counter.name.startswith("hf:")
    assert open_counter(tokenizer).name == counter.name


def test_a_tokenizer_that_adds_no_special_tokens_is_a_counter() -> None:
    class Words:
        def encode(self, text: str) -> list[str]:
            return text.split()

    class LikeTiktoken:
        name = "words"

        def encode(self, text: str, *, disallowed_special: str = "all") -> list[str]:
            raise ValueError("text holds a special token")

        def encode_ordinary(self, text: str) -> list[str]:
            return text.split()

    assert open_counter(Words()).count("one two three") == 3
    assert open_counter(LikeTiktoken()).count("one <|endoftext|>") == 2
    assert open_counter(LikeTiktoken()).name == "hf:words"


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(UsageError, match="o200k_base, cl100k_base or estimate"):
        open_counter("p50k_base")
    with pytest.raises(UsageError, match="not int"):
        open_counter(7)


def test_a_message_costs_its_parts_and_what_stands_around_them() -> None:
    counter = open_counter(words)
    assert count_message(as_message({"role": "user", "content": "one two"}), counter) == 4 + 2
    assert count_message(as_message({"role": "user", "content": "one", "name": "Ada"}), counter) == 4 + 1 + 2 + 1
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
    calling = as_message({"role": "assistant", "content": None, "tool_calls": [call]})
    assert count_message(calling, counter) == 4 + 8 + 1 + 1 + 2
    answer = as_message({"role": "tool", "tool_call_id": "c1", "content": "a b c"})
    assert count_message(answer, counter) == 4 + 1 + 3


def test_a_request_costs_the_sum_of_its_messages() -> None:
    thread = [{"role": "user", "content": text} for text in TEXTS]
    counter = open_counter()
    assert measure_openai(thread, None, counter) == 3 + sum(count_message(as_message(m), counter) for m in thread)


def test_both_shapes_of_a_call_cost_about_the_same() -> None:
    counter = open_counter()
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}
    openai = as_message({"role": "assistant", "content": None, "tool_calls": [call]})
    block = {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}}
    anthropic = as_message({"role": "assistant", "content": [block]})
    assert count_message(openai, counter) == count_message(anthropic, counter)


def test_unknown_fields_are_counted_not_ignored() -> None:
    counter = open_counter(words)
    plain = as_message({"role": "assistant", "content": "x"})
    odd = as_message({"role": "assistant", "content": "x", "reasoning_content": "one two three", "audio": None})
    assert count_message(odd, counter) == count_message(plain, counter) + 3


def test_images_cost_by_detail_and_size() -> None:
    low = {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}
    far = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    assert image_tokens(low) == LOW_DETAIL_TOKENS
    assert image_tokens(far) == IMAGE_TOKENS
    assert image_tokens(png(512, 512)) == max(85 + 170, 350)
    assert image_tokens(png(1024, 1024)) == max(85 + 170 * 4, 1_399)
    assert image_tokens(png(0, 10)) == IMAGE_TOKENS


def png(width: int, height: int) -> dict[str, Any]:
    import base64

    head = b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + width.to_bytes(4) + height.to_bytes(4) + b"\x08\x06"
    return {"type": "image", "source": {"type": "base64", "data": base64.b64encode(head).decode()}}


def test_tools_cost_their_json_and_eight() -> None:
    assert count_tools([{"name": "f"}, {"name": "g"}], open_counter(words)) == 2 * (8 + 1)
    assert count_tools(None) == 0


def test_stored_counts_are_taken_only_from_the_same_counter() -> None:
    message = Message(role="user", content="hello world", tokens=999)
    assert stored_tokens(message, open_counter()) == 999
    assert stored_tokens(message, open_counter("cl100k_base")) == 6


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4o-mini", 128_000),
        ("gpt-4", 8_192),
        ("gpt-4.1-nano", 1_047_576),
        ("claude-sonnet-4-5", 200_000),
        ("anthropic/claude-3-5-haiku-latest", 200_000),
        ("us.anthropic.claude-opus-4-1-v1:0", 200_000),
        ("o1-mini", 128_000),
        ("o3", 200_000),
    ],
)
def test_a_budget_comes_from_a_models_name(model: str, window: int) -> None:
    assert TokenBudget.for_model(model, output_reserve=1_000).request_tokens == window - 1_000


def test_an_unknown_model_is_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match="pass the total"):
        TokenBudget.for_model("eliza-1966")


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, None, "8000"])
def test_a_total_that_is_no_number_of_tokens_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError):
        TokenBudget(wrong)


def test_a_reserve_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="leaves nothing"):
        TokenBudget(100, output_reserve=100)


def test_images_of_all_common_kinds_are_counted_by_their_size() -> None:
    def source(data: bytes) -> dict[str, Any]:
        written = base64.b64encode(data).decode()
        return {"type": "image", "source": {"type": "base64", "media_type": "image/x", "data": written}}

    frame = b"\xff\xc0\x00\x11\x08" + (480).to_bytes(2) + (640).to_bytes(2) + bytes(12)
    jpeg = b"\xff\xd8\xff\xe0\x00\x10" + bytes(14) + frame
    extended = b"RIFF" + bytes(4) + b"WEBPVP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
    lossless = b"RIFF" + bytes(4) + b"WEBPVP8L" + bytes(5) + (639 | 479 << 14).to_bytes(4, "little") + bytes(8)
    lossy = b"RIFF" + bytes(4) + b"WEBPVP8 " + bytes(10) + (640).to_bytes(2, "little") + (480).to_bytes(2, "little")
    # Two tiles of 512 at OpenAI: 85 and twice 170; 640 × 480 ÷ 750 at Anthropic is 410.
    assert {image_tokens(source(data)) for data in (jpeg, extended, lossless, lossy)} == {425}
    assert image_tokens(source(b"\xff\xd8\xff\xda" + bytes(40))) == 1_600


def test_a_pdf_is_counted_by_its_pages() -> None:
    pdf = b"%PDF-1.4 /Type /Pages /Count 2 " + b"/Type /Page /Type/Page " + bytes(200)
    data = base64.b64encode(pdf).decode()
    block = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}}
    assert count_content([block], open_counter()) == 6_000
    file = {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{data}"}}
    assert count_content([file], open_counter()) == 6_000


def test_a_model_with_a_number_of_its_own_has_no_price_of_another() -> None:
    assert price_of("gpt-5-2025-08-07") == price_of("gpt-5") and price_of("gpt-5-mini") != price_of("gpt-5")
    assert price_of("gpt-5.6") is None and price_of("gpt-4.1-mini-2025-04-14") == price_of("gpt-4.1-mini")
