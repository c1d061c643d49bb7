"""Plans how to tidy up memories by merging, ending and rewording them. A person can read a plan, apply it in one step,
and undo it.

Without a model, the plan merges only exact and near-exact duplicates. With a model, it also ends memories that are no
longer true, shortens long ones and states habits evident from several memories. Nothing changes until the plan is
applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ..errors import Conflict, ModelError, NotFound, UsageError
from ..ids import new_id
from ..kinds import MemoryRecord, reference
from ..ordered_keys import encode_record_key
from ..records import Link, Ref, as_dict
from ..scope import Ns
from ..stores.base import Delete, Put
from ..values import JsonObject
from .core import Core
from .forgetting.guard import epochs
from .learnings import Learnings
from .memories import Memories, Remembered, noun_of
from .records import Records

if TYPE_CHECKING:
    from ..extract.writer.request import Known
    from ..extract.writer.tidying import Proposal
    from ..ports import Completion, Model

PLANS = "tidy"
"""The first element of the keys under which applied plans are stored, so that they can be undone."""
MAX_TOKENS = 4_000


class PlanLine(msgspec.Struct, frozen=True, kw_only=True):
    """Holds one proposal in a plan: what happens to which memories, and why."""

    to_dict = as_dict

    op: str
    """This is `merge`, `end`, `reword` or `learn`."""
    ids: list[str]
    before: list[str]
    """These are the memories' current sentences."""
    text: str | None = None
    """This is the sentence after the change."""
    reason: str = ""
    sources: list[str] = []


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Represents a tidy-up plan for one namespace."""

    to_dict = as_dict

    id: str
    ns: str
    lines: list[PlanLine] = []
    refused: list[str] = []
    """These are the reasons why some of the model's proposals were left out. If the model could not be asked about all
    memories, this says why."""
    versions: dict[str, int] = {}
    """These are the versions of the memories on which the plan was based. A memory that has changed since then is not
    touched."""
    applied: bool = False


class Plans:
    """Makes, applies and undoes plans that tidy up memories."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def make(self, *, ns: Ns | None = None) -> Plan:
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
        core = self._core
        space = core.scope.writable_or_own(ns)
        return await self._make_plan(space, core.shared.model)

    async def _make_plan(self, ns: str, model: Model | None) -> Plan:
        # Imported here: the languages that the checks read take longer to load than everything else.
        from ..extract.writer.tidying import MAX_MEMORIES, find_duplicates
        from .derive.noting import as_known

        items = await Memories(self._core).list(ns=ns)
        active = [item for item in items if item.status == "active"]
        items_by_id = {item.id: as_known(item) for item in active}
        proposals = find_duplicates(list(items_by_id.values()))
        refused: list[str] = []
        if model is not None:
            taken = {id for proposal in proposals for id in proposal.ids}
            memories = [item for item in items_by_id.values() if item.id not in taken]
            for start in range(0, len(memories), MAX_MEMORIES):
                try:
                    more, reasons = await self._ask(model, memories[start : start + MAX_MEMORIES], items_by_id)
                except ModelError as problem:
                    refused.append(f"the model was not asked about everything: {problem}")
                    break
                proposals += more
                refused += reasons
        by_id = {item.id: item for item in active}
        return Plan(
            id=new_id(), ns=ns, lines=[_line(proposal, by_id) for proposal in proposals], refused=refused,
            # Of the memories in its lines only: ids of facts are words, and an applied plan is stored.
            versions={id: by_id[id].version for proposal in proposals for id in proposal.ids},
        )  # fmt: skip

    async def _ask(
        self, model: Model, memories: Sequence[Known], by_id: dict[str, Known]
    ) -> tuple[list[Proposal], list[str]]:
        """Return a model's proposals, each checked separately. The call counts towards the org's daily tokens."""
        from ..extract.extraction import Extraction
        from ..extract.writer.tidying import rules, tidy_request, tidy_schema
        from .derive.limits import OverLimit, count_tokens, next_day, tokens_today

        extract = self._core.shared.parts.extract
        limit = extract.daily_tokens if isinstance(extract, Extraction) else None
        if limit is not None and await tokens_today(self._core) >= limit:
            raise OverLimit("the org has used up its tokens for today", until=next_day(self._core.at()))
        answer = await model.complete(
            [{"role": "user", "content": tidy_request(memories)}],
            system=rules(), max_tokens=MAX_TOKENS, schema=tidy_schema(),
        )  # fmt: skip
        if limit is not None:
            await count_tokens(self._core, answer.usage.input_tokens + answer.usage.output_tokens)
        return _check_proposals(answer, memories, by_id)

    async def apply(self, plan: Plan) -> Plan:
        """Carry out a plan in one transaction, and return the applied plan.

        Args:
            plan: The plan to carry out.

        Returns:
            The applied plan.

        Raises:
            Conflict: A memory that the plan changes has changed since the plan was made.
        """
        self._core.scope.writable(plan.ns)
        if plan.applied:
            raise UsageError("this plan has already been applied")
        if not plan.lines:  # the record would name the memories that the plan leaves alone
            return msgspec.structs.replace(plan, applied=True)
        batch = self._batch()
        # Read before the memories: nothing may be made of a memory that is forgotten meanwhile.
        await batch.apply(*await epochs(batch, *(_ref(plan.ns, id) for line in plan.lines for id in line.ids)))
        undo: list[JsonObject] = []
        links: list[Link] = []
        for line in plan.lines:
            steps, target = await self._carry_out(batch, plan, line)
            undo += steps
            links += self._links(plan.ns, line, target)
        applied = msgspec.structs.replace(plan, applied=True)
        # The record holds the texts of the memories, for undoing: it is forgotten with any of them.
        record = Ref("record", plan.ns, encode_record_key((PLANS, plan.id)))
        for line in plan.lines:
            links += self._links(plan.ns, line, record)
        await batch.apply(*map(Put, links))
        data: JsonObject = {
            "plan": msgspec.to_builtins(applied), "undo": undo, "links": [msgspec.to_builtins(link) for link in links]
        }  # fmt: skip
        await Records(batch).put(plan.ns, (PLANS, plan.id), data)
        await self._core.commit(batch)
        return applied

    async def undo(self, id: str, *, ns: Ns | None = None) -> int:
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
        core = self._core
        ns = core.scope.writable_or_own(ns)
        row = await Records(core).get(ns, (PLANS, id))
        if row is None:
            raise NotFound("there is no applied plan with this id in the namespace", plan=id)
        batch = self._batch()
        data: JsonObject = row.data if isinstance(row.data, dict) else {}
        steps: list[JsonObject] = list(data.get("undo", ()))
        links = [msgspec.convert(link, Link, strict=False) for link in data.get("links", ())]
        await batch.apply(*(Delete(Link, link.row_key) for link in links))
        for step in reversed(steps):
            await self._put_back(batch, ns, step)
        await Records(batch).delete(ns, (PLANS, id))
        await self._core.commit(batch)
        return len(steps)

    # -- parts

    def _batch(self) -> Core:
        return Core(self._core.shared, self._core.scope).batched()

    def _links(self, ns: str, line: PlanLine, target: Ref | None) -> list[Link]:
        """Return lineage links from the memories in a line of the plan to a record that contains some of their
        words."""
        if target is None:
            return []
        sources = [_ref(ns, id) for id in line.ids]
        at = self._core.at()
        return [Link.of(self._core.org, source, target, at) for source in sources if source != target]

    async def _carry_out(self, batch: Core, plan: Plan, line: PlanLine) -> tuple[list[JsonObject], Ref | None]:
        """Carry out one line. Return the steps that undo the change, and the memory whose new text combines all of
        them.
        """
        rows: list[MemoryRecord] = []
        for id in line.ids:
            ref = _ref(plan.ns, id)
            row = await noun_of(batch, ref.kind)._stored(ref.ns, ref.key)
            # The plan may be days old, so it changes only the versions from which it was made.
            if row is None or row.version != plan.versions.get(id):
                raise Conflict("a memory of this plan has changed since; make a new plan", memory=id, final=True)
            rows.append(row)
        if line.op == "learn":
            learning = await Learnings(batch).add(
                line.text or "", type="pattern", source=line.sources[-1] if line.sources else None, user=_user(plan.ns)
            )
            return [{"op": "delete", "id": f"learning:{learning.id}"}], Ref("learning", plan.ns, learning.id)
        keep = max(rows, key=lambda row: (row.updated_at, row.row_key)) if line.op != "end" else None
        undo: list[JsonObject] = []
        for row in rows:
            undo.append({"op": "put", "kind": type(row).__name__, "row": msgspec.to_builtins(row)})
            if row is not keep:
                await noun_of(batch, reference(row).kind)._remove(row, line.reason or line.op)
        if keep is None or line.text is None:
            return undo, None
        ref = reference(keep)
        await noun_of(batch, ref.kind)._change(ref.ns, ref.key, text=line.text, reason=line.reason)
        return undo, ref

    async def _put_back(self, batch: Core, ns: str, step: JsonObject) -> None:
        if step["op"] == "delete":
            await Memories(batch).delete(step["id"], ns=ns)
            return
        noun = noun_of(batch, step["kind"].lower())
        await noun._put_back(msgspec.convert(step["row"], noun._record_type))


class AsyncPlan:
    """Represents a plan that you can apply and undo. `memory.tidy` returns one."""

    plan: Plan
    """This is the plan as data."""

    def __init__(self, plans: Plans, plan: Plan) -> None:
        self._plans = plans
        self.plan = plan

    @property
    def lines(self) -> list[PlanLine]:
        """These are the changes of the plan, line by line."""
        return self.plan.lines

    @property
    def applied(self) -> bool:
        """This is True if the plan was carried out."""
        return self.plan.applied

    def to_dict(self) -> JsonObject:
        """Return the plan as JSON types.

        Returns:
            The plan as a dict.
        """
        return self.plan.to_dict()

    async def apply(self) -> Plan:
        """Carry out the plan in one transaction.

        Returns:
            The applied plan.

        Raises:
            Conflict: A memory that the plan changes has changed since the plan was made.
        """
        self.plan = await self._plans.apply(self.plan)
        return self.plan

    async def undo(self) -> int:
        """Restore everything that the plan changed, and return how many memories were restored.

        Returns:
            How many memories were restored.

        Raises:
            NotFound: The plan was not applied.
        """
        if self.plan.applied and not self.plan.lines:  # such a plan is not stored
            return 0
        return await self._plans.undo(self.plan.id, ns=self.plan.ns)


def _check_proposals(
    answer: Completion, shown: Sequence[Known], by_id: dict[str, Known]
) -> tuple[list[Proposal], list[str]]:
    """Return the proposals in a model's answer that pass the checks, and why the others were refused."""
    from ..extract.writer.tidying import Proposal, check_proposal

    items = answer.data.get("proposals") if isinstance(answer.data, dict) else None
    proposals: list[Proposal] = []
    refused: list[str] = [] if isinstance(items, list) else ["the model gave no list of proposals"]
    taken: set[str] = set()
    names = {f"k{number}": item.id for number, item in enumerate(shown, start=1)}
    for item in items if isinstance(items, list) else []:
        try:
            raw = msgspec.convert(item, Proposal, strict=False)
        except msgspec.ValidationError:
            refused.append("malformed")
            continue
        proposal = msgspec.structs.replace(
            raw, ids=[names.get(id, id) for id in raw.ids], because=names.get(raw.because or "", raw.because)
        )
        problem = check_proposal(proposal, by_id)
        if problem is None and proposal.op != "learn" and taken & set(proposal.ids):
            problem = "a second proposal for the same memory"
        if problem is not None:
            refused.append(f"{proposal.op} {', '.join(proposal.ids)}: {problem}")
            continue
        taken |= set(proposal.ids)
        proposals.append(proposal)
    return proposals, refused


def _line(proposal: Proposal, items: dict[str, Remembered]) -> PlanLine:
    members = [items[id] for id in proposal.ids]
    sources = list(dict.fromkeys(source for member in members for source in member.sources))
    return PlanLine(
        op=proposal.op, ids=list(proposal.ids), before=[member.text for member in members], text=proposal.text,
        reason=proposal.reason, sources=sources,
    )  # fmt: skip


def _ref(ns: str, id: str) -> Ref:
    kind, _, key = id.partition(":")
    return Ref(kind, ns, key)


def _user(ns: str) -> str | None:
    return ns.removeprefix("user:") if ns.startswith("user:") else None
