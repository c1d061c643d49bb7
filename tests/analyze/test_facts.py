"""Facts about code: typing, guards, call graph, reachability, use."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist_analyze import words
from memorist_analyze.records import Function
from memorist_analyze.world import World

from .reading import analyzed


def world(root: Path, files: dict[str, str]) -> World:
    return analyzed(root, files).world


def function(checkout: World, symbol: str) -> Function:
    return next(f for f in checkout.functions if f.symbol == symbol)


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("messages", 2), ("chatHistory", 2), ("messages_to_flush", 2), ("historyWithTokens", 2), ("message_list", 2),
        ("events", 1), ("history_window", 1), ("error_messages", 0), ("undo_history", 0), ("message", 0),
        ("message_count", 0), ("users", 0),
    ],
)  # fmt: skip
def test_a_name_says_how_much_it_is_a_list_of_messages(name: str, score: int) -> None:
    assert words.name_likeness(name) == score


@pytest.mark.parametrize(
    ("annotation", "score"),
    [("list[ChatMessage]", 2), ("Message[]", 2), ("Optional[List[BaseMessage]]", 2), ("str", 0), ("list[int]", 0)],
)
def test_an_annotation_says_it_too(annotation: str, score: int) -> None:
    assert words.type_likeness(annotation) == score


@pytest.mark.parametrize(
    ("callee", "is_call"),
    [
        ("self.llm.chat", True), ("litellm.completion", True), ("client.chat.completions.create", True),
        ("client.messages.create", True), ("model.generate_content", True), ("handler.createMessage", True),
        ("self.summary_agent.run", True), ("summarization_agent", True), ("kernel.get_chat_message_content", True),
        ("agent.stream", True), ("this.llm.stream", True), ("client.stream", False), ("response.stream", False),
        ("self.db.create", False), ("get_model", False), ("server.run", False), ("thread.run", False),
        ("messages.append", False), ("self.model.validate", False),
    ],
)  # fmt: skip
def test_calls_of_language_models_are_told_from_others(callee: str, is_call: bool) -> None:
    assert words.is_model_call(callee) is is_call


def test_a_model_call_is_reached_through_other_functions(tmp_path: Path) -> None:
    checkout = world(
        tmp_path, {"a.py": "def one():\n    two()\n\ndef two():\n    three()\n\ndef three():\n    llm.chat(x)\n"}
    )
    assert [checkout.model_depth[function(checkout, n).key] for n in ("three", "two", "one")] == [0, 1, 2]
    assert [(f.symbol, line) for f, line in checkout.model_path(function(checkout, "one"))] == [
        ("one", 2), ("two", 5), ("three", 8),
    ]  # fmt: skip


def test_self_calls_resolve_to_the_class_its_bases_and_subclasses_but_not_siblings(tmp_path: Path) -> None:
    source = """
class Base:
    def run(self):
        self.step()

class Left(Base):
    def step(self):
        pass

    def go(self):
        self.step()

class Right(Base):
    def step(self):
        pass
"""
    checkout = world(tmp_path, {"a.py": source})
    called = {f.symbol for _, f in checkout.callees[function(checkout, "Base.run").key]}
    assert called == {"Left.step", "Right.step"}
    assert {f.symbol for _, f in checkout.callees[function(checkout, "Left.go").key]} == {"Left.step"}


def test_a_generic_method_name_resolves_only_by_what_it_is_called_on(tmp_path: Path) -> None:
    source = """
class Block:
    def put(self):
        pass

class Other:
    def put(self):
        pass

class User:
    def use(self, block, thing):
        block.put()
        thing.put()
"""
    checkout = world(tmp_path, {"a.py": source})
    assert {f.symbol for _, f in checkout.callees[function(checkout, "User.use").key]} == {"Block.put"}


def test_an_early_return_guards_what_follows(tmp_path: Path) -> None:
    source = """
def apply(messages, max_tokens):
    if count_tokens(messages) <= max_tokens:
        return messages
    return messages[-size:]
"""
    checkout = world(tmp_path, {"memory/a.py": source})
    effects = [e for e in function(checkout, "apply").effects if e.kind == "slice"]
    assert effects[0].guards == ("token_count",)


def test_a_test_for_emptiness_is_no_limit(tmp_path: Path) -> None:
    checkout = world(
        tmp_path, {"memory/a.py": "def f(messages):\n    if len(messages) > 0:\n        messages.pop(0)\n"}
    )
    assert function(checkout, "f").guards == []


def test_an_error_handler_for_overflow_is_a_guard(tmp_path: Path) -> None:
    source = """
def f(self):
    try:
        self.llm.chat(self.messages)
    except ContextWindowExceededError:
        self.messages = self.messages[-size:]
"""
    checkout = world(tmp_path, {"memory/a.py": source})
    assert [e.guards for e in function(checkout, "f").effects if e.kind == "slice"] == [("overflow_error",)]


@pytest.mark.parametrize(
    ("body", "flow"),
    [
        ("return messages[-n:]", "returned"),
        ("self.messages = messages[-n:]", "replaced"),
        ("recent = messages[-n:]\n    return View(events=recent)", "returned"),
        ("recent = messages[-n:]\n    return len(recent)", "read"),
        ("recent = messages[-n:]\n    return self.llm.chat(recent)", "model"),
        ("return embed(messages[-n:])", "passed:embed"),
        ("kept = []\n    for m in messages[-n:]:\n        kept.append(m)\n    return kept", "returned"),
        ("if messages[-n:] == seen:\n        return True", "read"),
    ],
)
def test_the_fate_of_a_slice_is_followed(body: str, flow: str, tmp_path: Path) -> None:
    checkout = world(tmp_path, {"memory/a.py": f"def f(self, messages, n):\n    {body}\n"})
    effects = [e for e in function(checkout, "f").effects if e.kind == "slice"]
    assert effects[0].flow == flow


def test_a_slice_by_the_lists_own_length_is_the_whole_list(tmp_path: Path) -> None:
    checkout = world(tmp_path, {"memory/a.py": "def f(messages):\n    n = len(messages)\n    return messages[-n:]\n"})
    assert function(checkout, "f").effects == []


def test_a_function_nobody_uses_is_not_wired(tmp_path: Path) -> None:
    files = {"a.py": "def used():\n    pass\n\ndef unused():\n    pass\n", "b.py": "from a import used\nused()\n"}
    checkout = world(tmp_path, files)
    assert checkout.is_wired(function(checkout, "used"))
    assert not checkout.is_wired(function(checkout, "unused"))


def test_use_in_tests_does_not_wire(tmp_path: Path) -> None:
    files = {"a.py": "class Trimmer:\n    def trim(self):\n        pass\n", "tests/test_a.py": "Trimmer().trim()\n"}
    checkout = world(tmp_path, files)
    assert not checkout.is_wired(function(checkout, "Trimmer.trim"))


def test_a_name_in_a_table_of_lazy_imports_wires(tmp_path: Path) -> None:
    source = "class Base:\n    pass\n\nclass Trimmer(Base):\n    def trim(self):\n        pass\n"
    checkout = world(tmp_path, {"a.py": source, "__init__.py": "LAZY = {'Trimmer': 'a'}\n"})
    assert checkout.is_wired(function(checkout, "Trimmer.trim"))


@pytest.mark.parametrize("callee", ["self.chat_generator.run", "prompt_driver.run", "_chat_complete", "self.llm.aask"])
def test_parts_named_for_a_model_are_model_calls(callee: str) -> None:
    assert words.is_model_call(callee)


@pytest.mark.parametrize(
    "callee", ["self.id_generator.run", "web_driver.run", "driver.execute", "report_generator.run"]
)
def test_other_generators_and_drivers_are_not_model_calls(callee: str) -> None:
    assert not words.is_model_call(callee)


def test_a_call_that_takes_messages_and_a_system_prompt_is_a_model_call() -> None:
    assert words.is_asked_like_a_model("engine.step", ("system_prompt", "history"))
    assert not words.is_asked_like_a_model("engine.step", ("history",))
    assert not words.is_asked_like_a_model("engine.log", ("system_prompt", "history"))


def test_what_is_drawn_is_set_aside() -> None:
    assert words.draws_ui("web/src/components/thread/Viewport.tsx")
    assert not words.draws_ui("src/components/memory/window.py")
