"""What the package imports, where, and how large its modules are."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import memorist
import memorist.types

SOURCE = Path(memorist.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = ("numpy", "apsw", "psycopg", "redis", "click", "rich", "wordllama", "splintr", "httpx", "asyncio",
         "tree_sitter", "openai", "anthropic",
         "simsimd", "safetensors", "pytest", "opentelemetry", "snowballstemmer", "tokenizers")  # fmt: skip
# A part imports itself and parts with a smaller number: facades -> engine -> context -> recall, stores -> records.
LAYERS = {
    "": 0, "errors": 0,
    "filters": 1, "ids": 1, "languages": 1, "ports": 1, "runtime": 1, "telemetry": 1,
    "text_pieces": 0,
    "backoff": 0, "extras": 0, "lazy": -1, "types": 0, "ordered_keys": 1, "typed": 1, "values": 0.5,
    "dates": 2, "records": 2, "scope": 2,
    "messages": 3,
    "kinds": 4,
    "embed": 5, "models": 5, "stores": 5,
    "gate": 5.2,
    "recall": 5.5,
    "context": 6, "extract": 6,
    "engine": 7, "part_checks": 7,
    "exporting": 8, "importing": 8, "protocol": 8.2, "remote": 8.4, "opening": 8.6,
    "memory": 9, "running": 9, "read_back": 9, "tool_finder": 10,
    "redteam": 10.5, "checking": 10.5, "agents": 11,
    "mcp": 12, "server": 12,
    "adapters": 14, "wrapping": 14.5, "cli": 15, "testing": 2,
    "__main__": 16,
}  # fmt: skip
# The blocking memory is generated from the awaited one; each can hand out the other.
ONE_PART = {"loop_runtime": "runtime", "blocking": "memory"}


def _name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def _imported(path: Path) -> set[str]:
    """The first names of all absolute imports in a module."""
    packages: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            packages |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            packages.add(node.module.split(".")[0])
    return packages


def _loaded_by(code: str) -> set[str]:
    """The modules that running some code leaves loaded."""
    script = f"{code}\nimport sys; print(' '.join({{name.split('.')[0] for name in sys.modules}}))"
    env = {**os.environ, "PYTHONWARNINGS": "error"}
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env)
    return set(process.stdout.split())


def test_asyncio_is_imported_by_the_runtime_alone() -> None:
    loops = {"asyncio", "trio", "uvloop"}
    importing = {_name(path) for path in MODULES if _imported(path) & loops}
    assert "loop_runtime.py" in importing
    assert importing == {"loop_runtime.py", "server/lane.py"}  # the server's second loop


def test_every_module_begins_by_saying_what_it_is() -> None:
    sources = {_name(path): path.read_text("utf-8") for path in MODULES}
    assert [name for name, text in sources.items() if text.strip() and not ast.get_docstring(ast.parse(text))] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}
    assert [_name(path) for path in MODULES if path.stem in empty] == []


@pytest.mark.parametrize(
    "module",
    [
        "memorist.server.app", "memorist.server.api", "memorist.remote.core", "memorist.mcp.server",
        "memorist.mcp.http",
        "memorist.protocol.operations", "memorist.cli.serve", "memorist.engine.recalling", "memorist.recall.hits",
    ],
)  # fmt: skip
def test_a_way_in_can_be_the_first_module_that_is_imported(module: str) -> None:
    """Modules that import each other fail only in one order, and the tests' order is not that of a command."""
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)


def test_importing_the_package_loads_nothing_slow() -> None:
    assert not _loaded_by("import memorist") & set(HEAVY)


def test_a_memory_in_ram_loads_no_driver_and_no_model() -> None:
    code = "from memorist import Fact, Thread, Message, Memory, Namespace, MemoristError"
    assert not _loaded_by(code) & set(HEAVY)


def _newly_loaded_by(code: str) -> list[str]:
    """The modules, by their full names, that running some code loads beyond those of a bare Python."""
    script = f"import sys\nbare = set(sys.modules)\n{code}\nprint(*set(sys.modules) - bare)"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()


def test_importing_memory_loads_only_what_opening_one_needs() -> None:
    """Contexts, languages, chunking and OpenSSL's hashes would take as long again as all that is loaded."""
    late = ("memorist.context", "memorist.languages", "memorist.extract", "memorist.stores.sqlite")
    late += ("memorist.engine.documents.chunking", "hashlib", "json", "logging", "pathlib", "tomllib")
    loaded = _newly_loaded_by("from memorist import Memory")
    assert "memorist.engine.facts.facts" in loaded
    assert [name for name in loaded if name.startswith(late)] == []


def test_counting_the_tokens_of_a_message_loads_no_assembly() -> None:
    late = ("memorist.context.assemble", "memorist.languages")
    assert [name for name in _newly_loaded_by("import memorist.context.measure") if name.startswith(late)] == []


def test_the_help_of_the_command_line_loads_no_engine() -> None:
    code = "import sys\nfrom memorist.cli.main import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass"
    script = f"{code}\nprint([name for name in sys.modules if name.startswith('memorist.engine')])"
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout.splitlines()[-1] == "[]"


def test_a_memory_on_sqlite_loads_no_server_driver(tmp_path: Path) -> None:
    code = (
        f"from memorist import Memory\nm = Memory({str(tmp_path / 'm.db')!r}, worker=False)\n"
        "m.facts.set('global', 'k', 1)\nm.close()"
    )
    unwanted = {"psycopg", "redis", "click", "rich", "httpx", "openai", "anthropic", "wordllama", "tree_sitter"}
    assert not _loaded_by(code) & unwanted


def test_every_public_name_can_be_imported() -> None:
    for home in (memorist, memorist.types):
        for name in home.__all__:
            assert getattr(home, name) is not None
    assert len(memorist.__all__) <= 66
    with pytest.raises(AttributeError):
        memorist.nothing_of_the_sort  # noqa: B018


def test_importing_opens_and_sends_nothing() -> None:
    code = (
        "import sys, socket\n"
        "def audit(event, args):\n"
        "    if event in ('socket.connect', 'sqlite3.connect', 'subprocess.Popen'):\n"
        "        raise SystemExit(f'{event} on import')\n"
        "sys.addaudithook(audit)\n"
        "import memorist, memorist.memory, memorist.cli.main"
    )
    assert "memorist" in _loaded_by(code)


def test_imports_point_downwards() -> None:
    """In every place, inside functions too; only what type checkers alone read may name what is above."""
    upwards = [
        f"{module or '__init__'} imports {target}"
        for module in GRAPH
        for target in _imports(module, everywhere=True)
        if _part(target) != _part(module) and LAYERS[_part(target)] >= LAYERS[_part(module)]
    ]
    assert upwards == []


def test_nothing_is_imported_by_a_name_in_a_text_to_get_around_the_layers() -> None:
    """Only tables of lazy names may: stores by URL, commands of the CLI, public names.

    Clients of providers are other people's packages.
    """
    lazy = {"stores/opening.py", "cli/main.py", "lazy.py"}
    clients = {"wrapping/clients.py"}
    assert {_name(path) for path in MODULES if "import_module" in path.read_text("utf-8")} == lazy | clients


def test_no_module_imports_itself_through_others() -> None:
    remaining = {module: _imports(module, everywhere=False) for module in GRAPH}
    while free := [module for module, targets in remaining.items() if not targets & remaining.keys()]:
        remaining = {module: targets for module, targets in remaining.items() if module not in free}
    assert remaining == {}


def _module(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


GRAPH = {_module(path): path for path in MODULES}


def _part(module: str) -> str:
    first = module.split(".")[0]
    return ONE_PART.get(first, first)


def _imports(module: str, *, everywhere: bool) -> set[str]:
    """The modules of ours that one imports: when it is itself imported, or anywhere in it."""
    tree = ast.parse(GRAPH[module].read_text("utf-8"))
    apart = [node for node in ast.walk(tree) if _for_type_checkers(node) or (not everywhere and _is_function(node))]
    skipped = {id(inner) for node in apart for inner in ast.walk(node)}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and id(node) not in skipped]
    return {target for node in nodes for target in _targets(module, node)} - {module}


def _for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _targets(module: str, node: ast.ImportFrom) -> set[str]:
    if node.level:
        package = module.split(".") if module else []
        up = node.level - (GRAPH[module].name == "__init__.py")
        home = [*package[: len(package) - up], *([node.module] if node.module else [])]
    elif (node.module or "").split(".")[0] == "memorist":
        home = (node.module or "").split(".")[1:]
    else:
        return set()
    named = {alias.name: ".".join([*home, alias.name]) for alias in node.names}
    return {target if target in GRAPH else ".".join(home) for target in named.values()}
