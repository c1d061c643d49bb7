"""Saves each step of a task as a snapshot or a patch, and restores a state from them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ...errors import Conflict, CorruptRecord
from ...records import CheckpointStep, Task
from ...stores.base import Change, DeleteRange, Expect, Load
from ...values import check_name, decode_json
from ..core import Core
from .patches import Patch, State, decode_patch, encode, pack, unpack

MAX_PATCHES = 512
"""The maximum number of patches between two snapshots, which limits how much a resume has to read."""
REPLAY_BYTES = 256 * 1024 * 1024
"""The maximum amount of text that a resume may have to copy; a very large state gets snapshots more often."""
FLOOR_BYTES = 1024
"""The patches of a small state may add up to this size before the next snapshot."""
MAX_READS = 8
"""How many times to reread saved steps because a save pruned some of them in the meantime."""
NOTHING: Any = msgspec.UNSET


class Saved(msgspec.Struct):
    """Holds a task as it was last saved or read, and everything that the next save needs."""

    task: Task
    image: State | None = None
    """This is the state as texts, or None before the first save."""
    completed: dict[str, None] = {}
    since: int = 0
    """This is the size of the patches since the last snapshot, in bytes."""
    based: int = 0
    """This is the size of the last snapshot, in bytes."""
    bases: tuple[int, ...] = ()
    """These are the numbers of the snapshots known to exist."""

    @classmethod
    def new(cls, core: Core, task_id: str, ns: str) -> Saved:
        at = core.at()
        return cls(Task(org=core.org, task_id=task_id, ns=ns, created_at=at, updated_at=at))

    def state(self) -> Any:
        """Return the state, decoded into a new object."""
        return None if self.image is None else decode_json(self.image.text())


async def load(core: Core, task_id: str) -> Saved | None:
    """Return the task and its state from the store."""
    check_name(task_id, "task id")
    for _ in range(MAX_READS):
        task = await core.get(Task, task_id)
        if task is None or not core.scope.may_read(task.ns):
            return None
        if task.saved == 0:
            return Saved(task)
        rows = await core.scan(CheckpointStep, task_id, after=(task.base - 1,), before=(task.saved + 1,))
        # A save between the two reads may have pruned needed steps: then read again.
        if rows and rows[0].number == task.base and len(rows) == task.saved - task.base + 1:
            return _loaded(task, rows)
    raise incomplete_steps(task_id)


def incomplete_steps(task_id: str) -> CorruptRecord:
    """Return the error for a task that lacks some of the steps from which its state is restored."""
    text = "a task's saved steps are not complete; restore them from a backup or delete it"
    return CorruptRecord(text, task=task_id)


async def refuse_taken(core: Core, task_id: str) -> None:
    """Raise a final Conflict if the id belongs to a task that this handle may not read, because retrying would not
    help.
    """
    task = await core.get(Task, task_id)
    if task is not None and not core.scope.may_read(task.ns):
        raise Conflict(f"task {task_id!r} exists in another namespace; choose another id", task=task_id, final=True)


def _loaded(task: Task, rows: Sequence[CheckpointStep]) -> Saved:
    last = list(restore(rows))[-1]
    return Saved(
        task,
        State.read(last[1]),
        dict.fromkeys(last[2]),
        since=sum(_weight(row.body, row.completed) for row in rows[1:]),
        based=_weight(rows[0].body, rows[0].completed),
        bases=(task.base,),
    )


def restore(rows: Sequence[CheckpointStep]) -> Iterator[tuple[CheckpointStep, bytes, tuple[str, ...]]]:
    """Yield each saved step, the text of its state and its completed subtasks. The first is a snapshot."""
    state = State()
    completed: tuple[str, ...] = ()
    for row in rows:
        try:
            text = unpack(row.body)
            state = State.read(text) if row.snapshot else state.patched(decode_patch(text))
        except (msgspec.MsgspecError, zlib.error, KeyError) as cause:
            raise CorruptRecord("a saved step cannot be read", task=row.task_id, number=row.number) from cause
        completed = row.completed if row.snapshot else (*completed, *row.completed)
        yield row, state.text(), completed


def save_changes(
    core: Core,
    saved: Saved,
    *,
    state: object = NOTHING,
    update: Mapping[str, object] | None = None,
    extend: Mapping[str, list[object]] | None = None,
    completed: Sequence[str] | None = None,
    done: Sequence[str] = (),
    keep: object = NOTHING,
    **fields: object,
) -> tuple[list[Change], Saved]:
    """Return the changes that save the next step, starting with the Expect, and the resulting task.

    `completed` replaces all completed subtasks, `done` adds to them, and `fields` are set on the task's row.
    """
    image, patch = _next_state(saved, state, update, extend)
    items, new = _next_items(saved, completed, done)
    body = b"" if patch is None or new is None else pack(encode(patch))
    size = sum(map(len, image.keys.values())) + len(image.whole)
    snapshot = patch is None or new is None or _due(saved, size, _weight(body, new))
    if snapshot or new is None:
        body, new = pack(image.text()), tuple(items)
    weight = _weight(body, new)
    number, at = saved.task.saved + 1, core.at()
    task = msgspec.structs.replace(
        saved.task,
        saved=number,
        base=number if snapshot else saved.task.base,
        keep=saved.task.keep if keep is NOTHING else keep,
        completed=len(items),
        size=size,
        updated_at=at,
        version=saved.task.version + 1,
        **fields,
    )
    row = CheckpointStep(
        org=core.org,
        task_id=task.task_id,
        number=number,
        step=task.step,
        snapshot=snapshot,
        body=body,
        completed=new,
        status=task.status,
        actor=core.scope.actor,
        created_at=at,
    )
    after = Saved(
        task,
        image,
        items,
        since=0 if snapshot else saved.since + weight,
        based=weight if snapshot else saved.based,
        bases=(*saved.bases, number) if snapshot else saved.bases,
    )
    # The Expect fixes the version, so both rows are fully known, and Load saves the read that a Put would need.
    changes: list[Change] = [_unchanged(saved.task), Load(task), Load(row)]
    if snapshot:
        _prune(changes, after)
    return changes, after


def row_changes(task: Task, **fields: object) -> tuple[list[Change], Task]:
    """Return the changes that update a task's row by compare-and-set on its version, and the resulting row."""
    after = msgspec.structs.replace(task, version=task.version + 1, **fields)
    return [_unchanged(task), Load(after)], after


def _unchanged(task: Task) -> Expect:
    return Expect(Task, task.row_key, task.version)


def _next_state(
    saved: Saved, state: object, update: Mapping[str, object] | None, extend: Mapping[str, list[object]] | None
) -> tuple[State, Patch | None]:
    """Return the state to save, and the patch that leads to it, or None if a snapshot is needed."""
    before = saved.image
    if before is None:
        return State().replaced(None if state is NOTHING else state)[0], None
    patch = before.changed(update or {}, extend or {}) if update or extend else None
    if patch is not None:
        return before.patched(patch), patch
    return (before, Patch()) if state is NOTHING else before.replaced(state)


def _next_items(
    saved: Saved, completed: Sequence[str] | None, done: Sequence[str]
) -> tuple[dict[str, None], tuple[str, ...] | None]:
    """Return all completed subtasks and the new ones, or None if some are no longer complete."""
    if completed is None:
        added = {item: None for item in done if item not in saved.completed}
        # Shared and changed in place on purpose: copying it would cost more with every subtask.
        saved.completed.update(added)
        return saved.completed, tuple(added)
    if not completed and not saved.completed:
        return saved.completed, ()
    items = dict.fromkeys(completed)
    # A patch can only add subtasks at the end; in any other case a snapshot stores them all.
    is_continued = list(items)[: len(saved.completed)] == list(saved.completed)
    return items, tuple(list(items)[len(saved.completed) :]) if is_continued else None


def _due(saved: Saved, size: int, weight: int) -> bool:
    """Return whether the next step should be a snapshot because the patches since the last one would be larger than
    it.
    """
    patches = saved.task.saved - saved.task.base + 1
    if patches > MAX_PATCHES or patches * size > REPLAY_BYTES:
        return True
    return saved.since + weight > max(saved.based, FLOOR_BYTES)


def _weight(body: bytes, completed: Sequence[str]) -> int:
    return len(body) + (sum(map(len, completed)) + 3 * len(completed) if completed else 0)


def _prune(changes: list[Change], after: Saved) -> None:
    """Delete steps that are no longer needed: those before the snapshot from which the oldest kept step is restored."""
    task = after.task
    if task.keep is None:
        return
    standing = [base for base in after.bases if base <= task.saved - task.keep + 1]
    if standing:
        changes.append(DeleteRange(CheckpointStep, (task.org, task.task_id), before=(standing[-1],)))
        after.bases = tuple(base for base in after.bases if base >= standing[-1])
