"""Names say what a thing is: words that only say that something happened to it are counted, and may not grow."""

import ast
from collections.abc import Iterator
from pathlib import Path

import memorist

SOURCE = Path(memorist.__file__).parent
EMPTY_NAMES = {"found", "made", "given", "said", "told", "kept", "known", "place", "one"}
"""Nouns say more: `rows`, `record`, `options`, `statement`, `retained`, `facts`, `index`, `message`."""
MAX_EMPTY_NAMES = 34
"""How many are left. Lower it when you rename some; it never rises."""


def test_names_that_say_nothing_do_not_grow() -> None:
    count = sum(1 for path in SOURCE.rglob("*.py") for _ in _empty_names(path))
    assert count <= MAX_EMPTY_NAMES, f"{count} names say nothing; call the new ones by what they are"


def test_the_limit_follows_the_count() -> None:
    """A limit far above the count would let new ones in."""
    count = sum(1 for path in SOURCE.rglob("*.py") for _ in _empty_names(path))
    assert count > MAX_EMPTY_NAMES - 50, f"lower MAX_EMPTY_NAMES to {count}"


def _empty_names(path: Path) -> Iterator[str]:
    """The functions, parameters and variables of a module that have such a name."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
                pass
            case ast.Name(id=name, ctx=ast.Store()):
                pass
            case _:
                continue
        if name.strip("_") in EMPTY_NAMES:
            yield name
