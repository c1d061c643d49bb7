"""What a recall may give in the adversarial work, and everything that takes something away before the next recall."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memorist import Namespace
from memorist.errors import Forbidden, NotFound, UsageError

if TYPE_CHECKING:
    from tests.stores.tenants import Step

BRIEF_SECONDS = 30
WORDS = ("harbour", "invoice", "Lisbon", "bicycle", "archive", "train", "lantern", "river")


def recall(step: Step, namespaces: list[str] | None, words: str) -> None:
    """Ask, and hold every hit against who asked and against all that there is now."""
    work = step.work
    if namespaces is not None and not all(step.sees(ns) for ns in namespaces):
        step.expect(Forbidden, lambda: step.me.recall(words, namespaces=namespaces))
        return
    # By name: as text, what ends in `*` means all that begin so.
    exactly = None if namespaces is None else [Namespace.parse(ns) for ns in namespaces]
    hits = step.me.recall(words, namespaces=exactly, top_k=20)
    findable = work.findable(step.org) if hits else {}
    for hit in hits:
        marks = work.marks(hit.text)
        assert marks, f"{step.who()}: recall gave a text of nobody"
        for owner, space, number in marks:
            owner_and_space = work.orgs[owner], work.spaces[space]
            assert owner_and_space == (step.org, hit.namespace), (
                f"{step.who()}: recall gave a text of {owner_and_space}"
            )
            assert number in findable.get(hit.namespace, ()), f"{step.who()}: recall gave what is gone, of {number}"
        assert step.sees(hit.namespace) and (namespaces is None or hit.namespace in namespaces), step.who()
    work.seen["recalls"] += 1
    work.seen["hits"] += len(hits)


def recall_anything(step: Step) -> None:
    """Ask for some words, here, there or everywhere."""
    namespaces = [None, [step.ns], [step.ns, "global"]][step.number % 3]
    recall(step, namespaces, " ".join(step.work.dice.sample(WORDS, 3)))


def recall_gone(step: Step, ns: str, texts: list[str]) -> None:
    """The very next recall after a removal, for the words of what went, where it was and everywhere."""
    for text in texts[:1]:
        recall(step, None if step.number % 2 else [ns], text)
        step.work.seen["recalls after a removal"] += 1


# -- what takes away


def set_brief_fact(step: Step) -> None:
    """A fact that ends by itself."""
    step.set_fact(ttl=BRIEF_SECONDS)


def make_brief_thread(step: Step) -> None:
    """A thread that ends by itself."""
    step.make_thread(ttl=BRIEF_SECONDS)
    step.say()


def let_time_pass(step: Step) -> None:
    """Everything that was to end soon has ended, in every org."""
    work = step.work
    work.clock.advance(BRIEF_SECONDS + 1)
    dropped = [(org, ns, work.facts.pop((org, ns, key))) for org, ns, key in sorted(work.brief_facts)]
    for org, name in sorted(work.brief_threads):
        thread = work.threads.pop((org, name))
        dropped += [(org, thread.ns, text) for text in thread.texts.values()]
    work.ended |= work.brief_threads
    work.brief_facts.clear()
    work.brief_threads.clear()
    work.seen["expired"] += len(dropped)
    for org, ns, text in work.dice.sample(dropped, min(3, len(dropped))):
        step.aim(org, ns, step.name)
        recall_gone(step, ns, [text])


def drop_messages(step: Step) -> None:
    """One message of a thread, or all before it."""
    step.aim_at_thread()
    thread = step.thread()
    last_seq = 1 if thread is None else step.work.dice.randint(1, thread.last + 1)
    if step.number % 2:
        dropped_seqs = [] if thread is None else [seq for seq in thread.texts if seq == last_seq]
        call: Any = lambda: step.me.threads.delete_messages(step.name, ids=[f"{step.name}#{last_seq}"])  # noqa: E731  # two calls, one answer
    else:
        dropped_seqs = [] if thread is None else [seq for seq in thread.texts if seq < last_seq]
        call = lambda: step.me.threads.delete_messages(step.name, before=last_seq)  # noqa: E731  # as above
    step.expect(NotFound if thread is None else len(dropped_seqs), call)
    if thread is not None:
        texts = [thread.texts.pop(seq) for seq in dropped_seqs]
        recall_gone(step, thread.ns, texts)


def unlearn(step: Step) -> None:
    """One learning of a user."""
    user = step.aim_at_user()
    learned = step.work.learned.setdefault((step.org, user), {})
    content = step.work.dice.choice(sorted(learned)) if learned else None
    id = "nothing" if content is None else learned[content]
    allowed = step.user in (None, user)
    step.expect(content is not None if allowed else UsageError, lambda: step.me.learnings.delete(id, user=user))
    if allowed and content is not None:
        del learned[content]
        recall_gone(step, f"user:{user}", [content])


def forget_fact(step: Step) -> None:
    """A fact with its history."""
    value = step.work.facts.get((step.org, step.ns, step.name))
    # What has ended and was not collected yet is forgotten too.
    step.expect_if(
        True, lambda: step.me.forget(fact=(step.ns, step.name)).counts.get("facts", 0) >= (value is not None)
    )
    if step.may and value is not None:
        step.work.drop_fact((step.org, step.ns, step.name))
        recall_gone(step, step.ns, [value])


def forget_thread(step: Step) -> None:
    """A thread with its messages."""
    step.aim_at_thread()
    thread = step.thread()
    if thread is None and step.ended():
        return
    if thread is None:
        # One that was here and was deleted may still have what was derived from it; of others nothing is said.
        with suppress(NotFound):
            assert not step.me.forget(thread=step.name).counts.get("messages", 0), step.who()
        return
    rows = len(thread.texts)
    step.expect(True, lambda: step.me.forget(thread=step.name).counts.get("messages", 0) >= rows)
    step.work.drop_thread((step.org, step.name))
    recall_gone(step, thread.ns, list(thread.texts.values()))


def forget_message(step: Step) -> None:
    """One message."""
    step.aim_at_thread()
    thread = step.thread()
    if thread is None:
        if not step.ended():
            with suppress(NotFound):
                assert not step.me.forget(message=f"{step.name}#1").counts.get("messages", 0), step.who()
        return
    seq = step.work.dice.randint(1, thread.last + 1)
    expected = int(seq in thread.texts)
    step.expect(expected, lambda: step.me.forget(message=f"{step.name}#{seq}").counts.get("messages", 0))
    if seq in thread.texts:
        recall_gone(step, thread.ns, [thread.texts.pop(seq)])


def forget_user(step: Step) -> None:
    """A user with all that is theirs."""
    work = step.work
    user = step.aim_at_user()
    ns, allowed = f"user:{user}", step.user in (None, user)
    texts = [text for space, texts in work.texts(step.org) if space == ns for text in texts]
    fact_count = sum((org, space) == (step.org, ns) for org, space, _ in work.facts)
    step.expect(allowed or UsageError, lambda: step.me.forget(user=user).counts.get("facts", 0) >= fact_count)
    if allowed:
        work.drop_user(step.org, user)
        recall_gone(step, ns, texts)


REMOVALS = (drop_messages, unlearn, forget_fact, forget_thread, forget_message)
ENDING = (set_brief_fact, make_brief_thread)
