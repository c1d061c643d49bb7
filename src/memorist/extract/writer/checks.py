"""Checks each operation in an answer separately, and accepts it, sends it for review, or refuses it with a reason.

A model may state only what its evidence supports. The quote must be in the cited message, in the user's own words.
Names and numbers must come from the quote, the conversation or known memories. The value must fit its subject and key.
A change to a known memory needs a target, a newer statement and a reason.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from ...dates import number
from ...gate.secrets import has_secret
from ..readable import cites_quotation
from .answer import MAX_KEY_CHARACTERS, MAX_TEXT_CHARACTERS, Operation, Refused
from .request import Known, Request, Turn

USER = "user"
MAX_CONFIDENCE = 0.95
"""Values that a model extracted are less certain than values that a user set."""
MAX_INFERRED_CONFIDENCE = 0.6
MIN_CONFIDENCE = 0.6
"""Items below this are refused. An unsure model is usually wrong, or its note is not worth keeping."""
MIN_INFERRED_CONFIDENCE = 0.5
EXCLUSIVE_KEYS = frozenset(
    "name nickname age birthday location hometown origin employer job role relationship_status marital_status partner"
    " gender nationality".split()
)
"""Facts of which a person can have only one at a time, so that another value replaces the old one."""
SENSITIVE_KEYS = frozenset(
    "allergy medical_condition condition medication diet disability health blood_type pregnancy".split()
)
"""Critical facts. Ending or replacing one needs a person's approval."""
OWN_STATEMENT_KEYS = frozenset("name nickname age birthday location hometown job employer".split())
"""Facts that say who the user is. The words right before the value must not indicate that it belongs to somebody
else."""
INSTRUCTIONS_KEY = "memory_instructions"
"""The key of the facts, in `global` and in a user's or agent's namespace, that contain instructions for the writer."""
RESERVED_ROOTS = frozenset({INSTRUCTIONS_KEY, "forgotten"})
"""Keys with a special meaning. A model that wrote them would change how memory works."""
REPAIRABLE = (
    "malformed", "cites a message that is not there", "quotes words that are not in the message",
    "quotes a question that nobody asked", "names no known memory", "ends a memory without", "updates a memory without",
    "has no sentence", "its sentence is too long", "has no key", "has no value", "not a value of the field",
)  # fmt: skip
"""The beginnings of reasons that a model can act on."""
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_KEY = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+){0,2}")
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}:\d{2})(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)?)?)?")
_SOMEONE = re.compile(
    r"\b(?:my|our|his|her|their|mein\w{0,2}|unser\w{0,2}|sein\w{0,2}|ihr\w{0,2}|mon|ma|mes|notre|son|sa|mi|mis|nuestr[oa]s?"
    r"|su|mio|mia|miei|nostr[oaei]|suo|sua|meu|minha|nosso|nossa|seu|mijn|onze|ons|zijn|haar)\s+"
    r"(?!name\b|nickname\b|full\b|first\b|last\b|nombre\b|nom\b|nome\b|naam\b|job\b|birthday\b|home\b|age\b|employer\b|title\b|role\b"
    r"|hometown\b|city\b|work\b|beruf\b|alter\b|geburtstag\b|heimat\w*\b)"
    r"[^\W\d_][\w'’-]*(?:\s+[\w'’-]+){0,3}\s*"
    r"(?:,|is|called|named|namens|heißt|s'appelle|se llama|si chiama|se chama|heet)?\s*$",
    re.IGNORECASE,
)
"""A phrase such as "my sister" right before a name, which is then the sister's name."""
_SOMEONE_IS = re.compile(
    r"\b(?:my|our|his|her|their)\s+(?!allerg|diet|condition|medic|health|body|doctor)[^\W\d_][\w'’-]*(?:\s+[\w'’-]+){0,2}"
    r"\s+(?:is|are|was|has|had|have|takes|can't|can’t|cannot)\b(?:(?!\b(?:I|we)\b).)*$",
    re.DOTALL,
)
"""A clause such as "my friend is allergic to". The text after it is about the friend, unless the user is mentioned."""
_HEARSAY = re.compile(
    r"^\W*(?:(?:and|so|but|then|und|dann|et|y|e|en)\s+){0,2}(?:(?:he|she|they|someone|somebody)\s+(?:(?:just|also|then|once)\s+)?"
    r"(?:said|says|say|told|tells|tell|claims?|claimed|wrote|writes|thinks?|thought|believes?|swears?|insists?|insisted)"
    r"|(?:er|sie|jemand)\s+(?:sagte?|hat gesagt|meinte?|behauptete?|schrieb)"
    r"|(?:il|elle|on)\s+(?:m['’])?(?:a dit|dit|écrit)"
    r"|(?:él|ella|alguien)\s+(?:me\s+)?(?:dijo|dice|escribió)|(?:lui|lei)\s+(?:mi\s+)?(?:ha detto|dice|ha scritto)"
    r"|(?:ele|ela|alguém)\s+(?:me\s+)?(?:disse|diz|escreveu)|(?:hij|zij|ze|iemand)\s+(?:zei|zegt|schreef))\b",
    re.IGNORECASE,
)
"""A clause such as "he said" at the beginning of a sentence. Nobody can check later who "he" is."""
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|override|bypass)\b.{0,40}\b(?:previous|prior|above|all|safety|system|earlier)\b.{0,40}"
    r"\b(?:instruction|rule|prompt|polic|guard|memor)|\bsystem prompt\b|\bjailbreak|\bdeveloper mode\b",
    re.IGNORECASE | re.DOTALL,
)


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Holds an accepted operation, with everything resolved."""

    op: str
    kind: str
    """This is `fact`, `event` or `learning`."""
    turn: int
    """This is the index of the cited turn among the new ones."""
    quote: str
    question: str | None = None
    target: Known | None = None
    subject: str | None = None
    """This is None for the owner of the memory."""
    key: str | None = None
    value: Any = None
    text: str
    type: str = "preference"
    """This is the type of a learning."""
    start: datetime | None = None
    end: datetime | None = None
    status: str | None = None
    people: tuple[str, ...] = ()
    location: str | None = None
    scope: str = "standing"
    inferred: bool = False
    confidence: float = 0.8
    reason: str | None = None
    review: str | None = None
    """This is the reason why a person should approve the note first, or None if there is none."""


def check_operations(
    operations: Sequence[Operation], request: Request, *, taken: Sequence[Note] = ()
) -> tuple[list[Note], list[Refused]]:
    """Check operations one by one, in order. A second operation on the same target is refused.

    `taken` contains the notes of an earlier answer to the same request, which must not be repeated.
    """
    notes: list[Note] = []
    refused: list[Refused] = []
    targets = {note.target.id for note in taken if note.target is not None}
    texts = {fold(note.text) for note in taken}
    for operation in operations:
        verdict = _check(operation, request)
        target = verdict.target if isinstance(verdict, Note) else None
        # Two changes to one memory contradict each other, and nothing says which of them the model meant.
        if target is not None and target.id in targets:
            verdict = "a second operation on the same memory"
        elif isinstance(verdict, Note) and fold(verdict.text) in texts:
            continue
        elif target is not None:
            targets.add(target.id)
        if isinstance(verdict, str):
            quoted = operation.text or operation.quote
            refused.append(Refused(reason=verdict, text=quoted[:MAX_TEXT_CHARACTERS], message=operation.number))
        else:
            notes.append(verdict)
    return notes, refused


def _check(operation: Operation, request: Request) -> Note | str:
    """Return the note that results from an operation, or the reason why it is refused."""
    if not 1 <= operation.number <= len(request.turns):
        return "cites a message that is not there"
    turn = request.turns[operation.number - 1]
    problem = _evidence_problem(operation, turn, request)
    if problem is not None:
        return problem
    target = request.target(operation.id)
    if operation.op != "add" and target is None:
        return "names no known memory"
    if operation.op == "confirm":
        assert target is not None
        return _confirmed(operation, target)
    kind = "learning" if operation.kind in ("preference", "pattern") else operation.kind
    subject = _subject(operation, request)
    # Of other speakers only those that the application reads from may speak about the user.
    if subject is None and turn.speaker != USER and turn.role == USER:
        return "is about the user, but somebody else said it"
    if operation.op == "end":
        assert target is not None
        return _ended(operation, target, subject, turn)
    return _stated(operation, request, turn, target, kind, subject)


def _evidence_problem(operation: Operation, turn: Turn, request: Request) -> str | None:
    quote = fold(operation.quote)
    if not turn.citable:
        return "cites a message that the user did not write"
    if not quote or quote not in fold(turn.text):
        return "quotes words that are not in the message"
    # A title may be part of what is cited ('I just finished "The Power"'), never all of it.
    own = turn.text if turn.own is None else turn.own
    if quote not in fold(own) or (turn.own is not None and cites_quotation(turn.text, operation.quote)):
        return "quotes pasted or quoted text"
    if operation.question is not None and operation.question.strip():
        earlier_words = " ".join(fold(before.text) for before in _before(operation.number, request))
        if fold(operation.question) not in earlier_words:
            return "quotes a question that nobody asked"
    if operation.op != "end" and _INSTRUCTION.search(f"{operation.text} {operation.quote}"):
        return "is an instruction to ignore rules"
    if operation.op != "end" and has_secret(f"{operation.quote} {operation.text} {operation.value}"):
        return "holds a secret"
    if operation.confidence < (MIN_INFERRED_CONFIDENCE if operation.inferred else MIN_CONFIDENCE):
        return "the model doubts it"
    return None


def _before(number: int, request: Request) -> Iterator[Turn]:
    yield from request.context
    yield from request.turns[: number - 1]


def _confirmed(operation: Operation, target: Known) -> Note:
    return Note(
        op="confirm", kind=target.kind, turn=operation.number - 1, quote=operation.quote, target=target,
        subject=target.subject, key=target.key, value=target.value, text=target.text,
        confidence=min(max(operation.confidence, 0.0), MAX_CONFIDENCE),
    )  # fmt: skip


def _ended(operation: Operation, target: Known, subject: str | None, turn: Turn) -> Note | str:
    if not _same_subject(target.subject, subject):
        return "ends a memory about somebody else"
    if operation.reason is None:
        return "ends a memory without a reason"
    if target.stated_at is not None and target.stated_at > turn.at:
        return "is older than the memory it would end"
    # Models put the day on which something ended into either field.
    since = read_date(operation.end or operation.start, turn.at)
    review = "ends something that must not be missed" if target.sensitive and operation.reason != "withdrawn" else None
    return Note(
        op="end", kind=target.kind, turn=operation.number - 1, quote=operation.quote, question=operation.question,
        target=target, subject=target.subject, key=target.key, value=target.value, text=target.text,
        end=since or turn.at, confidence=min(operation.confidence, MAX_CONFIDENCE), reason=operation.reason,
        review=review,
    )  # fmt: skip


def _stated(
    operation: Operation, request: Request, turn: Turn, target: Known | None, kind: str, subject: str | None
) -> Note | str:
    """Return the results of the checks that `add` and `update` share."""
    text = " ".join(operation.text.split())
    if not text or len(text) > MAX_TEXT_CHARACTERS:
        return "has no sentence" if not text else "its sentence is too long"
    key, value = operation.key, operation.value
    if target is not None:
        if not _same_subject(target.subject, subject):
            return "updates a memory about somebody else"
        if operation.reason is None:
            return "updates a memory without a reason"
        # An older statement about a fact becomes an earlier version of it; other kinds have no place for one.
        if target.kind != "fact" and target.stated_at is not None and target.stated_at > turn.at:
            return "is older than the memory it would change"
        if operation.reason == "more" and details(target.text) - details(text):
            return "loses a detail of the memory it adds to"
        kind, key = target.kind, target.key if target.kind == "fact" else None
    if kind == "fact":
        # The key of a known fact is right as it is: it may name a subject, or come from an application.
        if target is None and (key is None or len(key) > MAX_KEY_CHARACTERS or not _KEY.fullmatch(key)):
            return "has no key, or one that is not in snake_case"
        problem = _fact_problem(key or "", value, subject, turn)
        if problem is not None:
            return problem
    unsaid = _unsaid(text, value if kind == "fact" else None, operation, request, turn, target)
    if unsaid is not None:
        return unsaid
    start, end = read_date(operation.start, turn.at), read_date(operation.end, turn.at)
    if start is not None and end is not None and end < start:
        end = None  # an invented end; the beginning is what the text usually names
    sensitive = target is not None and target.sensitive
    inferred = operation.inferred
    is_event, heard = kind == "event", _heard(operation, request, turn)
    location = _mentioned_names([operation.location or ""], heard) if is_event else ()
    cap = MAX_INFERRED_CONFIDENCE if inferred else MAX_CONFIDENCE
    return Note(
        op=operation.op, kind=kind, turn=operation.number - 1, quote=operation.quote, question=operation.question,
        target=target, subject=subject, key=key, value=value if kind == "fact" else None, text=text,
        type="pattern" if operation.kind == "pattern" else "preference", start=start, end=end,
        status=operation.status if is_event else None,
        people=_mentioned_names(operation.people, heard) if is_event else (),
        location=location[0] if location else None, scope=operation.scope, inferred=inferred,
        confidence=min(operation.confidence, cap), reason=operation.reason,
        review="replaces something that must not be missed" if sensitive and operation.reason == "changed"
        else "somebody unnamed said it" if kind == "fact" and _is_hearsay(key, value, subject, turn) else None,
    )  # fmt: skip


def _fact_problem(key: str, value: object, subject: str | None, turn: Turn) -> str | None:
    if value is None or (isinstance(value, str) and not value.strip()) or value == []:
        return "has no value"
    root = key.split("@")[0].split(".")[0]
    if root in RESERVED_ROOTS:
        return "has a key that is reserved"
    # "A good age" is no age, while "thirty-two" is one.
    if root == "age" and not any(sign.isnumeric() for sign in str(value)) and number(str(value), "en") is None:
        return "the value does not fit its key"
    if subject is None and root in OWN_STATEMENT_KEYS and isinstance(value, str):
        sentence = turn.text
        at = sentence.casefold().find(value.casefold())
        if at >= 0 and _SOMEONE.search(sentence[:at]):
            return "the value is somebody else's"
        if root == "name" and not value[:1].isupper() and value[:1].isalpha() and value.isascii():
            return "a name is written with a capital"
    if subject is None and root in SENSITIVE_KEYS and isinstance(value, str):
        # Only the clause before the value counts: another sentence may well be about somebody else.
        at = turn.text.casefold().find(value.casefold())
        clause = re.split(r"[.!?;\n]", turn.text[:at])[-1] if at >= 0 else ""
        if _SOMEONE_IS.search(clause[:1].lower() + clause[1:]):
            return "the value is somebody else's"
    return None


def _is_hearsay(key: str | None, value: object, subject: str | None, turn: Turn) -> bool:
    """Return whether a critical fact about the user was only reported by an unnamed person, as in "He said I'm allergic
    to …"."""
    if subject is not None or (key or "").split(".")[0] not in SENSITIVE_KEYS | OWN_STATEMENT_KEYS:
        return False
    at = turn.text.casefold().find(str(value).casefold())
    return at >= 0 and _HEARSAY.search(re.split(r"[.!?;\n]", turn.text[:at])[-1]) is not None


def _unsaid(
    text: str, value: Any, operation: Operation, request: Request, turn: Turn, target: Known | None
) -> str | None:
    """Return the first name or number in a memory that nobody mentioned, or None if there is none."""
    # Nothing is asked of other words: a sentence that a model writes is a paraphrase, but a name or a number in it is
    # either there in what was said, or invented.
    source = _heard(operation, request, turn)
    words = set(_WORD.findall(source))
    numbers = set(_numbers(source)) | _date_numbers(operation, turn)
    values = value if isinstance(value, list) else [] if value is None or isinstance(value, bool) else [value]
    for part in (text, *map(str, values)):
        for digits in _numbers(fold(part)):
            if digits not in numbers and not _spelled(digits, source):
                return "has a number that nobody said"
    for part in values:
        if isinstance(part, str):
            for name in _capitalised(part):
                if not _is_mentioned(name, words):
                    return "has a name that nobody said"
    for name in _capitalised(text, inside=True):
        if not _is_mentioned(name, words) and not _is_common(name):
            return "has a name that nobody said"
    return None


def _heard(operation: Operation, request: Request, turn: Turn) -> str:
    """Return everything from which an item may take its names and numbers, folded."""
    item_texts = [f"{item.text} {item.subject or ''} {item.value}" for item in request.memories]
    heard = [turn.text, operation.question or "", *(other.text for other in (*request.context, *request.turns))]
    speakers = [other.speaker for other in (*request.context, *request.turns)]
    return fold(" ".join([*heard, *item_texts, *request.people, *speakers, operation.subject]))


def _mentioned_names(names: Iterable[str], source: str) -> tuple[str, ...]:
    """Return the names of an event's people or place that somebody mentioned."""
    words = set(_WORD.findall(source))
    named = [name.strip() for name in names if name.strip()]
    return tuple(name for name in named if all(_is_mentioned(word, words) for word in _capitalised(name)))


_COMMON = frozenset(
    "the user january february march april may june july august september october november december monday tuesday"
    " wednesday thursday friday saturday sunday english german french spanish italian portuguese dutch chinese japanese"
    " russian i christmas easter".split()
)


def _is_common(name: str) -> bool:
    return name in _COMMON or name.removesuffix("'s") in _COMMON


def _is_mentioned(name: str, words: Collection[str]) -> bool:
    """Return whether a name is one of the words or the beginning of one. The "ann" in "planning" does not count."""
    return any(word.startswith(name) for word in words)


def _capitalised(text: str, *, inside: bool = False) -> Iterator[str]:
    """Yield the folded words with a capital letter. With `inside`, leave out those that begin a sentence."""
    for match in _WORD.finditer(text):
        if not match[0][0].isupper():
            continue
        before = text[: match.start()].rstrip()
        if inside and (not before or before[-1] in ".!?:"):
            continue
        yield fold(match[0]).removesuffix("'s").removesuffix("'")


def _numbers(text: str) -> list[str]:
    """Return the numbers in a text without leading zeros. Dates and decimals are split into their parts."""
    return [str(int(part)) for match in _NUMBER.findall(text) for part in re.split(r"[.,:]", match) if part]


def _date_numbers(operation: Operation, turn: Turn) -> set[str]:
    """Return the numbers that a resolved date may add. They are taken from the dates in the answer and from the time of
    the message."""
    # "Last spring" becomes a year that nobody wrote down, so the years around the message are allowed.
    dates = " ".join(filter(None, (operation.start, operation.end, turn.at.date().isoformat())))
    years = {str(turn.at.year + offset) for offset in (-1, 0, 1)}
    return {str(int(part)) for part in re.findall(r"\d+", dates)} | years


def _spelled(digits: str, source: str) -> bool:
    """Return whether a number was written in words ("two cats")."""
    value = int(digits)
    return value <= 1000 and any(number(word, "en") == value for word in _WORD.findall(source))


def _subject(operation: Operation, request: Request) -> str | None:
    """Return the person that an operation is about, or None for the owner of the memory."""
    subject = " ".join(operation.subject.split())
    owners = {fold(USER), "the user", "me", "i"}
    owners |= {fold(person.partition(" (")[0]) for person in request.people if "owner" in person}
    return None if not subject or fold(subject) in owners else subject


def _same_subject(subject: str | None, other: str | None) -> bool:
    return (subject is None and other is None) or (
        subject is not None and other is not None and fold(subject) == fold(other)
    )


def read_date(text: str | None, at: datetime) -> datetime | None:
    """Return the model's date as an aware datetime, or None if it is not a date or is more than a century away."""
    match = _DATE.fullmatch((text or "").strip())
    if match is None:
        return None
    year, month, day, clock = match.groups()
    try:
        moment = datetime.fromisoformat(f"{year}-{month or '01'}-{day or '01'}T{clock or '00:00'}:00")
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if abs(moment.year - at.year) <= 100 else None


_NEGATIONS = frozenset(
    "not no never without nobody nothing cannot can't don't doesn't isn't nicht kein keine nie pas jamais".split()
)


def details(text: str) -> set[str]:
    """Return the names, numbers and negations in a sentence, which a rewording must keep."""
    numbers = set(re.findall(r"\d+", text))
    names = {fold(match[0]) for match in re.finditer(r"(?<=[\w,;:)] )[A-ZÀ-Þ][\w'’-]+", text)}
    negations = {word for word in re.findall(r"[\w']+", fold(text)) if word in _NEGATIONS}
    return numbers | names | negations


def fold(text: str) -> str:
    """Return a text without case, typographic quotes and extra space, for comparison."""
    # Models normalise quotes and spaces when they copy, so quotes are compared without these differences.
    plain = unicodedata.normalize("NFKC", text).casefold()
    plain = plain.translate({ord(sign): "'" for sign in "’‘`´"} | {ord(sign): '"' for sign in "“”„«»"})
    return " ".join(plain.replace("\u200b", "").split()).strip(" .,;!")
