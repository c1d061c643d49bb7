"""What the package imports, where, and how large its modules are."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import recollect

SOURCE = Path(recollect.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = ("numpy", "apsw", "psycopg", "redis", "click", "rich", "wordllama", "splintr", "httpx", "asyncio",
         "tree_sitter", "openai", "anthropic",
         "simsimd", "safetensors", "pytest", "opentelemetry", "snowballstemmer", "tokenizers")  # fmt: skip
# Lower may not import higher: facades -> engine -> context, recall, stores -> records.
LAYERS = {
    "records.py": 0,
    "scope.py": 0,
    "values.py": 0,
    "errors.py": 0,
    "ports.py": 0,
    "stores": 1,
    "engine": 2,
    "memory.py": 3,
}


def _name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def _imported(path: Path) -> set[str]:
    """The first names of all absolute imports in a module."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


def _loaded_by(code: str) -> set[str]:
    """The modules that running some code leaves loaded."""
    script = f"{code}\nimport sys; print(' '.join({{name.split('.')[0] for name in sys.modules}}))"
    env = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env)
    return set(done.stdout.split())


def test_asyncio_is_imported_by_the_runtime_alone() -> None:
    loops = {"asyncio", "trio", "uvloop"}
    importing = {_name(path) for path in MODULES if _imported(path) & loops}
    assert "loop_runtime.py" in importing
    assert {name for name in importing if not name.startswith("testing")} == {"loop_runtime.py"}


def test_no_module_is_longer_than_one_can_read() -> None:
    assert [_name(path) for path in MODULES if len(path.read_text("utf-8").splitlines()) > 600] == []


def test_every_module_begins_by_saying_what_it_is() -> None:
    sources = {_name(path): path.read_text("utf-8") for path in MODULES}
    assert [name for name, text in sources.items() if text.strip() and not ast.get_docstring(ast.parse(text))] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}
    assert [_name(path) for path in MODULES if path.stem in empty] == []


def test_importing_the_package_loads_nothing_slow() -> None:
    assert not _loaded_by("import recollect") & set(HEAVY)


def test_a_memory_in_ram_loads_no_driver_and_no_model() -> None:
    code = "from recollect import Fact, Thread, Message, Memory, Namespace, RecollectError"
    assert not _loaded_by(code) & set(HEAVY)


def test_a_memory_on_sqlite_loads_no_server_driver(tmp_path: Path) -> None:
    code = (
        f"from recollect import Memory\nm = Memory({str(tmp_path / 'm.db')!r}, worker=False)\n"
        "m.facts.set('global', 'k', 1)\nm.close()"
    )
    unwanted = {"psycopg", "redis", "click", "rich", "httpx", "openai", "anthropic", "wordllama", "tree_sitter"}
    assert not _loaded_by(code) & unwanted


def test_every_public_name_can_be_imported() -> None:
    for name in recollect.__all__:
        assert getattr(recollect, name) is not None
    with pytest.raises(AttributeError):
        recollect.nothing_of_the_sort  # noqa: B018


def test_importing_opens_and_sends_nothing() -> None:
    code = (
        "import sys, socket\n"
        "def audit(event, args):\n"
        "    if event in ('socket.connect', 'sqlite3.connect', 'subprocess.Popen'):\n"
        "        raise SystemExit(f'{event} on import')\n"
        "sys.addaudithook(audit)\n"
        "import recollect, recollect.memory, recollect.cli.main"
    )
    assert "recollect" in _loaded_by(code)


def test_imports_point_downwards() -> None:
    layered = [path for path in MODULES if path.relative_to(SOURCE).parts[0] in LAYERS]
    assert len(layered) > 20
    assert [found for path in layered for found in _upwards(path)] == []


def _upwards(path: Path) -> list[str]:
    parts = path.relative_to(SOURCE).parts
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            target = ".".join([*parts[: len(parts) - node.level], *(node.module or "").split(".")]).strip(".")
            first = target.split(".")[0]
            if LAYERS.get(first, LAYERS.get(f"{first}.py", 0)) > LAYERS[parts[0]]:
                found.append(f"{_name(path)} imports {target}")
    return found
