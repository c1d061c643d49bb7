"""Applies an org's policy to changes before they are written, and reports what it did."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from ..errors import InvalidValue, NotAdmitted
from ..filters import Test
from ..gate.passing import GATED, MASKED, Tally, admit_message, admit_record, classes_of
from ..gate.personal import personal_classes
from ..gate.policy import Gate, read_gate
from ..gate.sealing import sealed_cell
from ..gate.secrets import mask_secrets
from ..kinds import MEMORIES
from ..records import Record, StateEntry, as_dict
from ..stores.base import Append, Change, Delete, Increment, Load, Put, R
from ..values import Json, JsonObject, check_text
from .audit import audit
from .core import Core

if TYPE_CHECKING:
    from ..messages.message import Message

POLICY_KEY = "memorist.gate.policy"
COUNTER_PREFIX = "memorist.gate."
POLICY_SECONDS = 2.0
"""The time within which every process notices that an org's policy has changed."""
MAX_CHECKED_BYTES = 1_000_000
OFFLOADED_CHANGES = 100
"""From this number on, changes are checked on another thread, because a server imports on its loop."""
DEFAULT_GATE = Gate()
_replace = msgspec.structs.replace


async def policy_of(core: Core) -> Gate:
    """Return the policy of the handle's org: its own, or the one with which the memory was opened."""
    # Every write asks for the policy. Reading it each time would add a round trip to each of them.
    until, policy = core.shared.policies.get(core.org, (0.0, DEFAULT_GATE))
    if time.monotonic() <= until:
        return policy
    await core.shared.open()
    row = await core.shared.store.get(StateEntry, (core.org, "global", POLICY_KEY), now=core.now())
    policy = (core.shared.parts.gate or DEFAULT_GATE) if row is None else read_gate(row.value)
    core.shared.policies[core.org] = time.monotonic() + POLICY_SECONDS, policy
    return policy


async def admitted(core: Core, record: R) -> tuple[R, list[Change]]:
    """Return a record as the gate admits it, and the counters of the gate's actions, which are written with the record.
    Raise NotAdmitted if the policy refuses it.
    """
    gate, tally = await policy_of(core), Tally()
    try:
        passed = admit_record(gate, record, core.at(), tally, may_refuse=_may_refuse(record))
    except NotAdmitted as refusal:
        await count_refusal(core, refusal)
        raise
    return passed, counter_changes(core, tally)  # type: ignore[return-value]


async def pass_changes(core: Core, changes: Sequence[Change]) -> list[Change]:
    """Return the changes as the gate admits them, in the same order, and the counters of the gate's actions."""
    gate, at, tally = await policy_of(core), core.at(), Tally()

    def pass_all() -> list[Change]:
        return [_pass_change(gate, change, at, tally) for change in changes]

    try:
        passed = pass_all() if len(changes) < OFFLOADED_CHANGES else await core.runtime.offload(pass_all)
    except NotAdmitted as refusal:
        await count_refusal(core, refusal)
        raise
    return [*passed, *counter_changes(core, tally)]


def _pass_change(gate: Gate, change: Change, at: datetime, tally: Tally) -> Change:
    if type(change) is Append:
        messages = tuple(admit_message(gate, message, tally) for message in change.messages)
        return change if messages == change.messages else _replace(change, messages=messages)
    if not (type(change) is Put or type(change) is Load) or type(change.record) not in GATED:
        return change
    is_loaded = type(change) is Load
    if is_loaded and sealed_cell(change.record):
        return change
    # Loaded rows come from an import: nothing of it is refused half-way.
    may_refuse = not is_loaded and _may_refuse(change.record)
    record = admit_record(gate, change.record, at, tally, may_refuse=may_refuse)
    return change if record is change.record else _replace(change, record=record)


def _may_refuse(record: Record) -> bool:
    """Return whether this was written by a caller who can handle a refusal. Memories derived by processors are checked
    earlier.
    """
    return getattr(record, "actor", "processor") not in ("processor", "import")


def counter_changes(core: Core, tally: Mapping[tuple[str, str], int]) -> list[Change]:
    """Return changes that add to the report's counters."""
    if not tally:
        return []
    at = core.at()
    return [
        Increment(
            StateEntry(
                org=core.org, ns="global", key=f"{COUNTER_PREFIX}{outcome}.{name}", value=count, created_at=at,
                updated_at=at,
            )
        )
        for (outcome, name), count in sorted(tally.items())
    ]  # fmt: skip


async def count_refusal(core: Core, refusal: NotAdmitted) -> None:
    """Count a refusal separately, because a refused change is not committed."""
    # Straight to the store: the gate must not check its own counters, and an open batch may never be committed.
    names: Sequence[str] = refusal.facts.get("kinds", ())
    await core.shared.store.apply(counter_changes(core, Tally(("refused", name) for name in names)), now=core.now())


class GateReport(msgspec.Struct, frozen=True, kw_only=True):
    """Reports what the gate did, and which classes of personal data are stored. It contains counts by kind and class,
    never content."""

    to_dict = as_dict

    masked: dict[str, int] = {}
    """Writes in which secrets were masked, by kind of secret."""
    refused: dict[str, int] = {}
    """Refused writes, by kind of secret or class of personal data."""
    held: dict[str, int] = {}
    """This counts memories put into the review queue, by class."""
    expiring: dict[str, int] = {}
    """This counts memories given an expiry date, by class."""
    stored: dict[str, int] = {}
    """This counts facts, events and learnings that currently contain personal data, by class."""


class GateCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Holds the gate's findings for a text."""

    to_dict = as_dict

    text: str
    """This is the text as it would be stored in memory."""
    secrets: list[str] = []
    """These are the kinds of secrets in it."""
    personal: list[str] = []
    """These are the classes of personal data in it."""


class Gating:
    """Reads and sets the policy for writes: secrets, personal data and retention."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def get(self) -> Gate:
        """Return the policy of this org: the stored one, or the one with which the memory was opened.

        Returns:
            The policy.

        Examples:
            >>> memory.gate.get().messages
            'keep'
        """
        return await policy_of(self._core)

    async def set(
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
        core = self._core
        core.scope.whole_org("setting the policy of the gate")
        parts: dict[str, object] = {
            "secrets": secrets, "messages": messages, "personal": personal, "namespaces": namespaces,
            "retention": None if retention is None else [_as_builtins(rule) for rule in retention],
        }  # fmt: skip
        changed = {name: part for name, part in parts.items() if part is not None}
        policy = read_gate({**(await policy_of(core)).to_dict(), **changed})
        at = core.at()
        row = StateEntry(
            org=core.org, ns="global", key=POLICY_KEY, value=policy.to_dict(), created_at=at, updated_at=at
        )
        await core.apply(Put(row), audit(core, "set", "gate", "policy", detail={"parts": sorted(changed)}))
        self._drop_cached()
        return policy

    async def reset(self) -> bool:
        """Delete the stored policy of this org. The policy with which the memory was opened then applies again.

        Returns:
            Whether there was a stored policy.

        Raises:
            Forbidden: This is a user's handle.
        """
        core = self._core
        core.scope.whole_org("setting the policy of the gate")
        deletion = Delete(StateEntry, (core.org, "global", POLICY_KEY))
        existed = (await core.apply(deletion, audit(core, "reset", "gate", "policy"))).existed(deletion)
        self._drop_cached()
        return existed

    async def check(self, text: str) -> GateCheck:
        """Return the secrets and personal data in a text, and how it would be stored. Nothing is written.

        Args:
            text: The text to check.

        Returns:
            The findings and the text as it would be stored.

        Examples:
            >>> memory.gate.check("My card is 4111 1111 1111 1111").secrets
            ['card-number']
        """
        check_text(text, "text", limit=MAX_CHECKED_BYTES)
        gate = await policy_of(self._core)
        allowed = [kind for kind, action in gate.actions.items() if action == "allow"]
        masked, kinds = mask_secrets(text, allowed)
        return GateCheck(text=masked, secrets=sorted(set(kinds)), personal=sorted(personal_classes(text)))

    async def report(self) -> GateReport:
        """Count the gate's actions and the memories that contain personal data, by kind and class.

        Returns:
            The counts.

        Raises:
            Forbidden: This is a user's handle.

        Examples:
            >>> memory.gate.report().masked
            {}
        """
        core = self._core
        core.scope.whole_org("the report of the gate")
        counters = await core.listed(StateEntry, "global", where=Test(("key",), "$gte", COUNTER_PREFIX), limit=None)
        counts: dict[str, dict[str, int]] = {}
        for row in counters:
            outcome, _, name = row.key.removeprefix(COUNTER_PREFIX).partition(".")
            if row.key.startswith(COUNTER_PREFIX) and name and isinstance(row.value, int):
                counts.setdefault(outcome, {})[name] = row.value
        stored: dict[str, int] = {}
        for kind in MEMORIES:
            for record in await core.listed(kind.record):
                for name in classes_of(record):
                    stored[name] = stored.get(name, 0) + 1
        outcomes = {name: counts.get(name, {}) for name in ("masked", "refused", "held", "expiring")}
        return GateReport(**outcomes, stored=dict(sorted(stored.items())))

    def _drop_cached(self) -> None:
        # This process sees its own change at once; others see it when their cached policy is too old.
        for shared in (self._core.shared, self._core.shared.other):
            if shared is not None:
                shared.policies.pop(self._core.org, None)


def _as_builtins(rule: object) -> JsonObject:
    if not isinstance(rule, msgspec.Struct | Mapping):
        raise InvalidValue("a retention rule is a dict, or a Retention")
    fields: JsonObject = msgspec.to_builtins(rule)
    return fields


def masked_kinds(message: Message) -> tuple[str, ...]:
    """Return the kinds of secrets masked in a message, for its receipt."""
    if not message.metadata:
        return ()
    kinds = message.metadata.get(MASKED)
    return tuple(kinds) if isinstance(kinds, list | tuple) else ()
