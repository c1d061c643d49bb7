"""Cases of `memorist test`: what they can say and expect, what is reported, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from memorist import Memory
from memorist.checking import Case, check_request, read_cases, run_case
from memorist.checking.running import Options
from tests.cli.conftest import Memorist, memorist

__all__ = ["memorist"]
MOVING = """
defaults: {user: ada}
fixtures:
  lisbon:
    conversation: [I live in Lisbon.]
cases:
  - name: the newest city
    fixture: lisbon
    conversation:
      - user: I moved to Porto.
        at: 2026-02-01
      - assistant: Noted.
    ask: Where do I live?
    expect:
      - newest: {location: Porto}
"""


def failed(**fields: Any) -> list[str]:
    """The expectations of a case that failed."""
    result = run_case(Case(**{"name": "case", "ask": "Where do I live?", **fields}))
    assert result.error is None, result.error
    return [failure.expectation for failure in result.failures]


def test_expectations_hold_and_fail() -> None:
    talk = ["I live in Lisbon.", {"assistant": "Noted."}, {"role": "user", "content": "My sister is called Mia."}]
    good: list[dict[str, Any]] = [
        {"contains": ["Lisbon", "lives in lisbon"]}, {"not_contains": "Porto"}, {"newest": {"location": "Lisbon"}},
        {"source": {"of": "Lives in Lisbon", "message": "I live in Lisbon."}}, {"tokens": {"min": 10, "max": 500}},
        {"sections": ["profile", "input"]}, {"sections": {"history": 0, "memory": {"max": 200}}},
        {"nothing_about": "Bob"}, {"nothing_about": "Mi"},
    ]  # fmt: skip
    bad: list[dict[str, Any]] = [
        {"contains": "Porto"}, {"not_contains": "Lisbon"}, {"newest": {"location": "Porto"}},
        {"source": {"of": "Lives in Lisbon", "message": "My sister"}}, {"tokens": 20}, {"sections": ["history"]},
        {"sections": {"profile": {"max": 1}}}, {"nothing_about": "Mia"},
    ]  # fmt: skip
    assert failed(conversation=talk, expect=good) == []
    assert len(failed(conversation=talk, expect=bad)) == len(bad)


def test_the_newest_value_may_be_spelled_out() -> None:
    talk = ["I live in Lisbon."]
    assert failed(conversation=talk, expect={"newest": {"key": "location", "value": "Lisbon"}}) == []
    expectation = {"newest": {"key": "location", "value": "Porto"}}
    assert failed(conversation=talk, expect=expectation) == ["newest location = Porto"]


def test_the_help_lists_every_expectation_and_names_the_page(memorist: Memorist) -> None:
    from memorist.checking.expectations import KINDS

    text = memorist("test", "--help").out
    assert [kind for kind in KINDS if f"{kind}:" not in text] == [] and "docs/testing-memory.md" in text


def test_a_former_value_that_stands_as_current_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from memorist.engine.sessions.assembly import Assembly

    item = Assembly._item
    talk = ["I live in Lisbon.", "I moved to Porto."]
    assert failed(conversation=talk, expect={"newest": {"location": "Porto"}}) == []
    unmarked = staticmethod(lambda hit: msgspec.structs.replace(item(hit), superseded_by=None))
    monkeypatch.setattr(Assembly, "_item", unmarked)
    assert failed(conversation=talk, expect={"newest": {"location": "Porto"}}) == ["newest location = Porto"]


def test_another_users_memory_is_noticed() -> None:
    talks: list[dict[str, Any]] = [{"user": "ada", "messages": ["I live in Lisbon, near the river."]}]
    expect = {"sees_nothing_of": "ada"}
    assert failed(user="bob", conversations=talks, expect=expect) == []
    leaked = [*talks, {"user": "bob", "messages": ["Ada told me: I live in Lisbon, near the river."]}]
    assert failed(user="bob", conversations=leaked, expect=expect) == ["sees_nothing_of 'ada'"]


def test_a_store_is_copied_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with Memory(path, worker=False) as memory:
        memory.facts.set("user:ada", "location", "Lisbon")
    case = Case(
        name="store", store="agent.db", file=str(tmp_path / "x.memory.yaml"), user="ada", ask="Where do I live?",
        conversation=["I moved to Porto."], expect={"newest": {"location": "Porto"}},
    )  # fmt: skip
    result = run_case(case)
    assert result.status == "passed", result
    with Memory(path, worker=False) as memory:
        assert memory.threads.list("user:ada") == []
    plain = msgspec.structs.replace(case, conversation=(), expect={"contains": "Lisbon"})
    assert run_case(plain).status == "passed"
    missing = run_case(msgspec.structs.replace(plain, store="none.db"))
    assert missing.status == "error" and "no store" in str(missing.error)


def test_keeping_a_store_replaces_no_file_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    with Memory(path, worker=False) as memory:
        memory.facts.set("user:ada", "location", "Lisbon")
    before = path.read_bytes()
    case = Case(
        name="agent", store="agent.db", file=str(tmp_path / "x.memory.yaml"), user="ada", ask="Where do I live?",
        expect={"contains": "Lisbon"},
    )  # fmt: skip
    options = Options(keep=tmp_path)
    assert run_case(case, options=options).status == run_case(case, options=options).status == "passed"
    assert path.read_bytes() == before and (tmp_path / "agent.case.db").exists()
    again = run_case(msgspec.structs.replace(case, store="agent.case.db"), options=options)
    assert again.status == "error" and "keep the copy in another folder" in str(again.error)
    assert (tmp_path / "agent.case.db").exists()


def test_a_failure_without_a_stage_can_be_reproduced_too() -> None:
    case = Case(
        name="case", ask="Where do I live?", conversation=["I live in Lisbon."],
        expect=[{"tokens": 10}, {"sections": ["scratchpad"]}],
    )  # fmt: skip
    tokens, sections = run_case(case).failures
    command = "memorist --url case.case.db context 'Where do I live?' --budget 8000 --user user"
    assert tokens.reproduce == sections.reproduce == (command,)
    assert sections.expectation == "sections scratchpad"


def test_a_request_of_a_memory_in_use_is_checked(tmp_path: Path) -> None:
    with Memory(tmp_path / "agent.db", worker=False) as memory:
        memory.facts.set("user:ada", "location", "Lisbon")
        assert check_request(memory, "Where do I live?", user="ada", expect={"contains": "Lisbon"}) == []
        [failure] = check_request(memory.scope(user="ada"), "Where do I live?", expect={"contains": "Porto"})
        assert failure.stage == "never stored"


def test_a_function_beside_the_file_is_a_fixture(memorist: Memorist, tmp_path: Path) -> None:
    (tmp_path / "filling_for_cases.py").write_text(
        "def fill(memory):\n    memory.facts.set('user:ada', 'location', 'Lisbon')\n", "utf-8"
    )
    case = "{name: a, user: ada, ask: 'My city?', fixture: 'filling_for_cases:fill', expect: {contains: Lisbon}}"
    (tmp_path / "a.memory.yaml").write_text(f"cases: [{case}]", "utf-8")
    assert memorist("test").code == 0
    (tmp_path / "a.memory.yaml").write_text(f"cases: [{case.replace(':fill', ':none')}]", "utf-8")
    ran = memorist("test")
    assert ran.code == 1 and "there is no fixture" in ran.out


def test_recorded_answers_are_replayed_and_missing_ones_are_an_error(tmp_path: Path) -> None:
    from memorist.checking.recorded import RecordedModel
    from memorist.checking.running import Options

    class Live:
        async def complete(self, messages: Any, *, max_tokens: int) -> Any:
            from memorist.ports import Completion

            operation = {"op": "add", "kind": "fact", "text": "The user keeps bees.", "key": "pets", "value": "bees",
                         "m": 1, "quote": "the hives by the barn are mine", "inferred": True}  # fmt: skip
            return Completion(json.dumps({"operations": [operation]}))

    case = Case(
        name="bees", file=str(tmp_path / "bees.memory.yaml"), answers="bees.json", user="ada", ask="What do I keep?",
        conversation=["You know, the hives by the barn are mine."], expect={"contains": "bees"},
    )  # fmt: skip
    absent = run_case(case)
    assert absent.status == "error" and "--record" in str(absent.error)
    assert run_case(case, options=Options(live=Live())).status == "passed"
    rows = json.loads((tmp_path / "bees.json").read_text("utf-8"))["answers"]
    assert rows and rows[0]["answer"]["operations"][0]["value"] == "bees"
    assert run_case(case).status == "passed"
    changed = run_case(msgspec.structs.replace(case, conversation=["Well, the hives by the barn are mine now."]))
    assert changed.status == "error" and "no recorded answer" in str(changed.error)
    assert RecordedModel(tmp_path / "bees.json").missing == []


def test_the_command_reports_and_its_status_says_how_it_ended(memorist: Memorist, tmp_path: Path) -> None:
    (tmp_path / "moving.memory.yaml").write_text(MOVING, "utf-8")
    passed = memorist("test")
    assert passed.code == 0 and "1 passed" in passed.out and "ok    moving.memory.yaml: the newest city" in passed.out
    (tmp_path / "moving.memory.yaml").write_text(MOVING.replace("newest: {location: Porto}", "contains: Ulm"), "utf-8")
    ran = memorist("test", "moving.memory.yaml", "--junit", "build/out.xml")
    assert ran.code == 1 and "never stored: no record that ada can read contains it" in ran.out
    assert "memorist test moving.memory.yaml -k 'the newest city' --keep ." in ran.out
    [case] = ElementTree.parse(tmp_path / "build" / "out.xml").getroot().iter("testcase")
    failure = case.find("failure")
    assert failure is not None and "never stored" in str(failure.get("message"))
    report = memorist("test", "--json").json()
    assert report["failed"] == 1 and report["cases"][0]["failures"][0]["stage"] == "never stored"
    assert report["cases"][0]["reproduce"][0].endswith("-k 'the newest city' --keep .")
    assert memorist("test", "--keep", ".").code == 1
    assert "Porto" in memorist("--url", "the-newest-city.case.db", "facts", "get", "location", "--user", "ada").out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cases: [{name: a, ask: b, expect: [{contain: x}]}]", "no expectation 'contain'"),
        ("cases: [{name: a, ask: b}]", "it has no expectation"),
        ("cases: [{name: a, ask: b, exepct: []}]", "exepct"),
        ("cases: [{name: a, ask: b, conversation: [{bot: x}], expect: {contains: x}}]", "a message is a text"),
        ("cases: [{name: a, ask: b, fixture: none, expect: {contains: x}}]", "no fixture 'none'"),
        ("cases: [{name: a, ask: b, expect: {contains: x}}, {name: A, ask: b, expect: {contains: x}}]", "two cases"),
        ("cases: [{name: a, ask: b, expect: {newest: location}}]", "newest is written `newest: {KEY: VALUE}`"),
        ("cases: [{name: a, ask: b, expect: {newest: {key: {a: b}}}}]", "newest is written"),
        ("cases: [{name: a, ask: b, expect: {source: {of: x}}}]", "source is written"),
        ("cases: [{name: a, ask: b, expect: {tokens: {most: 3}}}]", "tokens is written"),
        ("cases: [{name: a, ask: b, expect: {sections: [profil]}}]", "sections is written"),
        ("cases: [{name: a, ask: b, expect: {contains: {text: x}}}]", "contains is written"),
        ("cases: [{name: a, ask: b, expect: {contains: }}]", "contains is written"),
        ("cases: [{name: a, ask: b, documents: [{txt: x}], expect: {contains: x}}]", "a document has text, title"),
        ("cases: [{name: a, ask: b, conversations: [{talk: [x]}], expect: {contains: x}}]", "a conversation has"),
        (
            "fixtures: {f: {fact: {a: b}}}\ncases: [{name: a, ask: b, fixture: f, expect: {contains: x}}]",
            "the fixture 'f' has user, conversation, conversations, facts, documents, not fact",
        ),
        (
            "cases: [{name: a, ask: b, conversation: [{role: user, content: x, when: y}], expect: {contains: x}}]",
            "a message is a text",
        ),
        (
            "cases: [{name: a, ask: b, others: {bob: [x]}, expect: {contains: x}}]",
            "case 'a' has unknown fields ['others']; use answers, ask, at, budget, continue, conversation,",
        ),
        ("cases: [", "is not YAML"),
        ("nothing: here", "a list `cases`"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(memorist: Memorist, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "wrong.memory.yaml").write_text(text, "utf-8")
    ran = memorist("test")
    assert ran.code == 2 and says in ran.err


def test_no_cases_are_wrong_usage(memorist: Memorist) -> None:
    assert memorist("test").code == 2
    assert memorist("test", "nowhere").code == 2


def test_a_selection_that_matches_no_case_says_so(memorist: Memorist, tmp_path: Path) -> None:
    (tmp_path / "moving.memory.yaml").write_text(MOVING, "utf-8")
    ran = memorist("test", "-k", "weather")
    assert ran.code == 2 and "no case has a name that contains 'weather'; there is 1 case" in ran.err


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.memory.json", '{"cases": [', "a.memory.json is not JSON"),
        ("a.memory.py", "case = []", "a.memory.py: a case file needs a list `cases`"),
        ("a.memory.py", "cases = ['Where do I live?']", "a.memory.py: a case is a `Case` or a mapping of its fields"),
        ("a.memory.py", "cases = [{'name': 'a', 'ask': 'b', 'expekt': {}}]", "unknown fields ['expekt']"),
        ("a.memory.py", "cases = []\n1 / 0", "a.memory.py, line 2: ZeroDivisionError: division by zero"),
        ("a.memory.py", "cases = [", "a.memory.py, line 1: SyntaxError"),
    ],
)
def test_a_wrong_file_in_another_format_is_refused_too(
    memorist: Memorist, tmp_path: Path, name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    ran = memorist("test")
    assert ran.code == 2 and says in ran.err


def test_messages_about_wrong_expectations_are_sentences(memorist: Memorist, tmp_path: Path) -> None:
    for wrong in ("newest: Porto", "sections: [summaries]"):
        (tmp_path / "a.memory.yaml").write_text(f"cases: [{{name: a, ask: b, expect: {{{wrong}}}}}]", "utf-8")
        assert ",," not in memorist("test").err


def test_a_fixture_that_raises_is_an_error_of_its_case_alone(memorist: Memorist, tmp_path: Path) -> None:
    (tmp_path / "raising_fixture.py").write_text("def fill(memory):\n    raise RuntimeError('no data')\n", "utf-8")
    cases = """cases:
  - {name: a, ask: 'My city?', fixture: 'raising_fixture:fill', expect: {contains: Ulm}}
  - {name: b, ask: 'My city?', conversation: [I live in Ulm.], expect: {contains: Ulm}}
"""
    (tmp_path / "a.memory.yaml").write_text(cases, "utf-8")
    ran = memorist("test")
    assert ran.code == 1 and "1 passed, 1 error" in ran.out
    assert "the fixture 'raising_fixture:fill' raised RuntimeError: no data" in ran.out


def test_a_value_that_was_replaced_is_not_called_lost() -> None:
    talk = ["I live in Lisbon.", "I moved to Porto."]
    case = Case(name="case", ask="Where do I live?", conversation=talk, expect={"newest": {"location": "Lisbon"}})
    [failure] = run_case(case).failures
    assert failure.stage is None and failure.message == "the fact says 'Porto', which replaced 'Lisbon'"
    assert failure.reproduce == ("memorist --url case.case.db facts history user:user location --user user",)


def test_a_source_is_named_once() -> None:
    expect = {"source": {"of": "Lisbon", "message": "My dog"}}
    case = Case(name="case", ask="Where do I live?", conversation=["I live in Lisbon."], expect=expect)
    [failure] = run_case(case).failures
    assert failure.message == "it comes from 'I live in Lisbon.'"


def test_cases_in_python_and_json(memorist: Memorist, tmp_path: Path) -> None:
    (tmp_path / "a.memory.py").write_text(
        "from memorist.checking import Case\n"
        "cases = [Case(name='a', ask='My city?', conversation=['I live in Ulm.'], expect={'contains': 'Ulm'})]\n",
        "utf-8",
    )
    case = {"name": "b", "ask": "Where do I live?", "conversation": ["I live in Bonn."], "expect": {"contains": "Bonn"}}
    (tmp_path / "b.memory.json").write_text(json.dumps({"cases": [case]}), "utf-8")
    assert "2 passed" in memorist("test").out
    assert [case.name for case in read_cases(tmp_path / "a.memory.py").cases] == ["a"]


def test_cases_in_python_may_be_mappings(memorist: Memorist, tmp_path: Path) -> None:
    case = {"name": "a", "ask": "My city?", "conversation": ["I live in Ulm."], "expect": {"contains": "Bonn"}}
    (tmp_path / "a.memory.py").write_text(f"cases = [{case!r}]", "utf-8")
    assert "1 failed" in memorist("test").out


def test_snapshots_are_recorded_compared_and_updated(memorist: Memorist, tmp_path: Path) -> None:
    text = MOVING.replace("    expect:\n      - newest: {location: Porto}\n", "    snapshot: true\n")
    (tmp_path / "moving.memory.yaml").write_text(text, "utf-8")
    first = memorist("test")
    assert first.code == 1 and "no request has been recorded yet" in first.out
    assert memorist("test", "--update").code == 0
    assert memorist("test").code == 0
    recorded = tmp_path / "snapshots" / "moving" / "the-newest-city.txt"
    assert "Lives in Porto" in recorded.read_text("utf-8")
    (tmp_path / "moving.memory.yaml").write_text(text.replace("Porto", "Braga"), "utf-8")
    changed = memorist("test")
    assert changed.code == 1 and "-Lives in Porto" in changed.out and "+Lives in Braga" in changed.out
    assert "if it should, run: memorist test moving.memory.yaml -k 'the newest city' --update" in changed.out
    assert "memorist --url the-newest-city.case.db context 'Where do I live?' --budget 8000 --user ada" in changed.out
    assert memorist("test", "--update").code == 0 and "Braga" in recorded.read_text("utf-8")
