"""Blocking plans.

Made by scripts/generate-blocking from engine/tidying.py; change that, then run the script.
"""

from __future__ import annotations

from ..engine.tidying import AsyncPlan, Plan, PlanLine
from ..engine.tidying import Plans as EnginePlans
from ..runtime import run_blocking
from ..scope import Ns


class Plans:
    """Makes, applies and undoes plans of a tidy-up."""

    def __init__(self, engine: EnginePlans) -> None:
        self._engine = engine

    def make(self, *, ns: Ns | None = None) -> Plan:
        """Look for what can be tidied up in a namespace, and return a plan; nothing changes.

        Examples:
            >>> memory.plans.make(ns="user:ada").lines
            []
        """
        return run_blocking(self._engine.make(ns=ns))

    def apply(self, plan: Plan) -> Plan:
        """Carry out a plan in one transaction and return it as applied.

        Raises:
            Conflict: A memory that the plan touches was changed since it was made.
        """
        return run_blocking(self._engine.apply(plan))

    def undo(self, id: str, *, ns: Ns | None = None) -> int:
        """Put everything back that an applied plan changed, in one transaction; returns how many memories.

        Raises:
            NotFound: No plan of this id was applied in the namespace.
        """
        return run_blocking(self._engine.undo(id, ns=ns))


class TidyPlan:
    """A plan with what can be done with it; `memory.tidy` returns one."""

    def __init__(self, engine: AsyncPlan) -> None:
        self._engine = engine

    @property
    def plan(self) -> Plan:
        """The plan as data."""
        return self._engine.plan

    @property
    def lines(self) -> list[PlanLine]:
        """What the plan would change, line by line."""
        return self._engine.lines

    @property
    def applied(self) -> bool:
        """Whether it was carried out."""
        return self._engine.applied

    def apply(self) -> Plan:
        """Carry out the plan in one transaction.

        Raises:
            Conflict: A memory that the plan touches was changed since it was made.
        """
        return run_blocking(self._engine.apply())

    def undo(self) -> int:
        """Put everything back that the plan changed; returns how many memories.

        Raises:
            NotFound: The plan was not applied.
        """
        return run_blocking(self._engine.undo())
