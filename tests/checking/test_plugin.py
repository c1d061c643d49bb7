"""The pytest plugin: in a fresh project with nothing but the built wheel, and light where it is not used."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = """
cases:
  - name: the city is sent
    conversation: [I live in Lisbon.]
    ask: Where do I live?
    expect: {contains: Lisbon}
  - name: the request is recorded
    conversation: [I live in Lisbon.]
    ask: Where do I live?
    snapshot: true
"""
TESTS = """
def test_a_case_by_its_fields(memorist_case):
    memorist_case(conversation=["I live in Lisbon."], ask="Where do I live?", expect={"contains": "Lisbon"})


def test_a_request_of_a_memory(memorist_memory, memorist_clock, memorist_request):
    memorist_memory.facts.set("user:ada", "location", "Lisbon")
    memorist_clock.advance(60)
    memorist_request(memorist_memory, "Where do I live?", user="ada", expect={"contains": "Lisbon"})


def test_that_fails(memorist_case):
    memorist_case(conversation=["I live in Lisbon."], ask="Where do I live?", expect={"contains": "Porto"})
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the built wheel, what it needs, pytest and PyYAML; nothing of these sources."""
    folder = tmp_path_factory.mktemp("fresh")
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True)
    [wheel] = folder.glob("memorist-*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    [site] = (folder / "venv").glob("lib/python*/site-packages")
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    for needed in needs_of(["memorist", "pytest", "PyYAML"]):
        link_files(needed, site)
    return folder / "venv" / "bin" / "python"


def needs_of(names: list[str]) -> list[Distribution]:
    """The distributions behind requirements, but for Memorist itself and what only extras need."""
    needs: dict[str, Distribution] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name.lower() in needs:
            continue
        try:
            needs[name.lower()] = distribution(name)
        except ModuleNotFoundError:
            continue  # needed on another system or an older Python only
        lines = [line for line in needs[name.lower()].requires or () if "extra ==" not in line]
        waiting += [re.split(r"[^\w.-]", line)[0] for line in lines]
    return [needs[name] for name in needs if name != "memorist"]


def link_files(needed: Distribution, site: Path) -> None:
    for top in {file.parts[0] for file in needed.files or () if file.parts[0] not in ("..", "__pycache__")}:
        target = Path(str(needed.locate_file(top)))
        if target.exists() and not (site / top).exists():
            (site / top).symlink_to(target)


def run_pytest(python: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(python), "-m", "pytest", "-W", "error", "-p", "no:cacheprovider", *options]
    # Neither these sources nor the settings of this run may be seen.
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
    return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)


def test_cases_and_fixtures_work_in_a_fresh_project(python: Path, tmp_path: Path) -> None:
    (tmp_path / "city.memory.yaml").write_text(CASES, "utf-8")
    (tmp_path / "test_memory.py").write_text(TESTS, "utf-8")
    # A conftest may name the plugin too, as one does whose project is run from its sources.
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["memorist.checking.plugin"]\n', "utf-8")
    first = run_pytest(python, tmp_path)
    assert first.returncode == 1, first.stdout + first.stderr
    assert "2 failed, 3 passed" in first.stdout and "no request has been recorded yet" in first.stdout
    assert "never stored: no record that user can read contains it" in first.stdout and "Traceback" not in first.stdout
    assert "city.memory.yaml" in first.stdout
    assert "plugin.py" not in first.stdout
    assert f"pytest {tmp_path}/test_memory.py -k test_that_fails --memorist-keep ." in first.stdout
    run_pytest(python, tmp_path, "test_memory.py", "-k", "test_that_fails", "--memorist-keep", "stores")
    assert [path.name for path in (tmp_path / "stores").glob("*.db")] == ["test-that-fails.case.db"]
    run_pytest(python, tmp_path, "--memorist-update", "city.memory.yaml")
    assert (tmp_path / "snapshots" / "city" / "the-request-is-recorded.txt").exists()
    again = run_pytest(python, tmp_path, "-k", "not fails")
    assert again.returncode == 0 and "4 passed" in again.stdout, again.stdout
    command = [str(python.parent / "python"), "-m", "memorist", "test", "."]
    ran = subprocess.run(command, cwd=tmp_path, env={"PATH": "/usr/bin"}, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and "2 passed" in ran.stdout, ran.stdout + ran.stderr


def test_an_invalid_case_file_is_reported_without_a_traceback(python: Path, tmp_path: Path) -> None:
    (tmp_path / "city.memory.yaml").write_text("cases: [{name: a, ask: b, expekt: {}}]", "utf-8")
    ran = run_pytest(python, tmp_path)
    assert ran.returncode == 2 and "case 'a' has unknown fields ['expekt']" in ran.stdout
    assert "reading.py" not in ran.stdout, ran.stdout


def test_a_project_without_cases_loads_nothing(python: Path, tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n\ndef test_nothing_is_loaded():\n"
        "    assert 'memorist.checking.plugin' in sys.modules\n"
        "    heavy = {'numpy', 'apsw', 'yaml', 'msgspec', 'memorist.checking.running', 'memorist.blocking.memory'}\n"
        "    assert not heavy & set(sys.modules)\n",
        "utf-8",
    )
    ran = run_pytest(python, tmp_path)
    assert ran.returncode == 0, ran.stdout


def test_help_does_not_import_the_runner() -> None:
    program = (
        "import sys\nfrom memorist.cli.main import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "assert not [name for name in sys.modules if name.startswith('memorist.checking')]"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
