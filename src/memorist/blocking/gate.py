"""Blocking gate.

Made by scripts/generate-blocking from engine/gating.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..engine.gating import GateCheck, GateReport
from ..engine.gating import Gating as EngineGating
from ..gate.policy import Gate
from ..runtime import run_blocking
from ..values import Json


class Gating:
    """Reads and sets the policy for writes: secrets, personal data and retention."""

    def __init__(self, engine: EngineGating) -> None:
        self._engine = engine

    def get(self) -> Gate:
        """Return the policy of this org: the stored one, or the one with which the memory was opened.

        Returns:
            The policy.

        Examples:
            >>> memory.gate.get().messages
            'keep'
        """
        return run_blocking(self._engine.get())

    def set(
        self,
        *,
        secrets: Mapping[str, str] | None = None,
        messages: str | None = None,
        personal: Mapping[str, str] | None = None,
        namespaces: Mapping[str, Mapping[str, str]] | None = None,
        retention: Sequence[Mapping[str, Json]] | None = None,
    ) -> Gate:
        """Store the policy of this org.

        Parts that you leave out stay unchanged. Other processes notice the change within two seconds.

        Args:
            secrets: What happens to secrets in memory, by kind, by group or for all (`*`): `mask`, `refuse` or `allow`.
            messages: What happens to secrets in messages: `keep`, `mask` or `refuse`.
            personal: Rules by class of personal data: `allow`, `review`, `refuse` or `expire 30d`.
            namespaces: Such rules by namespace (`{"user:*": {"health": "review"}}`).
            retention: Rules such as `{"kind": "message", "older_than": "90d"}`; the collector applies them.

        Returns:
            The whole policy after the change.

        Raises:
            Forbidden: This is a user's handle.

        Examples:
            >>> memory.gate.set(secrets={"card": "refuse"}, personal={"email": "expire 30d"}).personal
            {'email': 'expire 30d'}
        """
        return run_blocking(
            self._engine.set(
                secrets=secrets, messages=messages, personal=personal, namespaces=namespaces, retention=retention
            )
        )

    def reset(self) -> bool:
        """Delete the stored policy of this org. The policy with which the memory was opened then applies again.

        Returns:
            Whether there was a stored policy.

        Raises:
            Forbidden: This is a user's handle.
        """
        return run_blocking(self._engine.reset())

    def check(self, text: str) -> GateCheck:
        """Return the secrets and personal data in a text, and how it would be stored. Nothing is written.

        Args:
            text: The text to check.

        Returns:
            The findings and the text as it would be stored.

        Examples:
            >>> memory.gate.check("My card is 4111 1111 1111 1111").secrets
            ['card-number']
        """
        return run_blocking(self._engine.check(text))

    def report(self) -> GateReport:
        """Count the gate's actions and the memories that contain personal data, by kind and class.

        Returns:
            The counts.

        Raises:
            Forbidden: This is a user's handle.

        Examples:
            >>> memory.gate.report().masked
            {}
        """
        return run_blocking(self._engine.report())
