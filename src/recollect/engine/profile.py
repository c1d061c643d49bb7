"""A user's profile: facts, preferences and learnings, together."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ..records import Fact, Learning
from ..values import Json
from .core import Core
from .facts import Facts
from .learnings import Learnings

PREFERENCE = "preference."


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
        """All that is known of a user: two range reads, whatever there is."""
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
        """The profiles of several users, in their order."""
        return [await self.get(user, min_confidence=min_confidence) for user in users]

    async def set_preference(self, user: str | None, key: str, value: Json) -> Fact:
        """Set a preference of a user."""
        return await self._facts.set(f"user:{self._core.scope.subject(user)}", PREFERENCE + key, value)
