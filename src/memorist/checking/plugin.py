"""Implements the pytest plugin, which collects `*.memory.yaml` files as tests and provides fixtures for tests in
Python.

pytest loads this module in every environment that has Memorist, so it imports nothing until a case or a fixture is
used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .. import Memory
    from ..testing import FakeClock
    from .cases import Case
    from .reading import CaseFile
    from .running import Options

ENDINGS = (".memory.yaml", ".memory.yml", ".memory.json")
"""The suffixes of case files' names. `.memory.py` is left to pytest's own tests in Python."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options `--memorist-update` and `--memorist-keep`."""
    group = parser.getgroup("memorist", "tests of memory")
    group.addoption(
        "--memorist-update", action="store_true", help="Record new snapshots of the requests of memory cases."
    )
    group.addoption("--memorist-keep", metavar="FOLDER", help="Keep the store of each memory case in this folder.")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect case files by their names."""
    return Cases.from_parent(parent, path=file_path) if file_path.name.endswith(ENDINGS) else None


class CheckFailed(Exception):
    """Raised if a case fails. The message is the report of the case."""


class Cases(pytest.File):
    """Represents a file of cases."""

    def collect(self) -> Iterator[CaseItem]:
        """Collect the cases in the file."""
        from ..errors import MemoristError
        from .reading import read_cases

        try:
            file = read_cases(self.path)
        except MemoristError as problem:
            raise self.CollectError(str(problem)) from problem
        for case in file.cases:
            yield CaseItem.from_parent(self, name=case.name, case=case, file=file)


class CaseItem(pytest.Item):
    """Represents one case."""

    def __init__(self, *, case: Case, file: CaseFile, **parts: Any) -> None:
        super().__init__(**parts)
        self.case, self.file = case, file

    def runtest(self) -> None:
        """Run the case."""
        from .running import run_case

        _raise_failures(run_case(self.case, fixtures=self.file.fixtures, options=_options(self.config)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the report of the case, without a traceback."""
        return str(excinfo.value) if isinstance(excinfo.value, CheckFailed) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the location of the case."""
        return self.path, None, self.name


def _options(config: pytest.Config) -> Options:
    from .running import Options

    keep = config.getoption("--memorist-keep")
    return Options(update=bool(config.getoption("--memorist-update")), keep=Path(keep) if keep else None)


def _raise_failures(result: Any) -> None:
    from .reports import result_lines

    __tracebackhide__ = True
    if result.status != "passed":
        raise CheckFailed("\n".join(result_lines(result)))


@pytest.fixture
def memorist_clock() -> FakeClock:
    """Return a clock that moves only when the test moves it. `memorist_memory` uses this clock."""
    from ..testing import FakeClock
    from .cases import FIRST_MOMENT

    return FakeClock(FIRST_MOMENT)


@pytest.fixture
def memorist_memory(memorist_clock: FakeClock) -> Iterator[Memory]:
    """Return an empty memory in RAM, without a worker."""
    import warnings

    from .. import Memory
    from ..stores.opening import NothingLasts

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingLasts)
        memory = Memory("memory://", clock=memorist_clock, worker=False)
    with memory:
        yield memory


@pytest.fixture
def memorist_case(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return a function that runs a case, passed as a `Case` or as its fields, and fails the test with a report."""
    from .cases import Case
    from .running import run_case

    def run(case: Case | None = None, **fields: Any) -> None:
        __tracebackhide__ = True
        options = _options(request.config)
        fields = {"name": request.node.name, "file": str(request.node.path), **fields}
        _raise_failures(run_case(case if case is not None else Case(**fields), options=options))

    return run


@pytest.fixture
def memorist_request() -> Callable[..., None]:
    """Return a function that checks the next request of a memory: `memorist_request(memory, ask, user=…, expect=…)`."""
    from .reports import failure_lines
    from .running import check_request

    def check(memory: Memory, ask: str, **fields: Any) -> None:
        __tracebackhide__ = True
        failures = check_request(memory, ask, **fields)
        if failures:
            raise CheckFailed("\n".join(line for failure in failures for line in failure_lines(failure)))

    return check
