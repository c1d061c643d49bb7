"""Each eviction rule on a program it must fire on and on one it must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist_analyze.conditions import CONDITIONS, Case
from memorist_analyze.discover import discover
from memorist_analyze.findings import holds
from memorist_analyze.gather import gather
from memorist_analyze.rules import LOOSE_IDS, RULES
from memorist_analyze.world import World

from .reading import write
from .snippets import SNIPPETS, TYPESCRIPT, Snippet
from .snippets_lineage import LINEAGE
from .snippets_windows import WINDOWS

ALL = (*SNIPPETS, *WINDOWS, *LINEAGE, *TYPESCRIPT)


def fired(root: Path, name: str, source: str) -> set[str]:
    """The ids of all rules that hold somewhere in a program, before strategies beat one another."""
    checkout = discover(write(root, {name: source}))
    world = World(gather(checkout, processes=1))
    cases = [Case(world, f, e) for f in world.functions for e in f.effects]
    return {rule.id for rule in RULES for case in cases if case.effect.kind in rule.effects and holds(rule, case)}


@pytest.mark.parametrize("snippet", ALL, ids=lambda s: f"{s.rule}:{s.name}")
def test_a_rule_fires_on_what_it_describes(snippet: Snippet, tmp_path: Path) -> None:
    assert snippet.rule in fired(tmp_path, snippet.name, snippet.fires)


@pytest.mark.parametrize("snippet", ALL, ids=lambda s: f"{s.rule}:{s.name}")
def test_a_rule_is_silent_on_its_look_alike(snippet: Snippet, tmp_path: Path) -> None:
    assert snippet.rule not in fired(tmp_path, snippet.name, snippet.silent)


def test_every_rule_has_snippets() -> None:
    assert {r.id for r in RULES} - LOOSE_IDS == {s.rule for s in (*SNIPPETS, *WINDOWS, *LINEAGE)}


def test_every_rule_names_known_conditions_and_says_what_it_means() -> None:
    for rule in RULES:
        assert set(rule.needs) | set(rule.unless) <= set(CONDITIONS), rule.id
        assert rule.says and not rule.says.endswith("."), rule.id


def test_rule_ids_are_unique() -> None:
    ids = [rule.id for rule in RULES if rule.id not in LOOSE_IDS]
    assert len(ids) == len(set(ids))


def test_every_condition_is_documented_in_one_sentence() -> None:
    for name, condition in CONDITIONS.items():
        assert (condition.__doc__ or "").strip().endswith("."), name
