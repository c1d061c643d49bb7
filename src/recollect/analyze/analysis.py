"""Analyse one checkout: everything found, as records."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from recollect.analyze.assembly import Assembly, Place, assembly
from recollect.analyze.discover import Checkout, discover
from recollect.analyze.findings import Finding, evictions
from recollect.analyze.gather import Progress, gather
from recollect.analyze.tiers import Tier, offered, tiers
from recollect.analyze.tokens import Tokens, tokens
from recollect.analyze.world import World
from recollect.errors import UsageError


@dataclass(slots=True)
class Analysis:
    """The findings about one framework, with the facts they rest on."""

    name: str
    checkout: Checkout
    world: World
    eviction: list[Finding]
    unwired: list[Finding]
    assembly: Assembly
    tiers: list[Tier]
    offered: dict[str, list[Place]]
    tokens: Tokens
    languages: dict[str, int] = field(default_factory=dict)
    denied: list[Finding] = field(default_factory=list)
    judged_by: str = ""


def analyze(
    path: Path | str,
    *,
    name: str | None = None,
    processes: int | None = None,
    time_limit: float = 300.0,
    progress: Progress | None = None,
) -> Analysis:
    """Read a checkout and say how it manages memory; nothing in it is imported or run."""
    root = Path(path)
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder: give the root of a checkout", path=str(root))
    checkout = discover(root)
    files = gather(checkout, processes=processes, time_limit=time_limit, progress=progress)
    world = World(files)
    found = evictions(world)
    wired = [f for f in found if f.wired]
    languages: dict[str, int] = {}
    for file in files:
        languages[file.language] = languages.get(file.language, 0) + file.lines
    return Analysis(
        name or root.resolve().name,
        checkout,
        world,
        wired,
        [f for f in found if not f.wired],
        assembly(world),
        tiers(world, wired),
        offered(world, checkout),
        tokens(world, wired),
        dict(sorted(languages.items())),
    )
