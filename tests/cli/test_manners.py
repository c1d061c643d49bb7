"""How the command line behaves: helpful errors, no files from reading, no escapes from content, servers by URL."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memorist import Memory
from memorist.cli.problems import extra_of

from .conftest import Memorist

READING = (
    ("facts", "list", "global"),
    ("facts", "get", "global", "k"),
    ("memory", "list", "global"),
    ("threads", "show", "t"),
    ("profile", "show", "ada"),
    ("recall", "x"),
    ("context", "t", "x"),
    ("process",),
    ("why", "user:ada/city"),
    ("audit",),
    ("export", "out.jsonl"),
    ("stats",),
    ("doctor",),
    ("forget", "--user", "ada", "--yes"),
)


@pytest.mark.parametrize("url", [None, "sqlite:///other.db", "sub/none.db"])
@pytest.mark.parametrize("command", READING)
def test_reading_makes_no_file(memorist: Memorist, tmp_path: Path, command: tuple[str, ...], url: str | None) -> None:
    ran = memorist(*(("--url", url) if url else ()), *command)
    assert ran.code == 1 and "there is no memory at" in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("--url", "ftp://x/y", "stats"), 2, "no store for ftp://"),
        (("facts", "set", "nowhere", "k", "1"), 2, "namespace"),
        (("facts", "set", "user:", "k", "1"), 2, "namespace"),
        (("facts", "list", "global", "--where", "{bad"), 2, "a filter is a JSON object"),
        (("facts", "list", "global", "--where", '{"a": {"$regex": "x"}}'), 2, "$regex"),
        (("recall", "x", "--where", "[1]"), 2, "a filter is a JSON object"),
        (("facts", "set", "global", "k", '{"a": 1, "a": 2}'), 2, "the same key twice"),
        (("facts", "set", "global", "k", "1", "--confidence", "7"), 2, "confidence"),
        (("threads", "append", "t"), 2, "nothing to append"),
        (("nothing",), 2, "No such command"),
        (("facts", "get", "global"), 2, "Missing argument"),
        (("--url", "postgresql://nobody@127.0.0.1:1/x", "stats"), 1, "memorist:"),
        (("--url", "redis://127.0.0.1:1/0", "stats"), 1, "memorist:"),
        (("import", "missing.jsonl"), 2, "does not exist"),
    ],
)
def test_errors_say_what_to_do(memorist: Memorist, args: tuple[str, ...], code: int, says: str) -> None:
    memorist("state", "set", "x", "1")
    ran = memorist(*args)
    assert ran.code == code and says in ran.err
    assert "Traceback" not in ran.err and len(ran.err) < 1000


def test_a_file_that_is_not_ours_is_refused_and_left_alone(memorist: Memorist, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear Ada", "utf-8")
    ran = memorist("--url", "letter.txt", "stats")
    assert ran.code == 1 and (tmp_path / "letter.txt").read_text("utf-8") == "dear Ada"


def test_a_missing_extra_names_the_install_command(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['redis'] = None; from memorist.cli.main import main;"
        "main(['--url', 'redis://127.0.0.1/0', 'stats'])"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and '".[redis]"' in ran.stderr and "Traceback" not in ran.stderr


@pytest.mark.parametrize("module", ["starlette", "uvicorn", "httptools"])
@pytest.mark.parametrize("command", ["['open', 'ada.db', '--no-browser']", "['serve', '--port', '0']"])
def test_a_server_without_its_packages_names_the_extra_and_no_link(tmp_path: Path, command: str, module: str) -> None:
    Memory(tmp_path / "ada.db", embedder=None).close()
    program = f"import sys; sys.modules[{module!r}] = None; from memorist.cli.main import main; main({command})"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 2 and ran.stdout == ""
    assert ran.stderr.startswith("memorist: the server needs packages") and '".[server]"' in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_escapes_in_content_stay_text(memorist: Memorist) -> None:
    evil = "\x1b[31mred\x1b]0;title\x07\x9b2J\x08"
    memorist("facts", "set", "user:ada", "note", evil)
    memorist("threads", "create", "user:ada", "--id", "t", "--title", evil)
    memorist("threads", "append", "t", evil)
    for command in (
        ("facts", "list", "user:ada"),
        ("facts", "get", "user:ada", "note"),
        ("threads", "show", "t"),
        ("threads", "list", "user:ada"),
        ("recall", "red title"),
        ("context", "t", "red?", "--messages"),
        ("profile", "show", "ada"),
    ):
        ran = memorist(*command)
        assert ran.code == 0 and not set(ran.out) & set("\x1b\x07\x9b\x08")
        assert "\\x1b[31mred" in ran.out or command[0] == "context"
    assert memorist("--json", "facts", "get", "user:ada", "note").json()["value"] == evil


def run_on_terminal(*args: str, cwd: Path) -> bytes:
    """The same command with its output on a terminal."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "memorist.cli.main", *args]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen(command, stdout=follower, stderr=follower, stdin=follower, cwd=cwd, env=environment) as ran:
        os.close(follower)
        out = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # Linux says so when the last writer is gone
                break
            if not piece:
                break
            out += piece
    os.close(leader)
    assert ran.returncode == 0
    return out


def test_colours_come_on_a_terminal_and_escapes_do_not(memorist: Memorist, tmp_path: Path) -> None:
    memorist("facts", "set", "user:ada", "note", "\x1b[2Jgone")
    output = run_on_terminal("facts", "list", "user:ada", cwd=tmp_path)
    assert b"\x1b[1m" in output and b"\x1b[2J" not in output and b"\\x1b[2Jgone" in output


def test_the_program_runs_and_a_closed_pipe_is_no_error(memorist: Memorist, tmp_path: Path) -> None:
    memorist("state", "set", "k", "1")
    command = f"{sys.executable} -m memorist.cli.main --json stats | head -c 1"
    ran = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("{", "", 0)


@pytest.mark.parametrize("server", ["postgres_server", "redis_server", "redis_cluster"])
def test_servers_are_named_by_url(memorist: Memorist, request: pytest.FixtureRequest, server: str, org: str) -> None:
    at = ("--url", request.getfixturevalue(server).url, "--org", org)
    assert memorist(*at, "facts", "set", "user:ada", "city", "Lisbon").code == 0
    assert memorist(*at, "--json", "facts", "get", "user:ada", "city").json()["value"] == "Lisbon"
    assert memorist(*at, "--json", "stats").json()["facts"] == 1
    doctor = memorist(*at, "--json", "doctor")
    report = doctor.json()
    assert doctor.code == (1 if report["problems"] else 0) and report["store"] in ("postgres", "redis")
    assert memorist(*at, "migrate").code == 0
    assert memorist(*at, "forget", "--user", "ada", "--yes").code == 0


def test_two_tiers(memorist: Memorist, redis_server: Any, org: str) -> None:
    at = ("--hot", redis_server.url, "--org", org)
    assert memorist(*at, "state", "set", "theme", "dark").code == 0
    assert memorist(*at, "--json", "state", "get", "theme").json()["value"] == "dark"
    assert "sqlite" in memorist(*at, "--json", "doctor").json()["store"]


def test_the_environment_names_the_memory(memorist: Memorist, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMORIST_URL", str(tmp_path / "named.db"))
    memorist("state", "set", "x", "1")
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".db"] == ["named.db"]
    assert oct((tmp_path / "named.db").stat().st_mode)[-3:] == "600"


def test_a_worker_stops_when_asked_to(memorist: Memorist, tmp_path: Path) -> None:
    with Memory(tmp_path / "memorist.db", embedder=None, worker=False) as memory:
        thread = memory.threads.create("user:ada")
        memory.threads.append(thread.id, "I live in Lisbon.")
        command = [sys.executable, "-m", "memorist.cli.main", "--json", "worker", "--lease", "5"]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
            end = time.monotonic() + 60
            while any(queue.waiting for queue in memory.jobs.backlog()):
                assert time.monotonic() < end and ran.poll() is None
                time.sleep(0.05)
            ran.send_signal(signal.SIGTERM)
            out, err = ran.communicate(timeout=60)
        assert (ran.returncode, err) == (0, "") and msgspec.json.decode(out)["jobs"] == 3
        assert memory.facts.get("user:ada", "location") is not None


def test_the_demo_runs_to_its_end_and_asks_nothing(memorist: Memorist) -> None:
    ran = memorist("demo")
    assert ran.code == 0 and ran.out


def test_json_may_stand_before_or_after_the_command(memorist: Memorist) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    before = memorist("--json", "facts", "get", "user:ada", "city")
    assert before.json() == memorist("facts", "get", "user:ada", "city", "--json").json()
    assert before.json() == memorist("facts", "--json", "get", "user:ada", "city").json()
    assert memorist("facts", "set", "user:ada", "flag", "--", "--json").code == 0
    assert memorist("--json", "facts", "get", "user:ada", "flag").json()["value"] == "--json"


@pytest.mark.parametrize(
    ("args", "kind", "code"),
    [
        (("facts", "get", "global", "none"), "NotFound", 1),
        (("facts", "list", "nowhere"), "InvalidNamespace", 2),
        (("facts", "lst", "global"), "UsageError", 2),
        (("threads", "show", "none"), "NotFound", 1),
        (("forget", "--thread", "none"), "NotFound", 1),
    ],
)
def test_errors_are_json_under_json(memorist: Memorist, args: tuple[str, ...], kind: str, code: int) -> None:
    memorist("state", "set", "x", "1")
    ran = memorist(*args, "--json")
    error = msgspec.json.decode(ran.err)["error"]
    assert (ran.code, ran.out, error["type"]) == (code, "", kind) and error["message"]


@pytest.mark.parametrize("url", ["postgresql://ada:hunter2@db.example/app", "redis://:hunter2/x@127.0.0.1:1"])
@pytest.mark.parametrize(
    "words", [(), ("migrate",), ("open",), ("serve",), ("import", "file.jsonl", "--from"), ("--json", "stats")]
)
def test_a_url_in_a_slip_is_quoted_without_its_password(memorist: Memorist, words: tuple[str, ...], url: str) -> None:
    ran = memorist(*words, url)
    assert ran.code == 2 and "hunter2" not in ran.out + ran.err and url.rpartition("@")[2] in ran.err


def test_a_path_with_a_password_is_quoted_without_it(memorist: Memorist) -> None:
    ran = memorist("--url", "host=db.example password=hunter2", "stats")
    assert ran.code == 1 and "hunter2" not in ran.err and "host=db.example" in ran.err


@pytest.mark.parametrize(
    ("args", "suggestion"),
    [
        (("fact", "list"), "'facts'"),
        (("facts", "histroy"), "'history'"),
        (("append", "t", "x"), "'threads append'"),
        (("facts", "list", "global", "--limt", "3"), "--limit"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(memorist: Memorist, args: tuple[str, ...], suggestion: str) -> None:
    ran = memorist(*args)
    assert ran.code == 2 and "did you mean" in ran.err.lower() and suggestion in ran.err


@pytest.mark.parametrize(
    "command",
    [
        ("facts", "set", "nowhere", "k", "1"),
        ("facts", "set", "global", "k", "1", "--expect", "3"),
        ("threads", "create", "user:"),
        ("threads", "append", "typo", "hello"),
        ("learnings", "add", "x", "--confidence", "9"),
        ("state", "set", "", "1"),
        ("import", "bad.jsonl"),
        ("worker", "--once"),
    ],
)
def test_a_failing_command_makes_no_file(memorist: Memorist, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "bad.jsonl").write_text('{"not": "ours"}\n', "utf-8")
    assert memorist("--url", "typo.db", *command).code in (1, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]


def test_a_command_that_fails_late_keeps_what_it_wrote(memorist: Memorist, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Boats leave at dawn.", "utf-8")
    (tmp_path / "b.md").write_bytes(b"\xff\xfe")
    assert memorist("documents", "add", "global", "a.md", "b.md").code == 2
    assert [row["title"] for row in memorist("documents", "list", "global", "--json").json()] == ["a.md"]


def test_tasks_of_all_namespaces_are_listed(memorist: Memorist, tmp_path: Path) -> None:
    with Memory(tmp_path / "memorist.db", embedder=None, worker=False) as memory:
        for ns in ("global", "workflow:review", "user:ada"):
            memory.tasks.save({"task_id": f"of-{ns}", "ns": ns, "step": 1, "state": {}})
    assert len(memorist("tasks", "list", "--json").json()) == 3
    assert [row["ns"] for row in memorist("tasks", "list", "user:ada", "--json").json()] == ["user:ada"]


def test_audit_is_newest_first(memorist: Memorist) -> None:
    for value in ("Lisbon", "Porto", "Faro"):
        memorist("facts", "set", "user:ada", value.lower(), value)
    entries = memorist("audit", "--limit", "2", "--json").json()
    assert [row["subject"] for row in entries] == ["user:ada/faro", "user:ada/porto"]
    assert "Z" not in memorist("audit").out and "just now" in memorist("audit").out


def test_ids_are_short_and_may_be_given_short(memorist: Memorist) -> None:
    whole = memorist("threads", "create", "user:ada", "--title", "Plans").out.strip()
    assert f"…{whole[-8:]}" in memorist("threads", "list", "user:ada").out
    assert memorist("threads", "append", whole[-8:], "I live in Lisbon.").out == f"{whole}#1\n"
    assert "Lisbon" in memorist("threads", "show", f"…{whole[-8:]}").out
    learned = memorist("learnings", "add", "likes tables", "--json").json()["id"]
    assert memorist("learnings", "delete", learned[-8:]).out == f"deleted {learned}\n"


def test_a_worker_says_what_it_does(memorist: Memorist, tmp_path: Path) -> None:
    memorist("threads", "create", "user:ada", "--id", "t")
    memorist("threads", "append", "t", "I live in Lisbon.")
    ran = memorist("worker", "--once")
    assert "jobs done, 0 waiting" in ran.err and ran.out == "3 jobs done\n"


@pytest.mark.parametrize(("module", "extra"), [("psycopg", "postgres"), ("redis", "redis")])
def test_the_extra_of_a_module_is_known(module: str, extra: str) -> None:
    assert extra_of(module) == extra and extra_of("no_such_module") is None


def test_analyze_without_its_package_gives_the_install_line(tmp_path: Path) -> None:
    program = "from memorist.cli import main as cli; cli._installed_commands = dict;cli.main(['analyze', '.'])"
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and "pip install ./packages/analyze" in ran.stderr and "Traceback" not in ran.stderr


def test_the_package_runs_as_a_module(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-m", "memorist", "--version"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and ran.stdout.startswith("memorist")


def test_every_command_and_option_says_what_it_is_for() -> None:
    import click

    from memorist.cli import main

    def silent(command: click.Command, context: click.Context, path: str) -> list[str]:
        if isinstance(command, click.Group):
            named = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
            return [line for name, sub in named if sub for line in silent(sub, context, f"{path} {name}")]
        options = [
            option
            for option in command.params
            if isinstance(option, click.Option) and not option.help and not option.hidden
        ]
        return ([] if command.help else [path]) + [f"{path} {option.opts[0]}" for option in options]

    assert silent(main.cli, click.Context(main.cli), "memorist") == []
