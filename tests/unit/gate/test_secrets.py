"""Secrets are found by their shape and checksum and masked; prose is left alone."""

from __future__ import annotations

import random
import string
from datetime import UTC, datetime

import pytest

from memorist.gate.passing import Tally, admit_record
from memorist.gate.policy import Gate
from memorist.gate.secrets import find_secrets, is_card_number, is_iban, mask_secrets
from memorist.records import Fact

ALPHABET = string.ascii_letters + string.digits


def random_secret(kind: str, dice: random.Random) -> str:
    """A random secret of a kind."""
    some = lambda size, signs=ALPHABET: "".join(dice.choices(signs, k=size))  # noqa: E731
    makers = {
        "openai-key": lambda: f"sk-proj-{some(40)}",
        "anthropic-key": lambda: f"sk-ant-api03-{some(60)}",
        "aws-access-key": lambda: f"AKIA{some(16, string.ascii_uppercase + string.digits)}",
        "github-token": lambda: f"ghp_{some(36)}",
        "gitlab-token": lambda: f"glpat-{some(20)}",
        "slack-token": lambda: f"xoxb-{some(12, string.digits)}-{some(24)}",
        "google-api-key": lambda: f"AIza{some(35)}",
        "stripe-key": lambda: f"sk_live_{some(24)}",
        "sendgrid-key": lambda: f"SG.{some(22)}.{some(43)}",
        "npm-token": lambda: f"npm_{some(36)}",
        "pypi-token": lambda: f"pypi-{some(60)}",
        "huggingface-token": lambda: f"hf_{some(34)}",
        "jwt": lambda: f"eyJ{some(20)}.eyJ{some(40)}.{some(43)}",
        "private-key": lambda: f"-----BEGIN RSA PRIVATE KEY-----\n{some(200)}\n-----END RSA PRIVATE KEY-----",
        "bearer-token": lambda: f"Bearer {some(40)}",
        "url-password": lambda: f"postgresql://ada:{some(12)}@db.example/app",
        "password": lambda: f"password: {some(10)}1!",
        "one-time-code": lambda: f"verification code is {some(6, string.digits)}",
        "card-number": lambda: card(dice),
        "iban": lambda: iban(dice),
    }
    return makers[kind]()


def card(dice: random.Random) -> str:
    digits = "4" + "".join(dice.choices(string.digits, k=14))
    return next(f"{digits}{check}" for check in string.digits if is_card_number(f"{digits}{check}"))


def iban(dice: random.Random) -> str:
    account = "".join(dice.choices(string.digits, k=18))
    return next(f"DE{check:02}{account}" for check in range(2, 99) if is_iban(f"DE{check:02}{account}"))


KINDS = (
    "openai-key", "anthropic-key", "aws-access-key", "github-token", "gitlab-token", "slack-token", "google-api-key",
    "stripe-key", "sendgrid-key", "npm-token", "pypi-token", "huggingface-token", "jwt", "private-key", "bearer-token",
    "url-password", "password", "one-time-code", "card-number", "iban",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_is_found_in_a_sentence_and_gone_once_masked(kind: str) -> None:
    dice = random.Random(kind)
    for _ in range(10):
        secret = random_secret(kind, dice)
        text = f"Hi, for the deployment use {secret} and tell nobody."
        masked, kinds = mask_secrets(text)
        assert kinds == [kind]
        assert mask_secrets(text, allowed=[kind]) == (text, [])
        assert secret not in masked and masked.endswith("and tell nobody.")


@pytest.mark.parametrize(
    "text",
    [
        "My password manager is great.", "I forgot my password again", "The verification of the code took 20 minutes.",
        "Call me at +49 170 1234567 or 030 12345678.", "Order 1234567890123456 shipped.", "I was born on 1990-05-12.",
        "Our budget is 1,250,000 and the ticket is PROJ-48213.", "The secret of good bread is time.",
        "See https://example.com/password-reset?view=o365 for details.", "My token of appreciation is a cake.",
        "secret: zebra-canary-12345 lives in the vault", "api_token: budget-2026-q4-planning",
        "release key = spring-launch-2026",
],
)  # fmt: skip
def test_prose_and_ordinary_numbers_are_left_alone(text: str) -> None:
    assert mask_secrets(text) == (text, [])


def test_a_masked_key_can_be_recognised() -> None:
    masked, _ = mask_secrets("sk-abcdefghijklmnopqrstuvwxyz0123459f2a")
    assert masked == "sk-…9f2a"


def test_checksums() -> None:
    assert is_card_number("4111 1111 1111 1111") and not is_card_number("4111 1111 1111 1112")
    assert is_iban("DE89 3704 0044 0532 0130 00") and not is_iban("DE89 3704 0044 0532 0130 01")


def test_a_secret_across_two_pieces_of_a_long_text_is_found() -> None:
    text = "x " * 99_990 + "sk-proj-abcdefghijklmnopqrstuvwxyz012345 " + "y " * 10
    assert [secret.kind for secret in find_secrets(text)] == ["openai-key"]


@pytest.mark.parametrize(
    "text", ["The card is 4111 1111 1111 1111.", "Card 4111111111111111, then.", "(4111-1111-1111-1111)"]
)
def test_a_card_number_may_end_a_sentence(text: str) -> None:
    assert [secret.kind for secret in find_secrets(text)] == ["card-number"]


@pytest.mark.parametrize("text", ["v1.4111111111111111", "4111111111111111.5", "a4111111111111111"])
def test_digits_inside_a_longer_code_are_no_card_number(text: str) -> None:
    assert find_secrets(text) == []


@pytest.mark.parametrize(
    ("text", "secret", "kind"),
    [
        ("the password for the NAS is hunter2 by the way", "hunter2", "password"),
        ("Das Passwort lautet Sommer2026!", "Sommer2026!", "password"),
        ("la password è Gatto#44nero", "Gatto#44nero", "password"),
        ("密码是Xk29!qq9", "Xk29!qq9", "password"),
        ("Ihr Einmalcode lautet 739 201", "739 201", "one-time-code"),
        ("G-739201 is your Google verification code.", "739201", "one-time-code"),
        ("Tu código de verificación es 5521", "5521", "one-time-code"),
        ("export VAULT_TOKEN=hvs.ddy32T95ul6UbPxxukarv7h7", "hvs.ddy32T95ul6UbPxxukarv7h7", "provider-key"),
        ("shopify 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", "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", "provider-key"),
        (
            "    token: HBuTDNpMzxCXdmdLwu7cUQ5sSKX6eZgSCWW4YiEa",
            "HBuTDNpMzxCXdmdLwu7cUQ5sSKX6eZgSCWW4YiEa",
            "assigned-secret",
        ),
        ("curl -u ada:p@ssW0rd! https://api.example.com", "p@ssW0rd!", "basic-credentials"),
        ("Authorization: Basic YWRhOlNla3JldDk5eA==", "YWRhOlNla3JldDk5eA==", "basic-credentials"),
        ("my seed phrase is: " + "abandon ability " * 6, "ability abandon", "wallet-key"),
    ],
)
def test_secrets_in_words_and_of_more_providers_are_masked(text: str, secret: str, kind: str) -> None:
    masked, kinds = mask_secrets(text)
    assert secret not in masked
    assert kinds == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "set API_KEY=your-api-key-here",
        "password: ********",
        "postgres://user:password@localhost/app",
        "password = os.environ['DB_PASSWORD']",
        "My password manager is 1Password.",
        "The API token expires after 30 days.",
        "my promo code SAVE20 expired, zip code is 94103",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 broke the build",
        "la contraseña es muy larga",
    ],
)
def test_placeholders_and_talk_about_secrets_stay(text: str) -> None:
    assert mask_secrets(text) == (text, [])


WORDS = "abandon ability able about above absent absorb abstract absurd abuse access accident"


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("seed_phrase", WORDS), ("recovery.phrase", WORDS), ("tan", "482913"), ("tan_code", 482913),
        ("one_time_code", "482913"), ("sms.code", 482913), ("wifi_password", "hunter-2-summer"),
        ("api_key", "k-83hf-x92"), ("access.token", "k-83hf-x92"), ("contraseña", "verano-2026!"),
        ("card", 4111111111111111), ("iban", "DE89370400440532013000"),
        ("note", "SK0123456789abcdef0123456789abcdef"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_secret_under_a_label_is_masked_in_the_value_of_a_fact(label: str, value: object, depth: int) -> None:
    # One search over the whole record decides which patterns are tried: it must not overlook what a label means.
    assert find_secrets(f"{label.replace('_', ' ').replace('.', ' ')}: {value}")
    content: object = value if depth == 0 else {"items": [{label: value}]} if depth == 2 else {label: value}
    key = label if depth == 0 else "settings"
    at = datetime(2026, 11, 19, tzinfo=UTC)
    fact = Fact(org="o", ns="user:ada", key=key, value=content, created_at=at, updated_at=at)
    tally = Tally()
    passed = admit_record(Gate(), fact, at, tally)
    assert str(value) not in str(getattr(passed, "value", None)) and sum(tally.values()) == 1
