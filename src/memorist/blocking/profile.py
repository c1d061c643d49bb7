"""Blocking profile.

Made by scripts/generate-blocking from engine/profile.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..engine.profile import Profile as EngineProfile
from ..engine.profile import UserProfile
from ..ports import When
from ..records import Fact
from ..runtime import run_blocking
from ..scope import OMITTED
from ..values import Json

if TYPE_CHECKING:
    from ..context.profile import ProfileLine


class Profile:
    """Reads profiles and sets preferences."""

    def __init__(self, engine: EngineProfile) -> None:
        self._engine = engine

    def get(self, user: str | None = None, *, min_confidence: float = 0.0, as_of: When | None = None) -> UserProfile:
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
        return run_blocking(self._engine.get(user, min_confidence=min_confidence, as_of=as_of))

    def get_many(self, users: Iterable[str], *, min_confidence: float = 0.0) -> list[UserProfile]:
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
        return run_blocking(self._engine.get_many(users, min_confidence=min_confidence))

    def set_preference(self, user: str | None = None, key: str | Json = OMITTED, value: Json = OMITTED) -> Fact:
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
        return run_blocking(self._engine.set_preference(user, key, value))

    def block(self, user: str | None = None, *, max_tokens: int = 600, as_of: When | None = None) -> list[ProfileLine]:
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
        return run_blocking(self._engine.block(user, max_tokens=max_tokens, as_of=as_of))
