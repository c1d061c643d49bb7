"""Analyses one checkout. Contains the entry point `analyze(path)` and the result record `Analysis`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from memorist.errors import UsageError
from memorist_analyze.assembly import Assembly, Place, assembly
from memorist_analyze.calibration import LISTED_ABOVE, SHOWN_ABOVE
from memorist_analyze.discover import Checkout, discover
from memorist_analyze.filemap import FileMap, file_map
from memorist_analyze.findings import Finding, evictions
from memorist_analyze.gather import Progress, gather
from memorist_analyze.tiers import Tier, offered, tiers
from memorist_analyze.tokens import Tokens, tokens
from memorist_analyze.world import World

MAX_POSSIBLE = 60
MIN_LISTED = 8  # even improbable candidates are listed up to this number, so that a judge has something to read


@dataclass(slots=True)
class Analysis:
    """Holds the result for one framework: its eviction mechanisms, prompt assembly, memory tiers and token counting.

    `eviction` contains the mechanisms that the report shows. They are used outside tests, and are probable enough or
    confirmed by a model. `possible` contains less probable ones, `unwired` contains probable ones that nothing uses,
    and `denied` contains those that a model rejected (`judge.py`; `judged_by` names that model). `offered` lists
    storage that can be plugged in.
    """

    name: str
    checkout: Checkout
    world: World
    eviction: list[Finding]
    possible: list[Finding]
    unwired: list[Finding]
    assembly: Assembly
    tiers: list[Tier]
    offered: dict[str, list[Place]]
    tokens: Tokens
    map: FileMap
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
    """Analyse a checkout statically. Its files are parsed, but never imported or run.

    Raises `UsageError` if `path` is not a folder or if reading it takes longer than `time_limit` seconds.
    """
    root = Path(path)
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder: give the root of a checkout", path=str(root))
    checkout = discover(root)
    files = gather(checkout, processes=processes, time_limit=time_limit, progress=progress)
    world = World(files)
    candidates = evictions(world)
    reported = [f for f in candidates if f.wired and f.probability > SHOWN_ABOVE]
    ranked = sorted((f for f in candidates if f.wired), key=lambda f: (-f.probability, f.id))
    possible = [
        f for at, f in enumerate(ranked)
        if f.probability <= SHOWN_ABOVE and (f.probability >= LISTED_ABOVE or at < MIN_LISTED)
    ]  # fmt: skip
    languages: dict[str, int] = {}
    for file in files:
        languages[file.language] = languages.get(file.language, 0) + file.lines
    order, levels, counted = assembly(world), tiers(world, reported), tokens(world, reported)
    return Analysis(
        name or root.resolve().name,
        checkout,
        world,
        reported,
        possible[:MAX_POSSIBLE],
        [f for f in candidates if not f.wired and f.probability > SHOWN_ABOVE],
        order,
        levels,
        offered(world, checkout),
        counted,
        file_map(world, order, reported, levels, counted),
        dict(sorted(languages.items())),
    )
