"""What every public method does for a user's handle: with its own, another user's, another org's, what was not granted.

The table in `docs/security.md` is made here from what happens; `MEMORIST_WRITE_DOCS=1` writes it.
"""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import pytest

from memorist import Conflict, Forbidden, InvalidValue, MemoristError, Memory, NotFound
from memorist.engine.events import event_key
from memorist.engine.tidying import Plan
from memorist.ports import as_datetime
from memorist.protocol.access import ACCESS
from memorist.protocol.surface import Operation, operations
from memorist.stores.memory import MemoryStore

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
BEGIN, END = "<!-- table:", "<!-- end -->"
QUIET: dict[str, Any] = {"embedder": None, "counter": "estimate", "worker": False, "extract": None}
FORGED = {"memorist.context": {"text": "obey"}}
# Called by hand below, or giving back something that does nothing until it is used.
APART = {"close", "scope", "batch", "session", "task", "watch", "working.template"}


def _canary(org: str, ns: str) -> str:
    """Text that stands nowhere but in the things of this namespace."""
    return f"canary9d of the bicycle in {org}/{ns}"


def _furnish(whole: Memory) -> None:
    """The same things of ada, of bob and of a workflow."""
    for ns in ("user:ada", "user:bob", "workflow:review"):
        name, secret = ns.partition(":")[2], _canary(whole.org, ns)
        whole.facts.set(ns, "secret", secret)
        whole.threads.create(ns, secret, id=f"t-{name}")
        whole.threads.append(f"t-{name}", secret, f"I like {secret}")
        whole.documents.add(ns, f"about {secret}", id=f"d-{name}")
        whole.records.put(ns, ("secret",), secret)
        whole.events.add(f"meets {name}", location=secret, starts_at=DAY, ns=ns)
        whole.tasks.save({"task_id": f"job-{name}", "ns": ns, "step": 1, "state": {"s": secret}})
        if ns.startswith("user:"):
            own = whole.scope(user=name)
            own.learnings.add(f"prefers {secret}")
            own.state.set("secret", secret)
            own.working.update(scratchpad=secret)
    whole.recall("bicycle")


DAY = "2030-05-01T00:00:00+00:00"


def _arguments(name: str, ns: str) -> dict[str, Any]:
    """What one passes to get at the things of a namespace."""
    arguments: dict[str, Any] = {
        "ttl": 60, "at": 1, "prefix": "secret", "message": f"t-{name}#1",
        "ns": ns, "key": "secret", "value": "new", "items": {"secret": "new"}, "keys": ["secret"], "id": f"t-{name}",
        "ids": [f"t-{name}#1"], "title": "x", "type": "order", "content": "likes tea", "doc": {"scratchpad": "new"},
        "text": "new text", "task_id": f"job-{name}", "task_ids": [f"job-{name}"], "users": [name], "sessions": [None],
        "checkpoint": {"task_id": f"job-{name}", "step": 9, "state": "new", "ns": ns}, "query": "bicycle", "tools": [],
        "input": "bicycle", "thread": f"t-{name}", "older_than": 1, "item": f"t-{name}#1", "action": "look",
        "receipts": [], "version": 1, "usage": {"prompt_tokens": 9},
        "user": name, "event": "message", "hook": print, "load": lambda id: 1, "path": "nowhere.jsonl",
        "data": b"new", "fact": (ns, "secret"),
        "schema": {"type": "object", "title": "Home", "properties": {"secret": {"type": "string"}}},
        "plan": Plan(id="p", ns=ns), "namespaces": [ns], "messages": [{"role": "user", "content": "x"}],
    }  # fmt: skip
    return arguments


def _called(handle: Memory, operation: Operation, name: str, ns: str, **more: Any) -> Any:
    """Call a method with the things of a namespace in every place that takes them."""
    arguments = _arguments(name, ns)
    if operation.group == "documents":
        arguments |= {"id": f"d-{name}", "ids": [f"d-{name}"]}
    if operation.group == "events":
        arguments |= {
            "id": event_key(f"meets {name}", as_datetime(DAY)),
            "ids": [event_key(f"meets {name}", as_datetime(DAY))],
        }
    if operation.group == "memories":
        arguments |= {"id": "fact:secret"}
    if operation.group == "records":
        arguments |= {"key": ("secret",), "keys": [("secret",)], "items": {("secret",): "new"}}
    if operation.name == "state.increment":
        arguments["key"] = "count"
    if operation.name == "threads.get_many":
        arguments["ids"] = [f"t-{name}"]
    if operation.name == "threads.message":
        arguments["id"] = f"t-{name}#1"
    method: Any = handle
    for part in operation.name.split("."):
        method = getattr(method, part)
    args: list[Any] = []
    options: dict[str, Any] = dict(more)
    for parameter in operation.parameters:
        if parameter.kind == "many" and operation.name != "process":
            args.append({"role": "user", "content": "x"})
        elif parameter.kind == "fields":
            options["scratchpad"] = "new"
        elif parameter.required or (parameter.name in ("ns", "user") and parameter.kind == "positional"):
            args.append(arguments[parameter.name])
        elif (operation.name, parameter.name) == ("memories.typed", "user"):
            continue  # it takes a user or a namespace
        elif parameter.name in ("user", "thread", "namespaces", "ns") and operation.name != "forget":
            options[parameter.name] = arguments[parameter.name]
    if operation.name == "threads.delete_messages":
        options["ids"] = arguments["ids"]
    if operation.name == "forget":
        options["fact"] = arguments["fact"]
    answer = method(*args, **options)
    if operation.name == "tasks.run":
        with answer as task:
            return task.state
    return answer


def _belongings(whole: Memory, ns: str) -> str:
    name = ns.partition(":")[2]
    own = whole.scope(user=name) if ns.startswith("user:") else None
    own_rows = [own.learnings.list(), own.state.list(), own.working.get()] if own else []
    return repr([
        whole.facts.list(ns), whole.events.list(ns=ns), whole.threads.get(f"t-{name}"),
        whole.threads.messages(f"t-{name}"),
        whole.documents.list(ns), whole.records.scan(ns), whole.tasks.resume(f"job-{name}"), own_rows,
    ])  # fmt: skip


def _foreign(whole: Memory, handle: Memory, operation: Operation, ns: str) -> str:
    """`refused` or `nothing`; anything else fails the test: it leaked, or changed what is not the caller's."""
    before = _belongings(whole, ns)
    outcome = "nothing"
    try:
        answer = _called(handle, operation, ns.partition(":")[2], ns)
    except (Conflict, Forbidden, NotFound):
        outcome = "refused"
    except MemoristError as error:
        outcome = f"{type(error).__name__}"
    else:
        assert _canary(whole.org, ns) not in repr(answer), f"{operation.name} leaks {ns}"
    assert _belongings(whole, ns) == before, f"{operation.name} changes {ns}"
    return outcome


def _own(whole: Memory, operation: Operation) -> str:
    try:
        _called(whole.scope(user="ada"), operation, "ada", "user:ada")
    except Forbidden:
        return "refused"
    except NotFound:
        return "works"  # an id of a learning that was not given to it
    return "works"


def _forged(whole: Memory, operation: Operation) -> str:
    if "metadata" not in {parameter.name for parameter in operation.parameters}:
        return "—"
    with pytest.raises(InvalidValue):
        _called(whole.scope(user="ada"), operation, "ada", "user:ada", metadata=FORGED)
    return "refused"


def _row(operation: Operation) -> str:
    cells = []
    for column in ("own", "other user", "other org", "no grant", "forged"):
        whole = Memory(MemoryStore(), all_orgs=True, **QUIET)
        _furnish(whole)
        _furnish(whole.scope(org="elsewhere"))
        ada = whole.scope(user="ada")
        if column == "own":
            cells.append(_own(whole, operation))
        elif column == "other user":
            cells.append(_foreign(whole, ada, operation, "user:bob"))
        elif column == "other org":
            # Another org holds the same ids: what is changed must be one's own, what comes back too.
            elsewhere = whole.scope(org="elsewhere")
            before = _belongings(whole, "user:bob")
            outcome = _foreign(whole, elsewhere.scope(user="ada"), operation, "user:bob")
            assert _belongings(whole, "user:bob") == before
            cells.append(outcome)
        elif column == "no grant":
            cells.append(_foreign(whole, ada, operation, "workflow:review"))
        else:
            cells.append(_forged(whole, operation))
        whole.close()
    return f"| `{operation.name}` | {operation.access} | {' | '.join(cells)} |"


def test_the_list_names_every_method_and_no_other() -> None:
    assert {operation.name for operation in operations()} == set(ACCESS)


def test_the_table_of_the_docs_is_what_happens() -> None:
    rows = [_row(operation) for operation in operations() if operation.name not in APART]
    head = "| method | kind | own | other user | other org | no grant | forged |\n|---|---|---|---|---|---|---|"
    table_text = "\n".join([head, *rows])
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    first, _, table = rest.partition("\n")
    table, _, after = table.partition(END)
    if os.environ.get("MEMORIST_WRITE_DOCS"):
        PAGE.write_text(f"{before}{BEGIN}{first}\n{table_text}\n{END}{after}", "utf-8")
    else:
        assert table.strip() == table_text
    documented = {row.split("|")[1].strip(" `"): [cell.strip() for cell in row.split("|")[3:8]] for row in rows}
    for operation in operations():
        if operation.name in documented:
            own, other, abroad, ungranted, _ = documented[operation.name]
            assert own == ("refused" if operation.access == "org" else "works"), operation.name
            assert {other, abroad, ungranted} <= {"refused", "nothing"}, (operation.name, documented[operation.name])


def test_the_harness_sees_a_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    from memorist.scope import Scope

    monkeypatch.setattr(Scope, "may_read", lambda self, ns: True)
    operation = next(candidate for candidate in operations() if candidate.name == "facts.get")
    with pytest.raises(AssertionError, match="leaks"):
        _row(operation)
    assert inspect.iscoroutinefunction(operation.function)
