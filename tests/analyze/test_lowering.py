"""Both languages become one tree."""

from __future__ import annotations

import pytest

from memorist_analyze.parse import parse
from memorist_analyze.syntax import Node, spelled, walk_all


def statements(source: str, language: str = "python") -> list[str]:
    return [spelled(n) for n in parse("x", language, source.encode()).root.kids]


def first(source: str, kind: str, language: str = "python") -> Node:
    return next(n for n in walk_all(parse("x", language, source.encode()).root) if n.kind == kind)


@pytest.mark.parametrize(
    ("python", "script"),
    [
        ("messages[-n:]", "messages.slice(-n)"),
        ("messages[a:b]", "messages.slice(a, b)"),
        ("len(messages)", "messages.length"),
        ("messages.append(m)", "messages.push(m)"),
        ("messages.pop(0)", "messages.shift()"),
        ("self.messages", "this.messages"),
        ("head + tail", "head.concat(tail)"),
        ("[a, *b]", "[a, ...b]"),
        ("x = y", "const x = y"),
        ("n -= 1", "n--"),
    ],
)
def test_an_idiom_is_spelled_the_same_in_both_languages(python: str, script: str) -> None:
    assert statements(python) == statements(script, "typescript")


@pytest.mark.parametrize("language", ["typescript", "tsx", "javascript"])
def test_filter_with_an_arrow_is_a_comprehension(language: str) -> None:
    node = first("const kept = messages.filter((m) => m.role !== 'system')", "comp", language)
    assert spelled(node.kids[2]) == "messages"
    assert node.kids[3].kind == "cond_filter"


def test_docstrings_and_comments_leave_no_trace() -> None:
    source = '''
def f():
    """Summarise the messages with tiktoken."""
    # drop the oldest
    return 1
'''
    text = repr(parse("x", "python", source.encode()).root)
    assert "tiktoken" not in text and "oldest" not in text


def test_a_function_keeps_its_parameters_annotations_and_end() -> None:
    head = first("def f(a, b: list[Message] = None, *c, d=1) -> int:\n    pass\n", "func").head
    assert head is not None
    assert [(p.name, p.annotation, p.default) for p in head.params] == [
        ("a", "", ""), ("b", "list[Message]", "None"), ("c", "", ""), ("d", "", "1"),
    ]  # fmt: skip
    assert (head.returns, head.end_line) == ("int", 2)


def test_typescript_parameters_keep_their_types() -> None:
    head = first("function f(a: Message[], {b, c}: P, d = 3): number { return 1 }", "func", "typescript").head
    assert head is not None
    assert [(p.name, p.annotation) for p in head.params] == [("a", "Message[]"), ("b", ""), ("c", ""), ("d", "")]
    assert head.returns == "number"


def test_an_arrow_assigned_to_a_name_is_a_function() -> None:
    assert first("export const trim = (m: Message[]) => m.slice(-3)", "func", "typescript").text == "trim"


def test_elif_chains_nest() -> None:
    node = first("if a:\n    x\nelif b:\n    y\nelse:\n    z\n", "if")
    inner = node.kids[2].kids[0]
    assert (spelled(node.kids[0]), inner.kind, spelled(inner.kids[0])) == ("a", "if", "b")
    assert spelled(inner.kids[2].kids[0]) == "z"


def test_a_counting_loop_knows_which_way_it_goes() -> None:
    assert first("for (let i = n; i >= 0; i--) { f(i) }", "while", "typescript").text == "down"
    assert first("for (let i = 0; i < n; i++) { f(i) }", "while", "typescript").text == "up"


def test_a_file_that_is_mostly_broken_says_so() -> None:
    unit = parse("x.py", "python", b"def (((\n)) class = = =\n" * 20)
    assert unit.errors > 0


def test_a_file_with_a_small_error_is_still_read() -> None:
    source = "def f(messages):\n    return messages[-n:]\n" * 20 + "x = = 1\n"
    assert parse("x.py", "python", source.encode()).errors == 0


def test_bytes_that_are_not_utf8_do_not_stop_reading() -> None:
    assert statements("x = '\udcff'".encode("utf-8", "surrogateescape").decode("latin-1")) != []


def test_a_minified_bundle_is_not_read() -> None:
    unit = parse("x.js", "javascript", b"function f(m){return m.slice(-n)};" * 2000)
    assert unit.errors > 0


def test_a_filter_with_a_body_reads_like_a_comprehension() -> None:
    node = first("const x = xs.filter((y) => { return y.a })", "comp", "typescript")
    assert spelled(node.kids[2]) == "xs"
    assert node.kids[3].kind == "cond_filter"
