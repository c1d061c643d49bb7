"""Working memory is one typed document per user (and session), containing what the agent currently needs.

A partial update reads the document, changes it and writes it by compare-and-set. Within a process, one lock per
document serialises writers; between processes, the loser of a race reads again and retries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Generic, Literal, TypeVar, cast

import msgspec

from ..errors import InvalidValue, UsageError
from ..messages.message import Message
from ..records import WorkingDocument, as_dict
from ..stores.base import Delete, Expect, Put
from ..typed import ready
from ..values import Json, JsonMapping, JsonObject, as_list, check_name, encode_json
from .core import Core

WORKING_TTL = timedelta(hours=24)
MAX_ACTIONS = 20
MAX_TURNS = 20


class WorkingUser(msgspec.Struct, kw_only=True):
    """Describes the user in the conversation."""

    to_dict = as_dict

    id: str | None = None
    name: str | None = None
    role: str | None = None
    preferences: JsonObject = {}


class Page(msgspec.Struct, kw_only=True):
    """Holds the page that the user is looking at."""

    to_dict = as_dict

    route: str
    entity_type: str | None = None
    entity_id: str | None = None


class Action(msgspec.Struct, kw_only=True):
    """Represents something that the user or the agent did."""

    to_dict = as_dict

    action: str
    entity_id: str | None = None
    at: datetime | None = None


class PlanStep(msgspec.Struct, kw_only=True):
    """Represents a step of the plan."""

    to_dict = as_dict

    text: str
    status: Literal["pending", "active", "done", "failed", "skipped"] = "pending"


class Working(msgspec.Struct, kw_only=True):
    """Holds the template of working memory. Subclass it to add your own fields, with defaults."""

    to_dict = as_dict

    user: WorkingUser | None = None
    current_page: Page | None = None
    recent_actions: list[Action] = []
    plan: list[PlanStep] = []
    scratchpad: str = ""
    history: list[JsonObject] = []


W = TypeVar("W", bound=Working)
V = TypeVar("V", bound=Working)


class Template(Generic[W]):
    """Validates and reads a document, using a subclass of Working."""

    def __init__(self, document_type: type[W]) -> None:
        self._document_type = document_type
        ready(document_type)

    def check(self, fields: JsonObject) -> JsonObject:
        """Return the fields as JSON. Raises `InvalidValue` if a field is invalid."""
        return checked_fields(fields, self._document_type)

    def read(self, doc: JsonObject) -> W:
        """Return a stored document in the form that callers receive."""
        try:
            return msgspec.convert(doc, self._document_type)
        except msgspec.ValidationError as cause:
            raise InvalidValue(f"the stored working memory does not fit this template: {cause}") from cause


class WorkingMemory(Generic[W]):
    """Reads and writes a user's working memory: one document, which expires a day after the last write."""

    def __init__(self, core: Core, template: Template[W] | None = None) -> None:
        self._core = core
        self._template: Template[W] = template or Template(Working)  # type: ignore[arg-type]  # the default W

    def template(self, template: type[V]) -> WorkingMemory[V]:
        """Return the same working memory, typed and validated by a subclass of `Working`.

        Args:
            template: A subclass of `Working`.

        Returns:
            The typed working memory.

        Examples:
            >>> from memorist import Working
            >>> class Shop(Working):
            ...     cart: list[str] = []
            >>> memory.working.template(Shop).set(Shop(cart=["tea"]), user="ada").cart
            ['tea']
        """
        return WorkingMemory(self._core, Template(checked_template(template)))

    async def get(self, user: str | None = None, session: str | None = None) -> W | None:
        """Return the document, or None if there is none or it has expired.

        Args:
            user: The user whose document it is. Defaults to the user of this handle.
            session: The session; by default, the document that belongs to no session.

        Returns:
            The document, or None.

        Examples:
            >>> memory.working.get("ada") is None
            True
        """
        key = self._key(user, session)
        working_document = await self._core.get(WorkingDocument, *key[1:])
        return None if working_document is None else self._template.read(working_document.doc)

    async def get_many(self, sessions: Iterable[str | None], *, user: str | None = None) -> list[W | None]:
        """Return the documents of several sessions, in order, and None for each one that does not exist.

        Args:
            sessions: The sessions; None means the document that belongs to no session.
            user: The user whose document it is. Defaults to the user of this handle.

        Returns:
            One document or None per session.

        Examples:
            >>> memory.working.get_many(["morning", "evening"], user="ada")
            [None, None]
        """
        return [await self.get(user, session) for session in as_list(sessions, "sessions")]

    async def set(self, doc: W | JsonMapping, *, user: str | None = None, session: str | None = None) -> W:
        """Write the whole document.

        Args:
            doc: The document, or its fields.
            user: The user whose document it is. Defaults to the user of this handle.
            session: The session; by default, the document that belongs to no session.

        Returns:
            The stored document.

        Raises:
            InvalidValue: A field's type differs from the one in the template.

        Examples:
            >>> from memorist import Working
            >>> memory.working.set(Working(scratchpad="the invoice"), user="ada").scratchpad
            'the invoice'
        """
        fields = self._template.check(fields_of(doc))
        if user is None and self._core.scope.user is None:
            user = (fields.get("user") or {}).get("id")
        return self._template.read(await self._write(user, session, lambda old: fields))

    async def update(self, **fields: Json) -> W:
        """Set some fields and keep the others. `session=` and `user=` choose the document.

        Args:
            **fields: The fields to set.

        Returns:
            The changed document.

        Raises:
            InvalidValue: A field's type differs from the one in the template.

        Examples:
            >>> memory.working.update(user="ada", scratchpad="the invoice").scratchpad
            'the invoice'
        """
        session = cast("str | None", fields.pop("session", None))  # `_write` checks it
        user = cast(str, fields.pop("user")) if isinstance(fields.get("user"), str) else None
        changes = self._template.check(fields_of(fields))
        return self._template.read(await self._write(user, session, lambda old: {**old, **changes}))

    async def record_action(
        self, action: str, entity_id: str | None = None, *, user: str | None = None, session: str | None = None
    ) -> W:
        """Add an action to the recent actions. Only the newest 20 are kept.

        Args:
            action: What the user did.
            entity_id: The id of the entity that the action concerned.
            user: The user whose document it is. Defaults to the user of this handle.
            session: The session; by default, the document that belongs to no session.

        Returns:
            The changed document.

        Examples:
            >>> memory.working.record_action("opened", "invoice-7", user="ada").recent_actions[-1].action
            'opened'
        """
        step = _to_plain(Action(action=action, entity_id=entity_id, at=self._core.at()))
        self._template.check({"recent_actions": [step]})

        def change(old: JsonObject) -> JsonObject:
            actions = [*old.get("recent_actions", ()), step][-MAX_ACTIONS:]
            return {**old, "recent_actions": actions}

        return self._template.read(await self._write(user, session, change))

    async def undo_action(self, *, user: str | None = None, session: str | None = None) -> Action | None:
        """Remove the newest action and return it, or None if there is none.

        Args:
            user: The user whose document it is. Defaults to the user of this handle.
            session: The session; by default, the document that belongs to no session.

        Returns:
            The removed action, or None.

        Examples:
            >>> doc = memory.working.record_action("opened", "invoice-7", user="ada")
            >>> memory.working.undo_action(user="ada").action
            'opened'
        """
        undone: list[object] = []

        def change(old: JsonObject) -> JsonObject:
            actions = list(old.get("recent_actions", ()))
            # Assigned anew, because this function runs again after a lost race.
            undone[:] = actions[-1:]
            return {**old, "recent_actions": actions[:-1]}

        await self._write(user, session, change)
        return msgspec.convert(undone[0], Action) if undone else None

    async def add_turn(self, *messages: JsonMapping, user: str | None = None, session: str | None = None) -> W:
        """Add messages to the history. Only the newest 20 are kept, without tool results that have lost their call.

        Args:
            *messages: The messages of the turn.
            user: The user whose document it is. Defaults to the user of this handle.
            session: The session; by default, the document that belongs to no session.

        Returns:
            The changed document.

        Examples:
            >>> len(memory.working.add_turn({"role": "user", "content": "Hi"}, user="ada").history)
            1
        """
        turns = self._template.check(fields_of({"history": messages}))["history"]

        def change(old: JsonObject) -> JsonObject:
            return {**old, "history": _newest([*old.get("history", ()), *turns])}

        return self._template.read(await self._write(user, session, change))

    async def clear(self, *, user: str | None = None, session: str | None = None) -> bool:
        """Delete the document, and return whether it existed.

        Args:
            user: The user whose document it is. Defaults to the user of this handle.
            session: The session; by default, the document that belongs to no session.

        Returns:
            Whether the document existed.

        Examples:
            >>> memory.working.clear(user="ada")
            False
        """
        deletion = Delete(WorkingDocument, self._key(user, session))
        return (await self._core.apply(deletion)).existed(deletion)

    # -- parts

    def _key(self, user: str | None, session: str | None) -> tuple[str, str, str]:
        if session is not None:
            check_name(session, "session")
        # A handle without a user has one document for the whole org.
        nobody = user is None and self._core.scope.user is None
        return (self._core.org, "" if nobody else self._core.scope.subject(user), session or "")

    async def _write(
        self, user: str | None, session: str | None, change: Callable[[JsonObject], JsonObject]
    ) -> JsonObject:
        key = self._key(user, session)

        async def attempt() -> JsonObject:
            old = await self._core.get(WorkingDocument, *key[1:])
            doc = change(dict(old.doc) if old else {})
            encode_json(doc, "working memory")
            at, expires_at = self._core.at(), self._core.expiry(WORKING_TTL, self._core.now())
            row = WorkingDocument(
                org=key[0], user=key[1], session=key[2], doc=doc, created_at=at, updated_at=at, expires_at=expires_at
            )
            await self._core.apply(Expect(WorkingDocument, key, 0 if old is None else old.version), Put(row))
            return doc

        # The lock only saves retries within this process; the version that `attempt` expects keeps the document right.
        async with self._core.shared.working_locks.hold(key):
            document: JsonObject = await self._core.retry(attempt)
            return document


def checked_template(template: type[V]) -> type[V]:
    """Return the template after checking that it is a subclass of Working and can create an empty document."""
    if not (isinstance(template, type) and issubclass(template, Working)):
        raise UsageError("a template is a subclass of memorist.Working")
    if any(field.required for field in msgspec.structs.fields(template)):
        raise UsageError(f"{template.__name__} has a field without a default; an empty document must be possible")
    return template


def checked_fields(fields: Mapping[str, object], template: type[Working]) -> JsonObject:
    """Return the fields as JSON, validated by the template. The error names the invalid field."""
    names = template.__struct_fields__
    unknown = [name for name in fields if name not in names]
    if unknown:
        raise InvalidValue(f"working memory has no field {unknown[0]!r}; it has {', '.join(names)}", field=unknown[0])
    try:
        document = msgspec.convert(fields, template)
    except (msgspec.ValidationError, UnicodeEncodeError) as cause:
        field = str(cause).rpartition("`$.")[2].rstrip("`") or None
        raise InvalidValue(f"working memory: {cause}", field=field) from cause
    whole = _to_plain(document)
    return {name: whole[name] for name in fields}


def fields_of(doc: object) -> JsonObject:
    """Return the fields of a document (a `Working` or a dict) as JSON."""
    if isinstance(doc, Working):
        return _to_plain(doc)
    if isinstance(doc, Mapping):
        return _to_plain({str(name): value for name, value in doc.items()})
    raise InvalidValue(f"working memory is a Working or a dict, not {type(doc).__name__}")


def _newest(history: list[JsonObject]) -> list[JsonObject]:
    """Return the newest messages, except leading tool results whose call was cut off."""
    from ..context.units import carries_results

    newest = history[-MAX_TURNS:]
    while len(newest) < len(history) and newest:
        first = newest[0]
        # Other keys of the dict may be anything, and only the role and the content say whether it is a tool result.
        if not carries_results(Message(role=str(first.get("role")), content=first.get("content"))):
            break
        newest = newest[1:]
    return newest


def _to_plain(fields: object) -> JsonObject:
    """Return fields as dicts, lists, texts and numbers."""
    try:
        document: JsonObject = msgspec.to_builtins(fields)
    except (TypeError, ValueError, RecursionError) as cause:
        raise InvalidValue(f"working memory cannot be stored as JSON: {type(cause).__name__}") from cause
    return document
