"""Saves each step of a task as a snapshot or a patch, and restores a state from them."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ...errors import Conflict, CorruptRecord, TooLarge
from ...ports import to_micros
from ...records import CheckpointStep, Task
from ...stores.base import Change, DeleteRange, Expect, Load
from ...values import MAX_VALUE_BYTES, check_name, decode_json
from ..core import Core
from .patches import State, pack, patch_of

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
    room: int = 0
    """This is the size that the patches before the next snapshot may add up to, in bytes."""
    bases: tuple[int, ...] = ()
    """These are the numbers of the snapshots known to exist."""

    @classmethod
    def new(cls, core: Core, task_id: str, ns: str) -> Saved:
        at = core.at()
        return cls(Task(org=core.org, task_id=task_id, ns=ns, created_at=at, updated_at=at))

    def state(self) -> Any:
        """Return the state, decoded into a new object."""
        return None if self.image is None else decode_json(self.image.text())


class Step(msgspec.Struct, frozen=True):
    """Holds a saved step with its whole state."""

    row: CheckpointStep
    state: State
    completed: tuple[str, ...]


async def load(core: Core, task_id: str) -> Saved | None:
    """Return the task and its state from the store."""
    if (loaded := await read_steps(core, task_id, 1)) is None:
        return None
    task, rows = loaded
    if not rows:
        return Saved(task)
    last = restore(rows, 1)[-1]
    snapshot, *patches = [_weight(row.body, row.completed) for row in rows]
    return Saved(
        task, last.state, dict.fromkeys(last.completed), max(snapshot, FLOOR_BYTES) - sum(patches), (task.base,)
    )


async def read_steps(core: Core, task_id: str, n: int) -> tuple[Task, list[CheckpointStep]] | None:
    """Return a task and the rows from which its last `n` steps are restored, beginning with a snapshot."""
    check_name(task_id, "task id")
    for _ in range(MAX_READS):
        task = await core.get(Task, task_id)
        if task is None or not core.scope.may_read(task.ns):
            return None
        if task.saved == 0:
            return task, []
        rows = await core.scan(CheckpointStep, task_id, after=(task.base - 1,), before=(task.saved + 1,))
        while rows and (len(rows) < n or not rows[0].snapshot):
            before = (rows[0].number,)
            earlier = await core.scan(CheckpointStep, task_id, before=before, reverse=True, limit=max(n, 64))
            if not earlier:
                break
            rows = earlier[::-1] + rows
        # A save between the reads may have pruned needed steps: then read again.
        if rows and rows[0].snapshot and [row.number for row in rows] == list(range(rows[0].number, task.saved + 1)):
            return task, rows
    text = "a task's saved steps are not complete; restore them from a backup or delete it"
    raise CorruptRecord(text, task=task_id)


def restore(rows: Sequence[CheckpointStep], n: int) -> deque[Step]:
    """Return the last `n` steps with their states. The first row is a snapshot."""
    steps: deque[Step] = deque(maxlen=n)
    state, completed = State(), tuple[str, ...]()
    for row in rows:
        try:
            state = State.read(row.text) if row.snapshot else state.patched(row.text)
        except (msgspec.MsgspecError, zlib.error, KeyError) as cause:
            raise CorruptRecord("a saved step cannot be read", task=row.task_id, number=row.number) from cause
        completed = row.completed if row.snapshot else completed + row.completed
        steps.append(Step(row, state, completed))
    return steps


def is_leased(core: Core, task: Task) -> bool:
    """Return whether a worker holds the lease of a task."""
    return task.owner is not None and task.leased_until is not None and to_micros(task.leased_until) > core.now()


async def refuse_taken(core: Core, task_id: str) -> None:
    """Raise a final Conflict if the id belongs to a task that this handle may not read, because retrying would not
    help.
    """
    task = await core.get(Task, task_id)
    if task is not None and not core.scope.may_read(task.ns):
        raise Conflict(f"task {task_id!r} exists in another namespace; choose another id", task=task_id, final=True)


def save_changes(
    core: Core,
    saved: Saved,
    state: object,
    done: Sequence[str],
    update: Mapping[str, object] = {},
    extend: Mapping[str, list[object]] = {},
    **fields: object,
) -> tuple[list[Change], Saved]:
    """Return the changes that save the next step, and the resulting task.

    `update` and `extend` tell how the last saved state became `state`. `fields` are set on the task's row. The result
    shares its completed subtasks with `saved`, because copying them would cost more with every subtask. The caller
    adds `done` to them after the commit.
    """
    number, at = saved.task.saved + 1, core.at()
    new = tuple(item for item in dict.fromkeys(done) if item not in saved.completed)
    count = len(saved.completed) + len(new)
    image, patch = _next_state(saved.image, state, update, extend)
    size = image.size()
    if size > MAX_VALUE_BYTES:
        raise TooLarge(f"state takes {size} bytes; the limit is {MAX_VALUE_BYTES}")
    body = pack(patch or b"")
    room = saved.room - _weight(body, new)
    # Patches take at most as much as their snapshot, so all steps take a few times the final state.
    snapshot = patch is None or room < 0 or number - saved.task.base > min(MAX_PATCHES, REPLAY_BYTES // (size + 1))
    if snapshot:
        body, new = pack(image.text()), (*saved.completed, *new)
        room = max(_weight(body, new), FLOOR_BYTES)
    base = number if snapshot else saved.task.base
    changes, task = row_changes(
        saved.task, saved=number, base=base, completed=count, size=size, updated_at=at, **fields
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
    pruned, bases = _pruned(task, (*saved.bases, number)) if snapshot else ([], saved.bases)
    return [*changes, Load(row), *pruned], Saved(task, image, saved.completed, room, bases)


def row_changes(task: Task, **fields: object) -> tuple[list[Change], Task]:
    """Return the changes that update a task's row by compare-and-set on its version, and the resulting row.

    Fields that are UNSET do not change.
    """
    changed = {name: value for name, value in fields.items() if value is not NOTHING}
    after = msgspec.structs.replace(task, version=task.version + 1, **changed)
    # The Expect fixes the version, so the rows are fully known, and Load saves the read that a Put would need.
    return [Expect(Task, task.row_key, task.version), Load(after)], after


def _next_state(
    before: State | None, state: object, update: Mapping[str, object], extend: Mapping[str, list[object]]
) -> tuple[State, bytes | None]:
    """Return the state to save, and the patch that leads to it, or None if a snapshot is needed."""
    if before is None:
        patch = None
    elif (update or extend) and before.can_extend(extend):
        patch = patch_of(update, extend)
    else:
        patch = before.patch_to(state)
    return (State.of(state), None) if before is None or patch is None else (before.patched(patch), patch)


def _weight(body: bytes, completed: Sequence[str]) -> int:
    return len(body) + (sum(map(len, completed)) + 3 * len(completed) if completed else 0)


def _pruned(task: Task, bases: tuple[int, ...]) -> tuple[list[Change], tuple[int, ...]]:
    """Return the changes that delete the steps before the snapshot from which the oldest kept step is restored, and
    the snapshots that remain.
    """
    outdated = [] if task.keep is None else [base for base in bases if base <= task.saved - task.keep + 1]
    if not outdated:
        return [], bases
    bases = bases[len(outdated) - 1 :]
    return [DeleteRange(CheckpointStep, (task.org, task.task_id), before=(bases[0],))], bases
