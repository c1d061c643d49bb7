"""Configures how memories are extracted from messages, with the application's own schemas, instructions and admission
rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, get_args

from ..errors import UsageError
from .writer.checks import Note
from .writer.schemas import Schema, SchemaSpec, read_schema

Verdict = Literal["active", "review", "refuse"]
VERDICTS: tuple[Verdict, ...] = ("active", "review", "refuse")
Admit = Callable[["Proposal"], Verdict] | Mapping[str, Verdict] | Verdict
"""Decides which memories become active: a function, verdicts by kind or key, or one verdict for everything."""
Role = Literal["user", "assistant", "tool", "system"]
Beyond = Literal["rules", "wait"]
MAX_INSTRUCTIONS_CHARACTERS = 8_000


class Proposal:
    """Describes a memory that is about to be stored and that `admit=` decides on."""

    def __init__(self, note: Note, trust: str) -> None:
        self.kind = note.kind
        self.operation = note.op
        self.subject = note.subject
        self.key = note.key
        self.value = note.value
        self.text = note.text
        self.quote = note.quote
        self.confidence = note.confidence
        self.inferred = note.inferred
        self.trust = trust
        self.concern = note.review
        """The reason why the writer itself would ask a person, or None if it has no objection."""


class Extraction:
    """Configures what to remember, and how. Pass it as `Memory(extract=Extraction(…))`.

    Args:
        schemas: Types to fill in: msgspec structs, dataclasses, TypedDicts, Pydantic models or JSON Schemas.
        instructions: What to pay attention to, in your own words. They are sent to the model.
        only: The only topics to note ("diet", "travel plans").
        never: Topics or keys that are never noted ("politics", "salary").
        admit: Decides which memories become active immediately, wait for review, or are refused. It is a function that
            accepts a `Proposal`, a dict of verdicts by kind or key (`{"allergy": "review", "fact": "active"}`), or one
            verdict for everything. By default a memory is active unless it would end or replace critical information.
        read_from: The roles whose messages memories may be extracted from; by default only the user's. Memories from an
            assistant or a tool keep the lower trust of that role.
        daily_tokens: How many of the model's tokens an org may use per day (UTC). None means no limit.
        beyond: What happens to messages beyond that limit. `rules` reads them with the rules, and `wait` leaves them
            for the next day.
        brief: Whether to use the short prompt, for models with fewer than about 3 billion parameters. Such models only
            add memories; Memorist itself decides what a new value replaces.
    """

    def __init__(
        self,
        *,
        schemas: Sequence[SchemaSpec] = (),
        instructions: str = "",
        only: Sequence[str] = (),
        never: Sequence[str] = (),
        admit: Admit | None = None,
        read_from: Sequence[Role] = ("user",),
        daily_tokens: int | None = None,
        beyond: Beyond = "rules",
        brief: bool = False,
    ) -> None:
        if len(instructions) > MAX_INSTRUCTIONS_CHARACTERS:
            raise UsageError(f"instructions have at most {MAX_INSTRUCTIONS_CHARACTERS} characters")
        verdicts = admit.values() if isinstance(admit, Mapping) else [admit] if isinstance(admit, str) else []
        if any(verdict not in VERDICTS for verdict in verdicts) or not (
            admit is None or callable(admit) or isinstance(admit, Mapping | str)
        ):
            raise UsageError(f"admit= is a function, or verdicts: {', '.join(VERDICTS)}")
        if not read_from or isinstance(read_from, str) or any(role not in get_args(Role) for role in read_from):
            raise UsageError(f"read_from= lists roles: {', '.join(get_args(Role))}")
        if daily_tokens is not None and (isinstance(daily_tokens, bool) or daily_tokens < 0):
            raise UsageError("daily_tokens= is a number of tokens, or None for no limit")
        if beyond not in get_args(Beyond):
            raise UsageError("beyond= is 'rules' or 'wait'")
        self.schemas: tuple[Schema, ...] = tuple(read_schema(spec) for spec in schemas)
        self.instructions = instructions
        self.only, self.never = tuple(only), tuple(never)
        self.admit = admit
        self.read_from: tuple[Role, ...] = tuple(dict.fromkeys(read_from))
        self.daily_tokens, self.beyond, self.brief = daily_tokens, beyond, brief

    @cached_property
    def schemas_shown(self) -> str:
        """These are the schemas in the form that the prompt shows."""
        return "\n\n".join(schema.shown() for schema in self.schemas)

    def instructions_with(self, *more: str) -> str:
        """Return the instructions for the prompt, including those of the org, the user and the thread."""
        lines = [self.instructions, *more]
        if self.only:
            lines.append(f"Note only what is about: {', '.join(self.only)}.")
        if self.never:
            lines.append(f"Never note anything about: {', '.join(self.never)}.")
        others = [role for role in self.read_from if role != "user"]
        if others:
            lines.append(f"Besides the user, these speakers are sources: {', '.join(others)}.")
        return "\n".join(line.strip() for line in lines if line.strip())

    def verdict(self, note: Note, trust: str) -> Verdict:
        """Return the verdict on a note."""
        root = (note.key or "").split(".")[0]
        if note.op in ("add", "update") and {root, note.key} & set(self.never):
            return "refuse"
        if callable(self.admit):
            verdict: Any = self.admit(Proposal(note, trust))
            if verdict not in VERDICTS:
                raise UsageError(f"admit= answered {verdict!r}; it answers {', '.join(VERDICTS)}")
            return verdict  # type: ignore[no-any-return]  # checked above
        if isinstance(self.admit, Mapping):
            for name in (note.key, root, note.kind, note.op):
                if name is not None and name in self.admit:
                    return self.admit[name]
        for fixed in VERDICTS:
            if self.admit == fixed:
                return fixed
        return "active" if note.review is None else "review"
