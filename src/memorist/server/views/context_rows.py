"""Turns an assembled context into rows for the inspector, and compares two contexts item by item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from ...context.policies import SlidingWindow
from ...context.policy_names import CHOICES, python_policy, read_policy, short_policy, title_policy
from ...context.profile import LANES
from ...context.units import Unit
from ...engine.noun import core_of
from ...languages.topics import plain
from ...messages.message import Message
from .searching import hit_row
from .shared import Row, fact_behind, picked, standing

if TYPE_CHECKING:
    from ...context.context import Context
    from ...context.units import Repair
    from ...memory import AsyncMemory
    from ...records import Thread
    from ...values import JsonMapping
    from .contexts import Built, Chosen

TEXT_CHARACTERS = 600
POLICY_TITLES = [(short, title_policy(read_policy(short))) for short in CHOICES]
"""The policies that the pages offer, as short names and titles."""
ORDER = {
    "cached": ("tools", "system", "profile", "history", "memory", "input", "scratchpad"),
    "standard": ("tools", "system", "profile", "memory", "history", "input", "scratchpad"),
}


async def drawn(handle: AsyncMemory, built: Built) -> Row:
    """Return everything that the page shows about a context. If there is none, `error` contains the reason."""
    request, thread, context = built.asked, built.thread, built.context
    head: Row = {
        "thread": None if thread is None else picked(thread, "id title ns length"),
        "error": built.error, "milliseconds": built.milliseconds, "asked": request, "settings": _settings(built.chosen),
    }  # fmt: skip
    if context is None:
        return {**head, "tokens": None}
    account = context.account
    hits = {hit.id: await hit_row(handle, hit) for hit in built.hits}
    return {
        **head,
        "tokens": context.tokens,
        "budget": account.budget_tokens,
        "reserve": account.output_reserve,
        "free": account.budget_tokens - account.output_reserve - context.tokens,
        "counter": account.counter,
        "policy": account.policy,
        "layout": context.layout,
        "sections": _sections(context),
        "system": [message.text for message in context.system_messages],
        "tools": [_named(tool) for tool in context.tools],
        "profile": await _profile(handle, context),
        "history": await _history(handle, context, thread),
        "memory": _memory(context, hits),
        "input": [message.text for message in context.input],
        "notes": list(account.notes),
        "prefix": None if built.prefix is None else msgspec.to_builtins(built.prefix),
        "anthropic": context.anthropic(),
        "openai": context.openai(),
        "text": context.text(),
    }


def _settings(chosen: Chosen) -> Row:
    """Return the options with which the request was built, and whether they are those of the program's last request."""
    stored, budget = chosen.stored, chosen.budget
    recall, policy = chosen.recall, chosen.policy or SlidingWindow()
    return {
        "stored": stored is not None, "at": None if stored is None else stored.at, "changed": chosen.changed,
        "budget": budget.total, "reserve": budget.output_reserve - chosen.absent_tokens, "memory": budget.memory,
        "history": budget.history, "profile": budget.profile, "policy": short_policy(policy),
        "policy_title": title_policy(policy), "policy_python": python_policy(policy), "policies": POLICY_TITLES,
        "policy_functions": stored is not None and stored.policy_functions and "policy" not in chosen.changed,
        "layout": chosen.layout, "recall": bool(recall), "top_k": recall.top_k if recall else None,
        "stash": chosen.stash, "absent_tokens": chosen.absent_tokens,
        "absent_system": "system" in chosen.absent,
        "absent_tools": stored.tools if stored is not None and "tools" in chosen.absent else [],
    }  # fmt: skip


def _sections(context: Context) -> list[Row]:
    reports = {report.name: report for report in context.manifest.sections}
    ceilings = {"profile": min(context.account.budget_tokens // 6, 600)}
    rows: list[Row] = []
    for name in ORDER[context.layout]:
        report = reports.get(name)
        if report is not None and (report.tokens or report.dropped):
            row = msgspec.to_builtins(report)
            row["ceiling"] = report.ceiling if report.ceiling is not None else ceilings.get(name)
            rows.append(row)
    overhead = reports.get("overhead")
    return [*rows, {"name": "overhead", "tokens": overhead.tokens}] if overhead is not None else rows


def _named(tool: JsonMapping) -> Row:
    inner = tool.get("function", tool)
    return {"name": inner.get("name"), "says": inner.get("description")}


async def _profile(handle: AsyncMemory, context: Context) -> list[Row]:
    """Return the profile lines in sending order. A line whose fact replaced a correction shows the corrected value.

    A replay or a hypothetical correction shows a value that is not the current one and has not replaced anything.
    """
    rows: list[Row] = []
    for line in sorted(context.profile, key=lambda line: LANES.index(line.lane)):
        named = line.source if "/" in line.source else line.text
        row: Row = {
            "id": f"profile:{named}:{line.lane}", "lane": line.lane, "text": line.text, "source": line.source,
            "state": "kept", "trust": line.trust, "replaced": None,
        }  # fmt: skip
        fact = await fact_behind(handle, line)
        is_present = fact is not None and plain(fact.value) in line.text
        if fact is not None and is_present and (was := (await standing(core_of(handle), fact))["replaced"]):
            row["replaced"] = {"value": was["value"]}
        rows.append(row)
    return rows


async def _history(handle: AsyncMemory, context: Context, thread: Thread | None) -> list[Row]:
    """Return one row per unit of the thread, oldest first, with its outcome. A stored summary comes first."""
    account = context.account
    rows: list[Row] = []
    has_stored = bool(account.behind) and context.summary_message is not None
    if has_stored:
        rows.append(await _stored(handle, context, thread))
    if account.unread is not None:
        first, last, count = account.unread
        rows.append(_run("dropped", "older than what was needed, not read", first, last, count))
    was = {left.unit.position: left for left in account.elided}
    units = [_unit("dropped", left.unit, left.reason) for left in account.dropped]
    units += [_unit("folded", unit, f"in the {account.method} summary") for unit in account.folded]
    for unit in account.kept:
        left = was.get(unit.position)
        units.append(_unit("elided", unit, left.reason, left.unit) if left is not None else _unit("kept", unit, ""))
    units += [_repaired(fix) for fix in account.repairs]
    units.sort(key=lambda row: (row["first"], row["state"] == "repaired"))
    if account.folded and context.summary_message is not None:
        units = _under_summary(context, units, rows.pop(0) if has_stored else None)
    return sorted([*rows, *units], key=lambda row: row["first"])


def _under_summary(context: Context, units: list[Row], stored: Row | None) -> list[Row]:
    """Return the rows after merging the units that a new summary replaces into one row, which contains the summary's
    text. A request has one summary, so the row also covers the messages of the stored one."""
    inside = [row for row in units if row["state"] == "folded"]
    rest = [row for row in units if row["state"] != "folded"]
    row = _run(
        "folded", inside[0]["reason"], inside[0]["first"], inside[-1]["last"], sum(span["count"] for span in inside)
    )
    row.update({
        "text": context.summary_text or "",
        "tokens": context.summary_message.tokens or 0 if context.summary_message else 0,
        "was": sum(span["tokens"] for span in inside), "summary": True,
    })  # fmt: skip
    if stored is not None:
        row.update({
            "id": f"history:1-{row['last']}", "reason": f"{row['reason']}, which continues the stored one", "first": 1,
            "count": row["count"] + stored["count"],
            "was": None if stored["was"] is None or row["was"] is None else stored["was"] + row["was"],
        })  # fmt: skip
    return [row, *rest]


async def _stored(handle: AsyncMemory, context: Context, thread: Thread | None) -> Row:
    behind = context.account.behind
    row = _run("folded", "in the stored summary", 1, behind, behind)
    was, at, method = None, None, ""
    if thread is not None and behind <= TEXT_CHARACTERS:
        old = await core_of(handle).scan(Message, thread.id, before=(behind + 1,))
        was = sum(message.tokens or 0 for message in old)
    if thread is not None:
        stored = await handle.threads.summaries(thread.id)
        own = next((summary for summary in stored if summary.last == behind), None)
        at, method = (own.created_at, own.method) if own else (None, "")
    summary = context.summary_message
    row.update({
        "text": context.summary_text or "", "tokens": summary.tokens or 0 if summary else 0, "was": was, "at": at,
        "method": method, "summary": True,
    })  # fmt: skip
    return row


def _run(state: str, reason: str, first: int, last: int, count: int) -> Row:
    """Return messages of the history. Their state is `kept`, `elided`, `folded`, `dropped` or `repaired`, and `was` is
    the number of tokens that a shortened or summarised text had."""
    return {
        "id": f"history:{first}-{last}", "state": state, "reason": reason, "first": first, "last": last,
        "count": count, "role": None, "text": "", "tokens": 0, "was": None, "exchange": False, "summary": False,
    }  # fmt: skip


def _unit(state: str, unit: Unit, reason: str, was: Unit | None = None) -> Row:
    # A message and the memory recalled for it form one unit, but only the message is part of the thread.
    count = len(unit.messages)
    attached = count > 1 and not unit.exchange
    row = _run(state, reason, unit.position, unit.last, 1 if attached else count)
    calls = [call.name + _arguments(call.arguments) for message in unit.messages for call in message.tool_calls]
    results = [str(result.content) for message in unit.messages for result in message.tool_results]
    text = next((message.text for message in reversed(unit.messages) if message.text and not message.tool_results), "")
    row.update({
        "role": unit.messages[-1].role if not unit.exchange else "tool", "text": text[:TEXT_CHARACTERS],
        "tokens": unit.tokens,
        "was": was.tokens if was is not None else None, "exchange": unit.exchange, "calls": calls,
        "results": [result[:TEXT_CHARACTERS] for result in results], "pinned": unit.pinned,
        "attached": attached,
    })  # fmt: skip
    return row


def _arguments(arguments: object) -> str:
    if not isinstance(arguments, dict):
        return f"({arguments})"
    return f"({', '.join(f'{name}: {value}' for name, value in arguments.items())})"


def _repaired(fix: Repair) -> Row:
    row = _run("repaired", fix.reason, fix.position, fix.position, 1)
    row["tokens"] = fix.tokens
    return row


def _memory(context: Context, hits: Mapping[str, Row]) -> list[Row]:
    """Return one row per recalled item, best first, which shows whether it was sent and the hit it came from."""
    shown: list[Row] = []
    for fate in context.recalled:
        item = fate.item
        hit = hits.get(item.id) or hits.get(item.source)
        is_sent = fate.fate != "dropped"
        shown.append(
            {
                "id": f"memory:{item.source or item.text[:60]}:{item.id}", "state": fate.fate, "sent": is_sent,
                "reason": fate.reason, "tokens": fate.tokens, "text": item.text[:TEXT_CHARACTERS], "kind": item.kind,
                "source": item.source, "trust": item.trust, "at": item.created_at, "score": item.score,
                "superseded": item.superseded_by, "hit": hit,
            }
        )  # fmt: skip
    return sorted(shown, key=lambda row: -(row.get("score") or 0))


# Two requests side by side


def _items(request: Row) -> list[Row]:
    """Return the items of a request in the order in which they are sent."""
    if request.get("tokens") is None:
        return []
    rows: list[Row] = []
    for section in ORDER[request.get("layout", "cached")]:
        for index, row in enumerate(request.get(section, ())):
            if section in ("tools", "system", "input"):
                text = row["name"] if section == "tools" else row
                rows.append(_item(section, {"id": f"{section}:{index}", "state": "kept", "text": text, "label": ""}))
            else:
                rows.append(_item(section, row))
    return rows


def _item(section: str, row: Row) -> Row:
    state = row["state"]
    if row.get("superseded") and state != "dropped":
        state = "superseded"
    return {
        "id": row["id"], "section": section, "text": row["text"] or "; ".join(row.get("calls") or ()), "state": state,
        "reason": row.get("reason") or "",
        "label": row.get("label", row.get("lane") or row.get("kind") or f"#{row.get('first')}"),
        **{name: row.get(name) for name in ("tokens", "at", "superseded", "score", "source")},
    }  # fmt: skip


_SAME = ("text", "state", "tokens", "superseded")


def changes(a: Row, b: Row) -> Row:
    """Return the items of two contexts in pairs, in sending order, with the number of pairs that differ."""
    left, right = _items(a), _items(b)
    mine = {row["id"]: row for row in left}
    theirs = {row["id"] for row in right}
    pairs: list[Row] = []
    removed = [row for row in left if row["id"] not in theirs]
    for row in right:
        while removed and left.index(removed[0]) < _index(left, row["id"]):
            pairs.append({"a": removed.pop(0), "b": None, "same": False})
        old = mine.get(row["id"])
        same = old is not None and all(old[name] == row[name] for name in _SAME)
        pairs.append({"a": old, "b": row, "same": same})
    pairs += [{"a": row, "b": None, "same": False} for row in removed]
    return {"pairs": pairs, "changed": sum(not pair["same"] for pair in pairs), "all": len(pairs)}


def _index(rows: list[Row], id: str) -> int:
    return next((index for index, row in enumerate(rows) if row["id"] == id), -1)
