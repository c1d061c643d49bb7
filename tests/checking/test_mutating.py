"""Mutations of memories: which cases notice, which memories no case depends on, and which cases cannot fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memorist import Memory
from memorist.checking import Case, mutate
from tests.cli.conftest import Memorist, memorist

__all__ = ["memorist"]


def test_a_needed_memory_and_an_unneeded_one_are_told_apart() -> None:
    talk = ["I live in Lisbon.", {"assistant": "Noted."}, "My sister is called Mia."]
    needed = Case(name="city", ask="Where do I live?", conversation=talk, expect={"newest": {"location": "Lisbon"}})
    report = mutate([(needed, {})])
    noticed = {mutant.change for mutant in report.mutants if mutant.memory == "I live in Lisbon." and mutant.noticed}
    assert {"left out", "contradicted"} <= noticed
    assert report.untested == (("", "My sister is called Mia."),) and report.toothless == ()
    assert {mutant.change for mutant in report.mutants} == {"left out", "aged", "duplicated", "contradicted"}


def test_a_case_that_passes_whatever_is_stored_cannot_fail() -> None:
    fields: dict[str, Any] = {"ask": "Where do I live?", "conversation": ["I live in Lisbon."]}
    blind = Case(name="blind", expect={"not_contains": "Tokyo"}, **fields)
    seeing = Case(name="seeing", expect={"contains": "Lisbon"}, **fields)
    report = mutate([(blind, {}), (seeing, {})])
    assert report.toothless == (("", "blind"),) and report.untested == ()


def test_a_leak_age_and_a_duplicate_can_be_noticed() -> None:
    talks = [{"user": "ada", "messages": ["I live in Lisbon, near the river."]}]
    isolation = Case(
        name="isolation", user="bob", conversations=talks, ask="Where does Ada live?", expect={"sees_nothing_of": "ada"}
    )
    dated = Case(
        name="dated", ask="When did I buy a boat?", conversation=["I bought a boat."], expect={"contains": "2026"}
    )
    short = Case(name="short", ask="When did I buy a boat?", conversation=["I bought a boat."], expect={"tokens": 60})
    report = mutate([(isolation, {}), (dated, {}), (short, {})])
    noticed = {(mutant.case, mutant.change) for mutant in report.mutants if mutant.noticed}
    assert {("isolation", "leaked"), ("dated", "aged")} <= noticed


def test_a_case_that_fails_anyway_is_named(memorist: Memorist, tmp_path: Path) -> None:
    text = "cases: [{name: a, ask: 'Where do I live?', conversation: [I live in Ulm.], expect: {contains: Bonn}}]"
    (tmp_path / "a.memory.yaml").write_text(text, "utf-8")
    ran = memorist("test", "--mutate")
    assert ran.code == 1 and "fails without any change: a.memory.yaml: a" in ran.out
    (tmp_path / "a.memory.yaml").write_text(text.replace("Bonn", "Ulm"), "utf-8")
    assert "every memory affects a case, and every case can fail" in memorist("test", "--mutate").out
    assert memorist("test", "--mutate", "--json").json()["untested"] == []


def test_what_a_store_holds_is_changed_too(tmp_path: Path) -> None:
    with Memory(tmp_path / "agent.db", worker=False) as memory:
        memory.facts.set("user:ada", "project.name", "Apollo")
        memory.threads.create("user:ada", id="talk")
        memory.threads.append("talk", "I live in Lisbon.", "My sister is called Mia.")
    case = Case(
        name="store", store="agent.db", file=str(tmp_path / "x.memory.yaml"), user="ada",
        ask="Where do I live, and what is my project called?",
        expect={"newest": {"location": "Lisbon"}, "contains": "Apollo"},
    )  # fmt: skip
    report = mutate([(case, {})])
    noticed = {(mutant.memory, mutant.change) for mutant in report.mutants if mutant.noticed}
    assert {("project.name = Apollo", "left out"), ("project.name = Apollo", "contradicted")} <= noticed
    assert {("I live in Lisbon.", "left out"), ("I live in Lisbon.", "contradicted")} <= noticed
    assert [text for _, text in report.untested] == ["My sister is called Mia."]
    assert {mutant.change for mutant in report.mutants} == {"left out", "aged", "duplicated", "contradicted"}
    with Memory(tmp_path / "agent.db", worker=False) as memory:
        assert memory.facts.get("user:ada", "project.name").value == "Apollo"  # type: ignore[union-attr]
