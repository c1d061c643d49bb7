"""The memory writer shows a model the new messages and related memories, and carries out its notes.

One call reads several messages. As context, it also contains the preceding turns from both roles, and related memories:
those that share words or a subject with the messages, and facts about who the user is. Each item in the
answer is separately accepted, put into the review queue or refused, with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from ...errors import InvalidValue, ModelError
from ...extract.extraction import Extraction
from ...extract.readable import labelled_text
from ...extract.writer.answer import Operation, Refused, answer_schema, decode_operations
from ...extract.writer.checks import (
    EXCLUSIVE_KEYS,
    INSTRUCTIONS_KEY,
    REPAIRABLE,
    SENSITIVE_KEYS,
    Note,
    check_operations,
)
from ...extract.writer.request import (
    MAX_CONTEXT_TURNS,
    MAX_KNOWN,
    MAX_MESSAGES,
    MAX_NEW_CHARACTERS,
    Request,
    Turn,
    make_request,
)
from ...extract.writer.schemas import convert_value
from ...gate.admission import Admission, judge_memory
from ...gate.passing import mask_text
from ...messages.message import Message
from ...models.base import parse_cut_json
from ...ports import Completion, Model
from ...records import Fact, Thread
from ...stores.base import Change
from ...values import JsonObject
from ..core import Core
from ..gating import policy_of
from ..memories import Remembered, newest_memories
from .limits import OverLimit, count_tokens, next_day, tokens_today
from .noting import Noting, Outcome, Source, as_known, verdict_on
from .retracting import stated_time

MAX_CONSIDERED_MEMORIES = 400
"""How many memories of each kind to compare with the messages."""
TOKENS_PER_MESSAGE = 170
BASE_TOKENS = 900
"""The answer to ten messages may use twice as many tokens as the longest recorded answer."""
BRIEF_TOKENS_PER_MESSAGE = 80
MAX_SHOWN_CHARACTERS = 8_000
"""How much of its own answer a model sees when it is asked to repair it."""
REPEATED_CHARACTERS = 300
"""If this many characters at the end of an answer also occur earlier in it, the model is repeating itself."""
CUT_OFF = "cut off: the answer was longer than allowed"
NOT_JSON = 'That is not the JSON I asked for. Answer {"operations": [...]} and nothing else.'
REPAIR = """Some of your operations cannot be carried out:
{problems}

Answer with these operations alone, corrected, as JSON; leave out what cannot be corrected."""


class Cost(msgspec.Struct, kw_only=True):
    """Counts the writer's calls, messages and tokens, and the items that were accepted and refused."""

    calls: int = 0
    messages: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    accepted: int = 0
    refused: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


def messages_together(texts: Sequence[str]) -> int:
    """Return how many of the next messages fit into one call."""
    size = 0
    for count, text in enumerate(texts):
        size += len(text)
        if count and (count >= MAX_MESSAGES or size > MAX_NEW_CHARACTERS):
            return count
    return len(texts)


class Writer:
    """Reads the messages of a thread with a model."""

    def __init__(self, core: Core, model: Model, extraction: Extraction, *, timeout: float | None = None) -> None:
        self._core, self._model, self._extraction, self._timeout = core, model, extraction, timeout
        self.cost = Cost()

    async def read(
        self, thread: Thread, ns: str, messages: Sequence[Message], turns: Sequence[Turn]
    ) -> tuple[list[Change], Outcome]:
        """Read messages (`turns` contains them as the model sees them), and return the changes to commit and the result
        of each item. Raises ModelError if the model fails, or if its answer is unusable both times.
        """
        context = await self._context(thread, messages)
        if not _worth_reading(turns, context):
            return [], Outcome()
        request = await self._request(thread, ns, context, turns)
        notes, refusals = await self._ask(request)
        noting = Noting(self._core, ns)
        for note in notes:
            message = messages[note.turn]
            source = Source(message.id, stated_time(message, self._core.at()), str(message.author_trust))
            await self._admit(noting, note, source)
        outcome = noting.outcome
        outcome.refused = [*refusals, *outcome.refused]
        outcome.is_cut = any(refusal.reason == CUT_OFF for refusal in refusals)
        self.cost += Cost(
            accepted=len(outcome.stored) + len(outcome.ended) + len(outcome.confirmed), refused=len(outcome.refused)
        )
        return noting.changes, outcome

    async def _admit(self, noting: Noting, note: Note, source: Source) -> None:
        def refuse(reason: str, text: str) -> None:
            noting.outcome.refused.append(Refused(reason=reason, text=text, message=note.turn + 1))

        typed = self._convert_note(note)
        if isinstance(typed, str):
            refuse(typed, note.text)
            return
        # The gate comes first: what the policy refuses or holds, the application's rules cannot admit.
        admission = await self._judge_note(noting, typed)
        verdict = admission.verdict
        if verdict == "active":
            verdict = await verdict_on(self._core, self._extraction, typed, source.trust)
        if verdict == "refuse" and admission.classes:
            refuse(admission.reason, "")  # without its text, which is the personal data that the gate refuses
        elif verdict == "refuse":
            refuse("not admitted by the application's rules", note.text)
        elif verdict == "review" and note.op != "confirm":  # to confirm a memory changes nothing that needs a review
            reason = admission.reason if admission.classes else note.review or "the application asks for review"
            await noting.propose(typed, source, reason)
        else:
            await noting.note(typed, source)

    async def _judge_note(self, noting: Noting, note: Note) -> Admission:
        """Return the gate's verdict on a note, and count the notes that it holds for review or refuses."""
        if note.op not in ("add", "update"):
            return Admission()
        gate = await policy_of(self._core)
        texts = (note.text, note.value, note.quote, note.location, *note.people)
        admission = judge_memory(gate, noting.ns, texts, key=note.key)
        await noting.count(admission)
        return admission

    def _convert_note(self, note: Note) -> Note | str:
        """Return the note, with its value converted to the type of its field if its key belongs to a schema, or a
        description of the problem.
        """
        if note.kind != "fact" or note.key is None:
            return note
        for schema in self._extraction.schemas:
            if not note.key.startswith(schema.prefix):
                continue
            field = schema.field(note.key)
            if field is None:
                return f"{schema.name} has no such field"
            try:
                return msgspec.structs.replace(note, value=convert_value(field, note.value))
            except InvalidValue as problem:
                return str(problem)
        return note

    async def _ask(self, request: Request) -> tuple[list[Note], list[Refused]]:
        """Return the accepted notes, and the reasons why the others were refused.

        The model is asked once more about items that it can repair.
        """
        self.cost += Cost(messages=sum(turn.citable for turn in request.turns))
        question: JsonObject = {"role": "user", "content": request.content}
        answer, decoded = await self._complete(request, [question])
        if decoded is None:
            answer_message = {"role": "assistant", "content": answer.text[:MAX_SHOWN_CHARACTERS] or "(nothing)"}
            _, decoded = await self._complete(
                request, [question, answer_message, {"role": "user", "content": NOT_JSON}]
            )
            if decoded is None:
                name = self._model.name
                problem = f"the model {name!r} gave no list of operations, asked twice"
                raise ModelError(problem, reason="invalid: no operations", retryable=False, status=None, model=name)
            return _check_notes(decoded, request)
        notes, refusals = _check_notes(decoded, request)
        repairable = [refusal for refusal in refusals if refusal.reason.startswith(REPAIRABLE)]
        is_hopeless = answer.stop == "length" or repeats_itself(answer.text) or (request.brief and not notes)
        if not repairable or is_hopeless:  # it would only run on again
            return notes, refusals
        answer_message = {"role": "assistant", "content": (answer.text or _as_json(answer.data))[:MAX_SHOWN_CHARACTERS]}
        problems = "\n".join(f"- {refusal.reason}: {refusal.text or '(unreadable)'}" for refusal in repairable)
        repair = {"role": "user", "content": REPAIR.format(problems=problems)}
        try:
            _, decoded = await self._complete(request, [question, answer_message, repair])
        except ModelError:  # what was noted at first is good without the repair
            return notes, refusals
        if decoded is None:
            return notes, refusals
        more, still_refused = _check_notes(decoded, request, taken=notes)
        # An item that the model withdraws instead of repairing it stays refused, for the reason it had at first.
        withdrawn = repairable[len(more) + len(still_refused) :]
        others = [refusal for refusal in refusals if refusal not in repairable]
        return [*notes, *more], [*others, *withdrawn, *still_refused]

    async def _complete(
        self, request: Request, conversation: Sequence[JsonObject]
    ) -> tuple[Completion, tuple[list[Operation], list[Refused]] | None]:
        problem: ModelError | None = None
        try:
            answer = await self._model.complete(
                conversation, system=request.system, max_tokens=self._most_tokens(request),
                schema=answer_schema(len(request.turns), brief=request.brief), timeout=self._timeout,
            )  # fmt: skip
        except ModelError as error:
            if error.cut_answer is None:
                raise
            # The cut answer was paid for as well, so its tokens are counted below before its problem is raised.
            problem, answer = error, error.cut_answer
        used = answer.usage
        self.cost += Cost(
            calls=1, input_tokens=used.input_tokens, output_tokens=used.output_tokens, cached_tokens=used.cached_tokens
        )
        # Counted at once: the tokens are spent, whether or not the answer is usable and the commit succeeds.
        if self._extraction.daily_tokens is not None:
            await count_tokens(self._core, used.input_tokens + used.output_tokens)
        if problem is not None:
            answer = _whole_part(problem, answer, request)
        decoded = decode_operations(answer.data)
        if decoded is not None and answer.stop == "length":
            decoded[1].append(Refused(reason=CUT_OFF))
        return answer, decoded

    def _most_tokens(self, request: Request) -> int:
        if request.brief:
            return BRIEF_TOKENS_PER_MESSAGE * (len(request.turns) + 2)
        return BASE_TOKENS + TOKENS_PER_MESSAGE * len(request.turns)

    # -- limits

    def may_cite(self, message: Message) -> bool:
        """Return whether a message may be a source of memories: it contains the user's own words, or those of a role in
        `read_from`.
        """
        if message.role == "user":
            return "user" in self._extraction.read_from and message.author_trust == "user"
        return message.role in self._extraction.read_from

    async def is_over_limit(self) -> bool:
        """Return whether the org has used up today's tokens."""
        limit = self._extraction.daily_tokens
        return limit is not None and await tokens_today(self._core) >= limit

    def refuse_over_limit(self) -> None:
        """Raise OverLimit if messages beyond the daily limit must wait until the next day."""
        if self._extraction.beyond == "wait":
            raise OverLimit(
                "the org has used up its tokens for today", reason="daily limit", retryable=True, status=None,
                model=self._model.name, until=next_day(self._core.at()),
            )  # fmt: skip

    # -- what the model is shown

    async def _request(self, thread: Thread, ns: str, context: Sequence[Turn], turns: Sequence[Turn]) -> Request:
        remembered = await self._related_memories(ns, [turn.text for turn in turns])
        others = sorted({turn.speaker for turn in (*context, *turns)} - {"user", "assistant", "tool"})
        name = next((item.value for item in remembered if item.key == "name" and item.subject is None), None)
        owner = (
            f"user ({name}, the owner of this memory)" if isinstance(name, str) else "user (the owner of this memory)"
        )
        more = await self._instructions(thread, ns)
        return make_request(
            turns, context=context, memories=[as_known(item) for item in remembered], people=[owner, *others],
            instructions=self._extraction.instructions_with(*more), schemas=self._extraction.schemas_shown,
            brief=self._extraction.brief,
        )  # fmt: skip

    async def _context(self, thread: Thread, messages: Sequence[Message]) -> list[Turn]:
        before = await self._core.scan(
            Message, thread.id, before=(messages[0].seq,), reverse=True, limit=MAX_CONTEXT_TURNS
        )
        at, gate = self._core.at(), await policy_of(self._core)
        return [
            Turn(
                text=mask_text(gate, labelled_text(message)),
                role=message.role,
                at=message.created_at or at,
                speaker=_speaker(message),
                citable=False,
            )
            for message in reversed(before)
            if labelled_text(message).strip()
        ]

    async def _instructions(self, thread: Thread, ns: str) -> list[str]:
        """Return the instructions for the writer: those of the org, the agent, the user and the thread."""
        # The thread of an agent may be a user's talk with it.
        agent = thread.metadata.get("agent")
        named = (f"agent:{agent}",) if isinstance(agent, str) and agent else ()
        spaces = list(dict.fromkeys(("global", *named, thread.ns, ns)))
        facts = await self._core.get_many(Fact, [(space, INSTRUCTIONS_KEY) for space in spaces])
        values = [fact.value for fact in facts if fact is not None] + [thread.metadata.get(INSTRUCTIONS_KEY)]
        return [value for value in values if isinstance(value, str)]

    async def _related_memories(self, ns: str, texts: Sequence[str]) -> list[Remembered]:
        """Return at most `MAX_KNOWN` memories that the messages may be about, the most closely related first."""
        from ...recall.analyze import tokens

        items = await newest_memories(self._core, ns, MAX_CONSIDERED_MEMORIES)
        items = [item for item in items if item.status == "active" and item.key != INSTRUCTIONS_KEY]
        spoken_tokens = frozenset(token for text in texts for token in tokens(text))
        ranked = sorted(
            items, key=lambda item: (-_relation(item, spoken_tokens, tokens), -item.updated_at.timestamp(), item.id)
        )
        return ranked[:MAX_KNOWN]


def _relation(item: Remembered, words: frozenset[str], tokens: Callable[[str], Iterable[str]]) -> float:
    """Return how likely it is that the messages are about a memory. This depends on shared words and, to a small
    degree, on whether the memory says who the user is.
    """
    own = frozenset(tokens(f"{item.text} {item.subject or ''} {(item.key or '').replace('_', ' ')}"))
    shared = len(own & words) / (1 + len(own) ** 0.5)
    root = (item.key or "").split(".")[0]
    return float(shared) + (0.3 if root in EXCLUSIVE_KEYS | SENSITIVE_KEYS else 0.0)


def _worth_reading(turns: Sequence[Turn], context: Sequence[Turn]) -> bool:
    """Return whether somebody said more than small talk, or answered a question, however briefly."""
    from ...languages.small_talk import is_small_talk

    is_question = any(turn.role == "assistant" and "?" in turn.text[-300:] for turn in (*context[-1:], *turns))
    return any(turn.citable and turn.text.strip() and (is_question or not is_small_talk(turn.text)) for turn in turns)


def _check_notes(
    decoded: tuple[list[Operation], list[Refused]], request: Request, *, taken: Sequence[Note] = ()
) -> tuple[list[Note], list[Refused]]:
    operations, malformed = decoded
    notes, refused = check_operations(operations, request, taken=taken)
    return notes, [*malformed, *refused]


def _whole_part(problem: ModelError, cut: Completion, request: Request) -> Completion:
    """Return the complete part of a truncated answer if it is about a single message, repeats itself or comes from a
    small model. Otherwise raise the problem.

    For other answers about several messages, the model is asked again about each message, so that nothing is lost. A
    small model would only make the same mistake again.
    """
    data = parse_cut_json(cut.text)
    is_single = sum(turn.citable for turn in request.turns) <= 1
    if data is None or not (is_single or request.brief or repeats_itself(cut.text)):
        raise problem
    return msgspec.structs.replace(cut, data=data)


def repeats_itself(text: str) -> bool:
    """Return whether an answer repeats itself at the end, as answers from small models often do."""
    text = text.rstrip(" \n]}")
    return len(text) > REPEATED_CHARACTERS and text.find(text[-REPEATED_CHARACTERS:]) < len(text) - REPEATED_CHARACTERS


def _as_json(data: object) -> str:
    return msgspec.json.encode(data).decode()


def _speaker(message: Message) -> str:
    return message.role if message.role != "user" or message.name is None else message.name
