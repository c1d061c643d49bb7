"""Small talk is recognised; anything that states or asks something is not."""

from __future__ import annotations

import pytest

from memorist.languages.files import codes, read
from memorist.languages.small_talk import is_small_talk


@pytest.mark.parametrize(
    "text",
    [
        "hello", "Hi, how are you?", "Ok, got it.", "Thanks!", "Thank you so much, that helps.", "Noted.", "👍 ok",
        "Sure, will do.", "Got it, thanks. I'll keep that in mind.", "Hallo, wie geht's?", "Alles klar, danke!",
        "Merci beaucoup", "Vale, gracias", "你好", "好的，谢谢你！", "わかりました。ありがとうございます。",
        "Хорошо, спасибо",
    ],
)  # fmt: skip
def test_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "Who am I?", "Ok, and who was it?", "Lisbon.", "Yes, at 7.", "Ada", "No peanuts please",
        "Hello world program in Rust", "Please always answer in French", "ok computer album", "How old are you?",
        "What do you know about me?", "谢谢你的礼物很漂亮", "I see a doctor tomorrow", "Good morning routine ideas",
        "thanks " * 40,
    ],
)  # fmt: skip
def test_everything_else(text: str) -> None:
    assert not is_small_talk(text)


def test_every_language_has_some() -> None:
    assert all(read(code, "stop").get("small_talk") for code in codes())
