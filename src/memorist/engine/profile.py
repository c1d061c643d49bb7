"""A user's profile: facts, preferences and learnings, and the block of profile lines that every context includes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import UsageError
from ..kinds import fact_text
from ..records import Fact, Learning
from ..values import Json, as_list, check_name
from .core import Core
from .derive.catching_up import catch_up
from .facts.facts import Facts
from .learnings import Learnings
from .working import Working, WorkingMemory

if TYPE_CHECKING:
    from ..context.profile import ProfileLine

PREFERENCE = "preference."
SURE = 0.7
"""Learnings need more confidence than this to be in the block."""
PREFERENCES = 5
LIKELY = 0.5
"""Facts need at least this confidence."""
MANY_FACTS = 1_000
"""A user with more facts than this has only those of important topics read."""
MOST_FACTS = 24
BELIEVED = ("user", "system", "processor", "assistant")
_LANES = {"identity": "identity", "contact": "facts", "safety": "safety", "wish": "wishes", "fact": "facts"}


class UserProfile(msgspec.Struct, frozen=True):
    """What is known of one user; `preferences` are facts under keys that begin with `preference.`."""

    user: str
    facts: list[Fact]
    preferences: dict[str, Json]
    learnings: list[Learning]


class Profile:
    """Reads profiles and sets preferences."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._facts = Facts(core)
        self._learnings = Learnings(core)

    async def get(self, user: str | None = None, *, min_confidence: float = 0.0) -> UserProfile:
        """Read all facts, preferences and learnings of a user, in two range scans.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> [fact.value for fact in memory.profile.get("ada").facts]
            ['Lisbon']
        """
        name = self._core.scope.subject(user)
        facts = await self._facts.list(f"user:{name}")
        learnings = await self._learnings.list(min_confidence=min_confidence, limit=None, user=name)
        return UserProfile(
            name,
            [fact for fact in facts if not fact.key.startswith(PREFERENCE)],
            {fact.key[len(PREFERENCE) :]: fact.value for fact in facts if fact.key.startswith(PREFERENCE)},
            learnings,
        )

    async def get_many(self, users: Iterable[str], *, min_confidence: float = 0.0) -> list[UserProfile]:
        """Read the profiles of several users, in the order given.

        Examples:
            >>> len(memory.profile.get_many(["ada", "bob"]))
            2
        """
        return [await self.get(user, min_confidence=min_confidence) for user in as_list(users, "users")]

    async def set_preference(self, user: str | None, key: str, value: Json) -> Fact:
        """Set a preference of a user.

        Examples:
            >>> memory.profile.set_preference("ada", "language", "Portuguese").key
            'preference.language'
        """
        name = PREFERENCE + check_name(key, "preference")
        return await self._facts.set(f"user:{self._core.scope.subject(user)}", name, value)

    async def block(self, user: str | None = None, *, max_tokens: int = 600) -> list[ProfileLine]:
        """The profile lines that every context of a user includes, in order, each with its source.

        Identity, safety-relevant facts, standing wishes, corrections, other important facts, and the current page and
        plan. The block changes only when one of these does, so that prompt caches keep it.

        Examples:
            >>> fact = memory.facts.set("user:ada", "allergy.peanuts", "peanuts")
            >>> [(line.lane, line.text) for line in memory.profile.block("ada")]
            [('safety', 'allergic to peanuts'), ('identity', 'lives in Lisbon')]
        """
        from ..context.profile import fit_profile

        if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 0:
            raise UsageError("max_tokens must be a whole number, zero or more")
        await catch_up(self._core, [f"user:{self._core.scope.subject(user)}"])
        lines = await self._lines(user)
        return list(fit_profile(lines, max_tokens, self._core.shared.counter)[1])

    async def _lines(self, user: str | None = None) -> list[ProfileLine]:
        """All candidate lines of the block, the most important of each lane first."""
        from ..context.profile import ProfileLine

        name = self._core.scope.subject(user)
        ns = f"user:{name}"
        known = [fact for fact in await self._known(ns) if fact.confidence >= LIKELY and fact.trust in BELIEVED]
        told = sorted(map(_told, known), key=lambda one: one[:3])
        lines = [ProfileLine(text, lane, id, trust) for _, lane, _, text, id, trust in told if lane != "facts"]
        learned = await self._learnings.list(min_confidence=SURE, limit=None, user=name)
        sure = [one for one in learned if one.confidence > SURE]  # most used first
        # All learnings from the user's own words; of others only the most used.
        noted = [one for one in sure if one.sources or one.type == "correction"]
        others = [one for one in sure if one not in noted][:PREFERENCES]
        for one in sorted([*noted, *others], key=_order):
            if one.type != "pattern" or one in others:
                lane = "corrections" if one.type == "correction" else "wishes"
                lines.append(ProfileLine(one.content, lane, f"{ns}/{one.id}", one.trust))
        rest = [ProfileLine(text, lane, id, trust) for _, lane, _, text, id, trust in told if lane == "facts"]
        return [*lines, *rest[:MOST_FACTS], *await self._now(name)]

    async def _known(self, ns: str) -> list[Fact]:
        facts = await self._facts.list(ns, limit=MANY_FACTS)
        if len(facts) < MANY_FACTS:
            return _shown(facts)
        from ..languages import topics

        stems = sorted({topic.stem for topic in topics() if topic.lane != "fact" or topic.importance >= 0.7})
        return _shown([fact for stem in stems for fact in await self._facts.list(ns, prefix=stem, limit=32)])

    async def _now(self, user: str) -> list[ProfileLine]:
        """Lines of working memory: page, plan and notes. Actions change too often for a block that is cached."""
        from ..context.profile import ProfileLine

        doc = await WorkingMemory(self._core, Working).get(user)
        if doc is None:
            return []
        lines = []
        if doc.user is not None:
            for name in ("name", "role"):
                if value := getattr(doc.user, name):
                    lines.append(ProfileLine(f"{name}: {value}", "identity", "working memory"))
        if doc.current_page is not None:
            page = doc.current_page
            about = f" ({page.entity_type or 'entity'} {page.entity_id})" if page.entity_id else ""
            lines.append(ProfileLine(f"current page: {page.route}{about}", "now", "working memory"))
        for step in doc.plan:
            if step.status in ("pending", "active"):
                lines.append(ProfileLine(f"plan, {step.status}: {step.text}", "now", "working memory"))
        if doc.scratchpad.strip():
            lines.append(ProfileLine(f"notes: {doc.scratchpad}", "now", "working memory"))
        return lines


def _shown(facts: list[Fact]) -> list[Fact]:
    """Facts without those that are not indexed for recall: they are kept for programs, not for requests."""
    return [fact for fact in facts if fact.indexed != []]


def _told(fact: Fact) -> tuple[float, str, str, str, str, str]:
    """A fact as a sortable line: importance, lane, key, text, id, trust; so that the order is stable."""
    from ..languages import topic_of

    topic = topic_of(fact.key)
    if topic is None or fact.key.startswith(PREFERENCE):
        lane = "wishes" if fact.key.startswith(PREFERENCE) else "facts"
        return -0.5, lane, fact.key, fact_text(fact), fact.id, fact.trust
    text = topic.tell_value(fact.value, fact.key)
    return -topic.importance, _LANES[topic.lane], fact.key, text, fact.id, fact.trust


def _order(one: Learning) -> tuple[bool, int, Any, str]:
    """Sort key: wishes about everything first, then by uses in powers of two, so that one use does not reorder them.

    A wish about one subject is recalled with its subject, so it comes last here.
    """
    from ..languages import rules

    return (
        bool(rules("en", "profile", "talk").bound.search(one.content)),
        -one.usage_count.bit_length(),
        one.created_at,
        one.id,
    )
