"""Every public name says what it does; every method of a noun shows an example, and the examples are true."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
import re
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import memorist
import memorist.blocking
import memorist.types
from memorist import Memory
from memorist.types import NothingLasts

NOUNS = {
    "memory": "Memory",
    "facts": "Facts",
    "threads": "Threads",
    "profile": "Profile",
    "learnings": "Learnings",
    "working": "WorkingMemory",
    "entities": "Entities",
    "state": "State",
    "documents": "Documents",
    "records": "Records",
    "tasks": "Tasks",
    "audit": "Audit",
    "jobs": "Jobs",
    "session": "Session",
}


def methods() -> Iterator[tuple[str, Any]]:
    """The public methods of the blocking nouns, which are made from the async ones, docstrings included."""
    for module, name in [*NOUNS.items(), ("tasks", "TaskRun")]:
        noun = getattr(import_module(f"memorist.blocking.{module}"), name)
        for method, value in vars(noun).items():
            if not method.startswith("_") and inspect.isfunction(value):
                yield f"{name}.{method}", value


def test_every_public_name_says_what_it_is() -> None:
    homes = (memorist, memorist.types)
    named = {name: getattr(home, name) for home in homes for name in home.__all__ if name != "__version__"}
    aliases = {"Clock"}  # a type written out; what stands for it is in the docs of `Memory`
    silent = [n for n, value in named.items() if n not in aliases and not (value.__doc__ or "").strip()]
    for name, value in named.items():
        if inspect.isclass(value):
            silent += [
                f"{name}.{method}"
                for method, member in vars(value).items()
                if not method.startswith("_")
                and (inspect.isfunction(member) or isinstance(member, property))
                and not (inspect.getdoc(getattr(value, method)) or "").strip()
            ]
    assert silent == []


@pytest.mark.parametrize(("name", "method"), list(methods()), ids=lambda value: value if isinstance(value, str) else "")
def test_the_example_of_a_method_is_true(
    name: str, method: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    doc = inspect.getdoc(method) or ""
    test = doctest.DocTestParser().get_doctest(doc, {}, name, None, None)
    assert test.examples, f"{name} shows no example"
    warnings.simplefilter("ignore", NothingLasts)
    memory = Memory("memory://", worker=False)
    memory.threads.create("user:ada", id="talk")
    memory.threads.append("talk", "I live in Lisbon.", {"role": "assistant", "content": "Noted."})
    test.globs = {"memory": memory, "Memory": Memory}
    failures: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=failures.append)
    memory.close()
    assert failures == [], "".join(failures)


def blocking_methods() -> Iterator[tuple[str, Any]]:
    """Every public method of every blocking class, also of those without examples."""
    for module in pkgutil.iter_modules(memorist.blocking.__path__, "memorist.blocking."):
        for owner in vars(import_module(module.name)).values():
            if inspect.isclass(owner) and owner.__module__ == module.name:
                for name, value in vars(owner).items():
                    if not name.startswith("_") and inspect.isfunction(value):
                        yield f"{owner.__name__}.{name}", value


def undocumented(method: Any) -> list[str]:
    """The parameters, the result and the errors that a docstring does not mention."""
    doc = inspect.getdoc(method) or ""
    signature = inspect.signature(method)
    parameters = [name for name in signature.parameters if name != "self"]
    arguments = doc.partition("Args:")[2]
    missing = [name for name in parameters if not re.search(rf"^\s+\**{name}:", arguments, re.MULTILINE)]
    if str(signature.return_annotation) != "None" and "Returns:" not in doc:
        missing.append("Returns")
    if "expect" in parameters and "Conflict:" not in doc:
        missing.append("Conflict")
    if "ns" in parameters and "Raises:" not in doc:
        missing.append("Raises")
    return missing


def test_every_method_documents_its_arguments_its_result_and_its_errors() -> None:
    methods = list(blocking_methods())
    assert len(methods) > 100
    assert {name: missing for name, method in methods if (missing := undocumented(method))} == {}


def test_the_check_finds_a_missing_argument_result_and_error() -> None:
    def bare(self: object, ns: str, key: str, *, expect: int | None = None) -> str:
        """Return something.

        Args:
            ns: The namespace.
        """

    assert undocumented(bare) == ["key", "expect", "Returns", "Conflict", "Raises"]


@pytest.mark.parametrize("noun", [noun for noun in NOUNS if noun not in ("memory", "session")])
def test_the_page_of_names_lists_every_method(noun: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "index.md").read_text("utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| [`{noun}`]"))
    named = set(row.replace("`", " ").replace(";", " ").split())
    method_names = {name.partition(".")[2] for name, _ in methods() if name.partition(".")[0] == NOUNS[noun]}
    assert method_names - named == set()
