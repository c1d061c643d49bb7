"""A power cut at any moment: with durability="full" nothing acknowledged is lost; "normal" is the planted bug."""

import random
from pathlib import Path

from memorist import Memory
from tests.faults.clients import SOAK
from tests.faults.disk import Event, image_after_power_loss, watched

IMAGES = 2000 if SOAK else 150
MESSAGES = 60


def _record(path: Path, durability: str) -> list[Event]:
    """The write log of a client that appends, sets facts and counts, and is told of each."""
    with watched() as disk:
        memory = Memory(path, durability=durability)  # type: ignore[arg-type]  # one of the two
        memory.threads.create("global", id="t")
        disk.acknowledge(0)
        for n in range(1, MESSAGES + 1):
            with memory.batch() as batch:
                batch.threads.append("t", f"message {n} " + "x" * 300, key=f"k{n}")
                batch.facts.set("global", "last", n)
                batch.state.increment("count")
            disk.acknowledge(n)
            if n == MESSAGES // 2:
                memory.close()
                memory = Memory(path, durability=durability)  # type: ignore[arg-type]
        log = list(disk.log)
        memory.close()
    return log


def _losses(log: list[Event], folder: Path, images: int) -> list[str]:
    """What acknowledged writes are missing, or what else is wrong, in each of many crash images."""
    first = next(i for i, event in enumerate(log) if event.kind == "ack")
    wrong = []
    for number in range(images):
        dice = random.Random(number)
        cut = dice.randrange(first + 1, len(log) + 1)
        acked = max(event.note for event in log[:cut] if event.kind == "ack")
        image = folder / str(number)
        image.mkdir()
        image_after_power_loss(log, cut, image, dice)
        problem = _look(image / "memory.db", acked)
        if problem:
            wrong.append(f"image {number}, {acked} acknowledged: {problem}")
    return wrong


def _look(path: Path, acked: int) -> str | None:
    if not path.exists():
        return "the file is gone"
    with Memory(path) as memory:
        messages = memory.threads.messages("t") if memory.threads.get("t") else []
        numbers = [int(message.text.split()[1]) for message in messages]
        fact, count = memory.facts.get("global", "last"), memory.state.get("count", 0)
    if numbers != list(range(1, len(numbers) + 1)) or [message.seq for message in messages] != numbers:
        return f"order is {numbers}"
    if len(numbers) < acked:
        return f"only {len(numbers)} there"
    if len(numbers) != count or (fact.value if fact else 0) != count:
        return f"{len(numbers)} messages, fact {fact and fact.value}, count {count}: a batch came apart"
    return None


def test_full_durability_loses_nothing_in_a_power_cut(ram_path: Path) -> None:
    log = _record(ram_path / "memory.db", "full")
    assert _losses(log, ram_path, IMAGES) == []


def test_the_harness_sees_what_normal_durability_loses(ram_path: Path) -> None:
    log = _record(ram_path / "memory.db", "normal")
    losses = _losses(log, ram_path, IMAGES)
    assert any("only" in loss for loss in losses)
    # Losing the end is what "normal" may do; a torn batch or a broken order it may not.
    assert not [loss for loss in losses if "only" not in loss]


def test_every_acknowledgement_comes_after_a_sync_of_the_log_file(ram_path: Path) -> None:
    log = _record(ram_path / "memory.db", "full")
    written, synced = 0, 0
    for event in log:
        if event.file == "memory.db-wal":
            written += event.kind == "write"
            synced = written if event.kind == "sync" else synced
        if event.kind == "ack" and event.note != 0:
            assert synced == written


def test_a_cut_while_the_file_is_made_leaves_one_that_opens(ram_path: Path) -> None:
    log = _record(ram_path / "memory.db", "full")
    first = next(i for i, event in enumerate(log) if event.kind == "ack")
    for cut in range(1, first, 1 if SOAK else 6):
        image = ram_path / f"{cut}"
        image.mkdir()
        image_after_power_loss(log, cut, image, random.Random(cut))
        with Memory(image / "memory.db") as memory:
            memory.threads.create("global", id="t")
            memory.threads.append("t", "after")
            assert [message.text for message in memory.threads.recent("t")][-1] == "after"
