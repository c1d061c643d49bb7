"""Reads a user's profile: facts, preferences and learnings, and the block of profile lines that every context
includes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from ..errors import UsageError
from ..kinds import has_begun, has_lapsed, key_in_words
from ..ports import When, as_datetime
from ..records import Fact, FactVersion, Learning, as_dict
from ..scope import OMITTED, with_first
from ..values import Json, JsonObject, as_list, check_name
from .core import Core
from .derive.catching_up import catch_up
from .facts.facts import Facts
from .learnings import Learnings
from .working import Working, WorkingMemory

if TYPE_CHECKING:
    from ..context.profile import ProfileLine

PREFERENCE_PREFIX = "preference."
MIN_CONFIDENCE = 0.7
"""The minimum confidence of a fact in the block; a learning's confidence must exceed it."""
MAX_ADDED_LEARNINGS = 5
"""How many learnings to show that a program added without a source."""
MAX_FACTS = 1_000
"""For a user with more facts than this, only those about important topics are read."""
MAX_READ_VERSIONS = 4
"""How many earlier versions of a fact to read when looking for the time when its value changed."""
MAX_SHOWN_VALUES = 8
"""A list or a set of named values with more entries than this is treated as data for a program."""
MAX_FACT_CHARACTERS, MAX_WISH_CHARACTERS = 160, 400
"""Longer lines are left out, because a truncated line may mean something else. Recall still finds them."""
TRUSTED_ACTORS = ("user", "system", "processor", "assistant")
_LANES = {"identity": "identity", "contact": "facts", "safety": "safety", "wish": "wishes", "fact": "facts"}


class UserProfile(msgspec.Struct, frozen=True):
    """Holds everything known about one user. The `preferences` are facts whose keys begin with `preference.`."""

    to_dict = as_dict

    user: str
    facts: list[Fact]
    preferences: JsonObject
    learnings: list[Learning]


class Profile:
    """Reads profiles and sets preferences."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._facts = Facts(core)
        self._learnings = Learnings(core)

    async def get(
        self, user: str | None = None, *, min_confidence: float = 0.0, as_of: When | None = None
    ) -> UserProfile:
        """Return all facts, preferences and learnings of a user.

        Args:
            user: The user it is about. Defaults to the user of this handle.
            min_confidence: Leave out memories with a lower confidence.
            as_of: Return the profile as it was at this time.

        Returns:
            The profile.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> [fact.value for fact in memory.profile.get("ada").facts]
            ['Lisbon']
        """
        if as_of is not None:
            return await self._at(as_of).get(user, min_confidence=min_confidence)
        name = self._core.scope.subject(user)
        facts = await self._facts.list(f"user:{name}")
        learnings = await self._learnings.list(min_confidence=min_confidence, limit=None, user=name)
        return UserProfile(
            name,
            [fact for fact in facts if not fact.key.startswith(PREFERENCE_PREFIX)],
            {
                fact.key[len(PREFERENCE_PREFIX) :]: fact.value
                for fact in facts
                if fact.key.startswith(PREFERENCE_PREFIX)
            },
            learnings,
        )

    async def get_many(self, users: Iterable[str], *, min_confidence: float = 0.0) -> list[UserProfile]:
        """Return the profiles of several users, in the order of their ids.

        Args:
            users: The ids of the users.
            min_confidence: Leave out memories with a lower confidence.

        Returns:
            One profile per user.

        Examples:
            >>> len(memory.profile.get_many(["ada", "bob"]))
            2
        """
        return [await self.get(user, min_confidence=min_confidence) for user in as_list(users, "users")]

    async def set_preference(self, user: str | None = None, key: str | Json = OMITTED, value: Json = OMITTED) -> Fact:
        """Set a user's preference. It is stored as the fact `preference.<key>` and sent with every request.

        Args:
            user: The user it is about. On a user's handle, you can leave it out.
            key: The name of the preference, such as `language`.
            value: A JSON value.

        Returns:
            The stored fact.

        Examples:
            >>> memory.profile.set_preference("ada", "language", "Portuguese").key
            'preference.language'
        """
        user, key, value = with_first((user, key, value))
        name = PREFERENCE_PREFIX + check_name(key, "preference")
        return await self._facts.set(f"user:{self._core.scope.subject(user)}", name, value)

    async def block(
        self, user: str | None = None, *, max_tokens: int = 600, as_of: When | None = None
    ) -> list[ProfileLine]:
        """Return the profile lines that every context of a user contains, in order, each with its source.

        The lines are about safety, who the user is, preferences, corrections, other important facts, and the current
        page and plan. Only lines that are certain and current are included. The block changes only when one of them
        changes, so it stays in prompt caches.

        Args:
            user: The user it is about. Defaults to the user of this handle.
            max_tokens: The maximum size of the block.
            as_of: Return the block as it was at this time.

        Returns:
            The lines of the block.

        Examples:
            >>> fact = memory.facts.set("user:ada", "allergy.peanuts", "peanuts")
            >>> [(line.lane, line.text) for line in memory.profile.block("ada")]
            [('safety', 'Allergic to peanuts'), ('identity', 'Lives in Lisbon')]
        """
        from ..context.profile import fit_profile

        if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 0:
            raise UsageError("max_tokens must be a whole number, zero or more")
        if as_of is not None:
            return await self._at(as_of).block(user, max_tokens=max_tokens)
        await catch_up(self._core, [f"user:{self._core.scope.subject(user)}"])
        lines = await self._lines(user)
        return list(fit_profile(lines, max_tokens, self._core.shared.counter)[1])

    def _at(self, as_of: When) -> Profile:
        from .past import core_at

        return Profile(core_at(self._core, as_datetime(as_of, "as_of")))

    async def _lines(self, user: str | None = None) -> list[ProfileLine]:
        """Return all candidate lines of the block, lane by lane, in the order of the block."""
        from ..context.profile import within_limits

        name = self._core.scope.subject(user)
        ns = f"user:{name}"
        now = self._core.at()
        facts = [
            fact
            for fact in await self._stated(ns)
            if _is_certain(fact) and has_begun(fact, now) and not has_lapsed(fact, now)
        ]
        changes = await self._change_dates(facts)
        lines = [
            (fact.updated_at, line)
            for fact in sorted(facts, key=_importance)
            if (line := fact_line(fact, changes.get(fact.key), now)) is not None
        ]
        lines += [(learning.created_at, line) for learning, line in await self._learned(name, ns)]
        return [*within_limits(lines), *await self._now(name)]

    async def _learned(self, user: str, ns: str) -> list[tuple[Learning, ProfileLine]]:
        """Return wishes and corrections, oldest first. They include the user's own and the most used of those added by
        a program.
        """
        from ..context.profile import ProfileLine

        learnings = await self._learnings.list(min_confidence=MIN_CONFIDENCE, limit=None, user=user)  # most used first
        now = self._core.at()
        certain = [
            learning
            for learning in learnings
            if learning.confidence > MIN_CONFIDENCE and learning.scope == "standing" and learning.subject is None
            and has_begun(learning, now)
        ]  # fmt: skip
        own = [
            learning for learning in certain
            if learning.type == "correction" or (learning.sources and learning.type == "preference")
        ]  # fmt: skip
        added = [learning for learning in certain if not learning.sources and learning.type != "correction"]
        return [
            (learning, ProfileLine(
                _capitalised(learning.content), "corrections" if learning.type == "correction" else "wishes",
                f"{ns}/{learning.id}", learning.trust,
            ))
            for learning in sorted([*own, *added[:MAX_ADDED_LEARNINGS]], key=lambda item: (item.created_at, item.id))
            if is_readable(learning.content, MAX_WISH_CHARACTERS)
        ]  # fmt: skip

    async def _stated(self, ns: str) -> list[Fact]:
        """Return the facts that requests may contain. Unindexed facts are only for programs."""
        facts = await self._facts.list(ns, limit=MAX_FACTS)
        if len(facts) == MAX_FACTS:
            # Facts are read in the order of their keys, so the first thousand would leave out whole topics.
            from ..languages import topics

            stems = sorted({topic.stem for topic in topics() if topic.lane != "fact" or topic.importance >= 0.7})
            facts = [fact for stem in stems for fact in await self._facts.list(ns, prefix=stem, limit=32)]
        return [fact for fact in facts if fact.indexed != []]

    async def _change_dates(self, facts: list[Fact]) -> dict[str, datetime]:
        """Return, by key, the time when each fact that had another value before got its current one.

        This reads the last few versions of all changed facts at once. A value older than these versions has no date.
        """
        # One read for all facts: a scan per fact would be as many round trips in every context.
        keys = [
            (fact.ns, fact.key, version)
            for fact in facts
            for version in range(max(1, fact.version - MAX_READ_VERSIONS), fact.version)
        ]
        versions = await self._core.get_many(FactVersion, keys) if keys else []
        past = {(version.key, version.version): version for version in versions if version is not None}
        dates: dict[str, datetime] = {}
        for fact in facts:
            start, number = fact.updated_at, fact.version - 1
            while (version := past.get((fact.key, number))) is not None and version.value == fact.value:
                start, number = version.updated_at, number - 1
            if version is not None and version.status == "active" and not (fact.reason or "").startswith("correction"):
                dates[fact.key] = start
        return dates

    async def _now(self, user: str) -> list[ProfileLine]:
        """Return lines from working memory: the page, the plan and the notes. Actions change too often for a cached
        block.
        """
        from ..context.profile import ProfileLine

        doc = await WorkingMemory[Working](self._core).get(user)
        if doc is None:
            return []
        lines = []
        if doc.user is not None:
            for name in ("name", "role"):
                if value := getattr(doc.user, name):
                    lines.append(ProfileLine(f"{name.capitalize()}: {value}", "identity", "working memory"))
        if doc.current_page is not None:
            page = doc.current_page
            about = f" ({page.entity_type or 'entity'} {page.entity_id})" if page.entity_id else ""
            lines.append(ProfileLine(f"Current page: {page.route}{about}", "now", "working memory"))
        for step in doc.plan:
            if step.status in ("pending", "active"):
                lines.append(ProfileLine(f"Plan ({step.status}): {step.text}", "now", "working memory"))
        if doc.scratchpad.strip():
            lines.append(ProfileLine(f"Notes: {doc.scratchpad}", "now", "working memory"))
        return lines


def _is_certain(fact: Fact) -> bool:
    is_standing = fact.scope == "standing"  # what matters for one conversation or task is no part of who the user is
    return (
        fact.status == "active" and is_standing and fact.confidence >= MIN_CONFIDENCE and fact.trust in TRUSTED_ACTORS
    )


def _importance(fact: Fact) -> tuple[float, str]:
    """Return the sort key of a fact: the importance of its topic, then its key, so that the order is stable."""
    from ..languages import topic_of

    topic = None if fact.key.startswith(PREFERENCE_PREFIX) else topic_of(fact.key)
    return -(topic.importance if topic is not None else 0.5), fact.key


def fact_line(fact: Fact, since: datetime | None, now: datetime) -> ProfileLine | None:
    """Return a fact as a line that a person might write, such as "Lives in Porto (since 15 Nov)", or None if its value
    is data for programs.
    """
    from ..context.profile import ProfileLine
    from ..languages import topic_of

    key = fact.key.removeprefix(PREFERENCE_PREFIX)
    topic = topic_of(fact.key) if key == fact.key else None
    value = _in_words(fact.value)
    if value is None:
        return None
    if topic is None:
        lane = "facts" if key == fact.key else "wishes"
        name = _without_value(key_in_words(msgspec.structs.replace(fact, key=key)), value)
        text = fact.text if fact.subject is not None and fact.text is not None else f"{name}: {value}"
    else:
        lane = _LANES[topic.lane]
        text = topic.tell_value(fact.value if isinstance(fact.value, bool) else value, fact.key)
    if not is_readable(text, MAX_WISH_CHARACTERS if lane == "wishes" else MAX_FACT_CHARACTERS):
        return None
    if topic is not None and topic.dated:
        date = f" (as of {_short_date(fact.updated_at, now)})"
    else:
        date = "" if since is None else f" (since {_short_date(since, now)})"
    return ProfileLine(f"{text[0].upper()}{text[1:]}{date}", lane, fact.id, fact.trust)


def _without_value(name: str, value: str) -> str:
    """Return a key in words without the value that it ends with: "sibling clara" is "sibling" if the value is Clara."""
    shortened = name.casefold().removesuffix(f" {value.casefold()}")
    return name[: len(shortened)]


def _capitalised(text: str) -> str:
    """Return a wish with its first letter capitalised, unless its first word is a name such as `iOS` or `__init__`."""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


def _in_words(value: object, depth: int = 0) -> str | None:
    """Return a value in words: a text, a number, yes or no, a short list, or a few named values. Return None for
    anything else.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | float):
        return str(value).strip() or None
    if depth or not isinstance(value, dict | list) or not 0 < len(value) <= MAX_SHOWN_VALUES:
        return None
    if isinstance(value, dict) and "amount" in value:
        return f"{value['amount']} {value.get('unit', '')}".strip()
    parts = value.items() if isinstance(value, dict) else (("", item) for item in value)
    words = [(name.replace("_", " "), _in_words(item, 1)) for name, item in parts]
    return (
        None if any(item is None for _, item in words) else ", ".join(f"{name} {item}".strip() for name, item in words)
    )


def is_readable(text: str, max_characters: int) -> bool:
    """Return whether a text can be a line of the block: it has words and is short enough to be one statement."""
    return len(text) <= max_characters and any(character.isalnum() for character in text)


def _short_date(moment: datetime, now: datetime) -> str:
    from ..context.items import MONTHS

    return f"{moment.day} {MONTHS[moment.month - 1]}" + ("" if moment.year == now.year else f" {moment.year}")
