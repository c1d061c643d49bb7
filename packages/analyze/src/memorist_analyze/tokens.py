"""Determines how tokens are counted, how a budget is divided, and what happens on context overflow."""

from __future__ import annotations

from dataclasses import dataclass, field

from memorist_analyze import words
from memorist_analyze.assembly import Place
from memorist_analyze.findings import Finding
from memorist_analyze.words import bag
from memorist_analyze.world import World

_COUNTING = (
    "tiktoken", "litellm_counter", "provider_count_api", "tokenizer_model", "length_estimate", "api_usage",
    "pluggable_callable",
)  # fmt: skip
_SETTINGS = bag("max limit budget ratio threshold window reserve buffer")


@dataclass(slots=True)
class Tokens:
    """Holds the ways of counting tokens, the division of a budget, the reactions to overflow, and the lines that show
    them."""

    counting: list[str] = field(default_factory=list)
    budget: str = "not determined"
    overflow: list[str] = field(default_factory=list)
    locations: list[Place] = field(default_factory=list)


def tokens(world: World, findings: list[Finding]) -> Tokens:
    """Collect the token management of a checkout."""
    result = Tokens()
    counted = _counting(world)
    result.counting = [name for name in _COUNTING if name in counted]
    for name in result.counting:
        result.locations.extend(counted[name][:3])
    shares = _shares(world)
    result.locations.extend(shares[:4])
    result.budget = _budget(world, shares)
    result.overflow, places = _overflow(world, findings)
    result.locations.extend(places)
    return result


def _counting(world: World) -> dict[str, list[Place]]:
    counters: dict[str, list[Place]] = {}
    unused = {(f.path, f.symbol) for f in world.functions if not world.is_wired(f) and not f.symbol.startswith("<")}
    for file in world.files:
        if words.draws_ui(file.path):
            continue
        for item in file.counting:
            if (file.path, item.symbol) not in unused:
                location = Place(file.path, item.line, item.symbol, "count", f"{item.value}: {item.why}")
                counters.setdefault(item.value, []).append(location)
    # Code may load a tokenizer just to run a model, so the same file must also count tokens.
    if "tokenizer_model" in counters:
        counters["tokenizer_model"] = [p for p in counters["tokenizer_model"] if _is_counter(world, p)]
        if not counters["tokenizer_model"]:
            del counters["tokenizer_model"]
    return counters


def _is_counter(world: World, location: Place) -> bool:
    for file in world.files:
        if file.path == location.path:
            identifiers = [*file.references, *(f.name for f in file.functions)]
            names = {name.lower() for name in identifiers if "token" in name.lower()}
            return any("count" in n or "num_tokens" in n or "n_tokens" in n for n in names) or "token" in location.path
    return False


def _shares(world: World) -> list[Place]:
    shares: list[Place] = []
    for file in world.files:
        if not words.draws_ui(file.path):
            shares.extend(
                Place(file.path, e.line, e.symbol, "budget", e.why) for e in file.budget if e.value == "share"
            )
    shares.sort(key=lambda p: (not words.place_likeness(p.path), p.path, p.line))
    return shares


def _budget(world: World, shares: list[Place]) -> str:
    settings: list[str] = []
    for file in world.files:
        for name, (value, _) in sorted(file.constants.items()):
            name_words = set(words.words(name))
            if name_words & {"token", "tokens", "context", "compaction"} and name_words & _SETTINGS:
                settings.append(f"{name} = {value}")
    parts: list[str] = []
    if shares:
        parts.append("; ".join(dict.fromkeys(p.why for p in shares[:3])))
    if settings:
        parts.append("settings: " + ", ".join(settings[:5]))
    return "; ".join(parts) or "no share of a token budget found"


def _overflow(world: World, findings: list[Finding]) -> tuple[list[str], list[Place]]:
    strategies = {f.strategy for f in findings if f.wired}
    reactions: list[str] = []
    places: list[Place] = []
    if "summarization" in strategies:
        reactions.append("summarise")
    if strategies & {"content_elision", "offload", "token_window", "importance_scoring"}:
        reactions.append("truncate")
    if strategies & {"fifo_message_count", "token_window"}:
        reactions.append("drop_messages")
    for function in world.functions:
        handled = any(words.OVERFLOW.search(e) for e in function.exceptions)
        raised = [
            c for c in function.calls
            if words.OVERFLOW.search(c.name) and c.name[:1].isupper() and _is_error(c.name)
        ]  # fmt: skip
        if (handled or raised) and not words.draws_ui(function.path):
            line = raised[0].line if raised else function.line
            places.append(Place(function.path, line, function.symbol, "overflow", "context overflow raised or handled"))
    if places:
        reactions.append("error")
    return reactions or ["none"], places[:4]


def _is_error(name: str) -> bool:
    return name.endswith(("Error", "Exception", "Overflow", "Exceeded"))
