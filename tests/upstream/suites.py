"""Which suites are run, on which archives, and how many of their tests must build our class and pass."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Suite:
    """One framework's tests with one of our classes."""

    name: str
    project: str
    version: str
    sha256: str
    files: tuple[str, ...]
    swap: str
    """The plugin in `swaps/` that puts our class in the place of theirs."""
    passed: int
    """Tests that must pass, of those below that build our class."""
    built: int
    """Tests that must build our class."""
    folder: str = "."
    arguments: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    failing: dict[str, str] = field(default_factory=dict)
    """Tests that fail and may, by the end of their name, each with its reason."""


LANGGRAPH_FILES = (
    "tests/test_pregel.py", "tests/test_pregel_async.py", "tests/test_time_travel.py",
    "tests/test_time_travel_async.py", "tests/test_interruption.py",
    "tests/test_subgraph_persistence.py", "tests/test_subgraph_persistence_async.py",
    "tests/test_checkpoint_migration.py", "tests/test_large_cases.py", "tests/test_large_cases_async.py",
    "tests/test_delta_channel_*.py",
)  # fmt: skip
SQLITE_ONLY = "looks into SQLite itself"
THEIRS = "fails with LangGraph's own InMemorySaver too"
TIMING = "a race of ten milliseconds"

SUITES = (
    Suite(
        name="langgraph-saver",
        project="langgraph",
        version="1.2.20",
        sha256="79f86df92f2dd17d5ec464cab68dbb685439ab102ca39f0b1b7b198025a2414c",
        files=LANGGRAPH_FILES,
        swap="langgraph_saver",
        arguments=("-o", "asyncio_mode=auto", "-k", "memory or delta_channel"),
        settings={"NO_DOCKER": "true"},
        passed=577,
        built=583,
        failing={
            "test_large_cases.py::test_weather_subgraph[memory]": THEIRS,
            "test_large_cases_async.py::test_weather_subgraph[memory]": THEIRS,
            "test_imp_nested[memory-async]": TIMING,
            "test_imp_nested[memory-sync]": TIMING,
            "test_imp_nested[memory-exit]": TIMING,
        },
    ),
    Suite(
        name="langgraph-store",
        project="langgraph-checkpoint-sqlite",
        version="3.1.2",
        sha256="4e3f376fa6f192d6ad2a1a4643b039986f1593552ef870e9e45281575de6fbf2",
        files=("tests/test_store.py", "tests/test_ttl.py"),
        swap="langgraph_store",
        arguments=("-o", "asyncio_mode=auto"),
        settings={"RECOLLECT_UPSTREAM_SCORE": "hybrid"},
        passed=94,
        built=110,
    ),
)
