"""Blocking plans.

Made by scripts/generate-blocking from engine/tidying.py; change that, then run the script.
"""

from __future__ import annotations

from ..engine.tidying import AsyncPlan, Plan, PlanLine
from ..engine.tidying import Plans as EnginePlans
from ..runtime import run_blocking
from ..scope import Ns
from ..values import JsonObject


class Plans:
    """Makes, applies and undoes plans that tidy up memories."""

    def __init__(self, engine: EnginePlans) -> None:
        self._engine = engine

    def make(self, *, ns: Ns | None = None) -> Plan:
        """Look for memories in a namespace that can be tidied up, and return a plan. Nothing changes.

        Args:
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            The plan.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> memory.plans.make(ns="user:ada").lines
            []
        """
        return run_blocking(self._engine.make(ns=ns))

    def apply(self, plan: Plan) -> Plan:
        """Carry out a plan in one transaction, and return the applied plan.

        Args:
            plan: The plan to carry out.

        Returns:
            The applied plan.

        Raises:
            Conflict: A memory that the plan changes has changed since the plan was made.
        """
        return run_blocking(self._engine.apply(plan))

    def undo(self, id: str, *, ns: Ns | None = None) -> int:
        """Restore everything that an applied plan changed, in one transaction, and return how many memories were
        restored.

        Args:
            id: The id of the plan.
            ns: The namespace. It defaults to the user's own, or to `global` on a handle without a user.

        Returns:
            How many memories were restored.

        Raises:
            NotFound: No plan with this id was applied in the namespace.
        """
        return run_blocking(self._engine.undo(id, ns=ns))


class TidyPlan:
    """Represents a plan that you can apply and undo. `memory.tidy` returns one."""

    def __init__(self, engine: AsyncPlan) -> None:
        self._engine = engine

    @property
    def plan(self) -> Plan:
        """This is the plan as data."""
        return self._engine.plan

    @property
    def lines(self) -> list[PlanLine]:
        """These are the changes of the plan, line by line."""
        return self._engine.lines

    @property
    def applied(self) -> bool:
        """This is True if the plan was carried out."""
        return self._engine.applied

    def to_dict(self) -> JsonObject:
        """Return the plan as JSON types.

        Returns:
            The plan as a dict.
        """
        return self._engine.to_dict()

    def apply(self) -> Plan:
        """Carry out the plan in one transaction.

        Returns:
            The applied plan.

        Raises:
            Conflict: A memory that the plan changes has changed since the plan was made.
        """
        return run_blocking(self._engine.apply())

    def undo(self) -> int:
        """Restore everything that the plan changed, and return how many memories were restored.

        Returns:
            How many memories were restored.

        Raises:
            NotFound: The plan was not applied.
        """
        return run_blocking(self._engine.undo())
