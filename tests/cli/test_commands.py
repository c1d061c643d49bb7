"""Every command, for people and for programs: what it prints and how it ends."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec

from recollect import Memory

from .conftest import Recollect


def test_facts_are_set_read_listed_corrected_and_deleted(recollect: Recollect) -> None:
    assert recollect("facts", "set", "user:ada", "city", "Lisbon").out == "user:ada/city version 1\n"
    assert recollect("facts", "set", "user:ada", "age", "41").code == 0
    found = recollect("--json", "facts", "get", "user:ada", "age").json()
    assert (found["value"], found["version"], found["key"]) == (41, 1, "age")
    assert "Lisbon" in recollect("facts", "get", "user:ada", "city").out
    where = '{"value": {"$gt": 9}}'
    assert [row["key"] for row in recollect("--json", "facts", "list", "user:ada").json()] == ["age", "city"]
    assert recollect("facts", "list", "user:ada", "--where", where).code == 0
    assert recollect("memory", "list", "user:ada").out == recollect("facts", "list", "user:ada").out
    assert recollect("facts", "correct", "user:ada", "city", "Porto", "--reason", "moved").code == 0
    assert [row["value"] for row in recollect("--json", "facts", "history", "user:ada", "city").json()] == [
        "Lisbon",
        "Porto",
    ]
    assert recollect("facts", "reject", "user:ada", "city").code == 0
    assert recollect("facts", "get", "user:ada", "city").code == 1
    assert recollect("facts", "delete", "user:ada", "age").code == 0
    gone = recollect("facts", "delete", "user:ada", "age")
    assert (gone.code, gone.err) == (1, "recollect: no fact 'age' in user:ada\n")
    assert recollect("facts", "history", "user:ada", "nothing").code == 1


def test_facts_can_be_written_over_one_version_only(recollect: Recollect) -> None:
    assert recollect("facts", "set", "global", "k", "1", "--expect", "0").code == 0
    assert recollect("facts", "set", "global", "k", "2", "--expect", "0").code == 1
    assert recollect("facts", "set", "global", "k", '{"a": [1, 2]}', "--expect", "1").code == 0
    assert recollect("--json", "facts", "get", "global", "k").json()["value"] == {"a": [1, 2]}


def test_threads_from_making_to_deleting(recollect: Recollect) -> None:
    assert recollect("threads", "create", "user:ada", "--id", "t", "--title", "Plans").out == "t\n"
    assert recollect("threads", "append", "t", "I live in Lisbon.").out == "t#1\n"
    lines = '{"role": "assistant", "content": "Noted."}\nplain words\n'
    assert recollect("threads", "append", "t", "--name", "Ada", input=lines).out == "t#2\nt#3\n"
    first = recollect("--json", "threads", "append", "t", "once", "--key", "k").json()
    again = recollect("--json", "threads", "append", "t", "once", "--key", "k").json()
    assert (first["ids"], first["replayed"], again["ids"], again["replayed"]) == (["t#4"], False, ["t#4"], True)
    shown = recollect("--json", "threads", "show", "t", "--all").json()
    assert [row["text"] for row in shown] == ["I live in Lisbon.", "Noted.", "plain words", "once"]
    assert len(recollect("--json", "threads", "show", "t", "--last", "2").json()) == 2
    assert "Plans" in recollect("threads", "list", "user:ada").out
    assert recollect("--json", "threads", "summaries", "t").json() == []
    assert recollect("threads", "delete", "t").code == 0
    assert recollect("threads", "delete", "t").code == 1
    assert recollect("threads", "show", "t").code == 1
    assert recollect("threads", "append", "t", "lost").code == 1


def test_reading_commands_derive_first_what_is_waiting(recollect: Recollect) -> None:
    recollect("threads", "create", "user:ada", "--id", "t")
    recollect("threads", "append", "t", "I live in Lisbon and I prefer short answers.")
    profile = recollect("--json", "profile", "show", "ada").json()
    assert profile["facts"] == {"location": "Lisbon"} and len(profile["learnings"]) == 1
    assert "Lisbon" in recollect("profile", "show", "ada").out
    assert recollect("why", "user:ada/location").out.count("I live in Lisbon") == 1
    assert recollect("--json", "why", "user:ada/location").json()["kind"] == "fact"


def test_learnings_are_added_listed_and_deleted(recollect: Recollect) -> None:
    made = recollect("--json", "learnings", "add", "--user", "ada", "likes tables").json()
    assert [row["content"] for row in recollect("--json", "learnings", "list", "--user", "ada").json()] == [
        "likes tables"
    ]
    assert "likes tables" in recollect("learnings", "list", "--user", "ada").out
    assert recollect("learnings", "delete", "--user", "ada", made["id"]).code == 0
    assert recollect("learnings", "delete", "--user", "ada", made["id"]).code == 1


def test_learnings_of_everyone_need_no_user_and_the_help_says_so(recollect: Recollect) -> None:
    recollect("learnings", "add", "metric units everywhere")
    assert [row["content"] for row in recollect("--json", "learnings", "list").json()] == ["metric units everywhere"]
    assert recollect("--json", "learnings", "list", "--user", "ada").json() == []
    said = " ".join(recollect("learnings", "list", "--help").out.split())
    assert "without one" in said and "everyone" in said and "needed" not in said


def test_state_keys_and_counters(recollect: Recollect) -> None:
    assert recollect("state", "set", "theme", "dark").code == 0
    assert recollect("--json", "state", "get", "theme").json()["value"] == "dark"
    assert recollect("state", "increment", "visits").out == "1\n"
    assert recollect("--json", "state", "increment", "visits", "--by", "4").json() == {"key": "visits", "value": 5}
    assert recollect("state", "delete", "theme").code == 0
    assert recollect("state", "delete", "theme").code == 1
    assert recollect("state", "get", "theme").code == 1


def test_tasks_are_listed_shown_and_deleted(recollect: Recollect, tmp_path: Path) -> None:
    with (
        Memory(tmp_path / "recollect.db", embedder=None) as memory,
        memory.tasks.run("import", state={}) as task,
    ):
        task.complete("one")
    assert [row["task_id"] for row in recollect("--json", "tasks", "list").json()] == ["import"]
    assert "import" in recollect("tasks", "list").out
    assert recollect("--json", "tasks", "show", "import").json()["task_id"] == "import"
    assert recollect("tasks", "delete", "import").code == 0
    assert recollect("tasks", "delete", "import").code == 1
    assert recollect("tasks", "show", "import").code == 1


def test_documents_come_from_files_and_standard_input(recollect: Recollect, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Harbour\n\nIt closes at noon.", "utf-8")
    made = recollect("--json", "documents", "add", "global", "notes.md").json()
    assert made[0]["title"] == "notes.md"
    assert recollect("documents", "add", "global", "-", "--title", "Typed", input="Boats leave at dawn.").code == 0
    assert {row["title"] for row in recollect("--json", "documents", "list", "global").json()} == {"notes.md", "Typed"}
    assert "Typed" in recollect("documents", "list", "global").out
    assert recollect("documents", "delete", "global", made[0]["id"]).code == 0
    assert recollect("documents", "delete", "global", made[0]["id"]).code == 1
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xfa")
    assert recollect("documents", "add", "global", "bytes").code == 2


def test_recall_says_what_it_found_and_why(recollect: Recollect) -> None:
    recollect("facts", "set", "user:ada", "city", "Lisbon")
    found = recollect("--json", "recall", "which city").json()
    assert found[0]["id"] == "user:ada/city" and found[0]["reasons"]
    assert "Lisbon" in recollect("recall", "which city", "--in", "user:ada", "--kind", "fact", "--top", "1").out
    assert recollect("recall", "which city", "--kind", "document").code == 1
    recollect("threads", "create", "user:ada", "--id", "jobs")
    for said in ("I work for a publisher.", "They let me go last week."):
        recollect("threads", "append", "jobs", said)
    shown = " ".join(recollect("recall", "where do I work?", "--in", "user:ada").out.split())
    assert "[superseded:" in shown


def test_context_shows_a_bar_and_the_request(recollect: Recollect) -> None:
    recollect("threads", "create", "user:ada", "--id", "t")
    recollect("threads", "append", "t", "I live in Lisbon.")
    shown = recollect("context", "t", "And now?", "--budget", "500", "--system", "Be brief.", "--messages")
    assert shown.code == 0 and "[system]" in shown.out and "And now?" in shown.out
    manifest = recollect("--json", "context", "t", "And now?", "--budget", "500", "--messages").json()
    assert manifest["tokens"] <= 500 and manifest["messages"][-1]["content"].endswith("And now?")
    assert recollect("context", "t", "And now?", "--budget", "3").code == 1
    assert recollect("context", "nothing", "And now?").code == 1


def test_processors_by_name(recollect: Recollect) -> None:
    recollect("facts", "set", "user:ada", "city", "Lisbon")
    usual = recollect("--json", "process").json()
    assert [row["processor"] for row in usual] == ["gc", "facts", "vectors"]
    every = ["gc", "facts", "learnings", "vectors", "summarizer", "limiter", "archiver", "dedup"]
    assert [row["processor"] for row in recollect("--json", "process", *every).json()] == every
    assert "archiver" in recollect("process", "archiver").out
    assert recollect("process", "nothing").code == 2


def test_a_worker_works_until_nothing_is_left(recollect: Recollect, tmp_path: Path) -> None:
    with Memory(tmp_path / "recollect.db", embedder=None, worker=False) as memory:
        thread = memory.threads.create("user:ada")
        memory.threads.append(thread.id, "I live in Lisbon.")
    assert recollect("--json", "worker", "--once").json()["jobs"] == 3
    assert recollect("worker", "--once").out == "0 jobs done\n"
    assert recollect("--json", "facts", "get", "user:ada", "location").json()["value"] == "Lisbon"
    assert recollect("worker", "--once", "--lease", "0").code == 2


def test_forgetting_asks_first_and_reports(recollect: Recollect) -> None:
    recollect("threads", "create", "user:ada", "--id", "t")
    recollect("threads", "append", "t", "I live in Lisbon.")
    assert recollect("forget", "--user", "ada", input="n\n").code == 130
    unasked = recollect("forget", "--user", "ada", input="")
    assert unasked.code == 2 and "--yes" in unasked.err
    assert recollect("--json", "facts", "get", "user:ada", "location").code == 0
    erased = recollect("--json", "forget", "--message", "t#1", "--physical").json()
    assert erased["verified"] is True and erased["counts"]["facts"] == 1
    assert "recollect.db" in erased["checked"] and erased["unchecked"] == []
    recollect("threads", "append", "t", "I moved to Porto in May.")
    assert recollect("forget", "--user", "ada", "--yes", "--physical").out.endswith("no trace left in the files\n")
    short = recollect("forget", "--user", "ada", "--yes", "--physical")
    assert short.code == 0 and "not verified: " in short.out and "no trace" not in short.out
    assert recollect("facts", "get", "user:ada", "location").code == 1
    assert recollect("forget", "--yes").code == 2
    assert recollect("forget", "--user", "a", "--thread", "b", "--yes").code == 2
    assert recollect("forget", "--thread", "nothing", "--yes").code == 1


def test_a_scrub_rewrites_the_file_and_says_so(recollect: Recollect, tmp_path: Path) -> None:
    recollect("facts", "set", "user:ada", "city", "a-telling-word")
    recollect("forget", "--user", "ada", "--yes")
    assert recollect("scrub", input="n\n").code == 130
    assert recollect("--json", "scrub").json() == {"done": ["recollect.db"], "left": []}
    assert recollect("scrub", "--yes").out == "rewritten: recollect.db\n"
    assert b"a-telling-word" not in (tmp_path / "recollect.db").read_bytes()
    assert recollect("--user", "ada", "scrub", "--yes").code == 2


def test_audit_names_who_did_what(recollect: Recollect) -> None:
    recollect("facts", "set", "user:ada", "city", "Lisbon")
    (event,) = recollect("--json", "audit", "--subject", "user:ada/city").json()
    assert (event["action"], event["kind"], event["actor"]) == ("set", "fact", "user")
    assert "Lisbon" not in recollect("audit").out and "user:ada/city" in recollect("audit", "--limit", "5").out


def test_an_export_comes_back_the_same(recollect: Recollect, tmp_path: Path) -> None:
    recollect("threads", "create", "user:ada", "--id", "t")
    recollect("threads", "append", "t", "I live in Lisbon.")
    assert recollect("--json", "export", "all.jsonl").json()["rows"] > 3
    assert recollect("--url", "copy.db", "import", "all.jsonl").code == 0
    assert recollect("--url", "copy.db", "import", "all.jsonl").code == 0
    assert recollect("--url", "copy.db", "--json", "threads", "show", "t").json() == (
        recollect("--json", "threads", "show", "t").json()
    )
    (tmp_path / "bad.jsonl").write_text('{"not": "ours"}\n', "utf-8")
    refused = recollect("--url", "copy.db", "import", "bad.jsonl")
    assert refused.code in (1, 2) and "line 1" in refused.err


def test_stats_doctor_and_migrate(recollect: Recollect, tmp_path: Path) -> None:
    recollect("threads", "create", "user:ada", "--id", "t")
    recollect("threads", "append", "t", "I live in Lisbon.")
    stats = recollect("--json", "stats").json()
    assert (stats["threads"], stats["messages"], stats["facts"]) == (1, 1, 1)
    assert "messages" in recollect("stats").out
    doctor = recollect("--json", "doctor", "--deep")
    assert doctor.code == (1 if doctor.json()["problems"] else 0)
    assert {"store", "durability", "schema", "queues"} <= set(doctor.json())
    assert "queues" in recollect("doctor").out
    assert recollect("--json", "migrate").json()["store"] == "sqlite"


def test_dead_letters_are_shown_and_revived(recollect: Recollect, tmp_path: Path) -> None:
    with Memory(tmp_path / "recollect.db", embedder=None, model=lambda prompt: "no JSON") as memory:
        thread = memory.threads.create("user:ada")
        memory.threads.append(thread.id, "I live in Lisbon.")
    sick = recollect("doctor")
    assert sick.code == 1 and "1 dead letters in derive: ModelError: invalid: not JSON" in sick.out
    assert recollect("--json", "doctor", "--retry-dead").json()["revived"] == 1
    recollect("worker", "--once")
    assert recollect("--json", "facts", "get", "user:ada", "location").json()["value"] == "Lisbon"


def test_completion_scripts(recollect: Recollect) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_RECOLLECT_COMPLETE" in recollect("completion", shell).out
    assert recollect("completion", "cmd").code == 2


def test_help_and_version(recollect: Recollect) -> None:
    shown = recollect("--help")
    assert shown.code == 0 and "doctor" in shown.out
    assert recollect("--version").out.startswith("recollect")
    assert recollect("facts", "list", "--help").code == 0


def test_a_handle_of_one_user_sees_their_own(recollect: Recollect) -> None:
    recollect("facts", "set", "user:ada", "city", "Lisbon")
    assert recollect("--user", "bob", "facts", "list", "user:ada").code == 2
    assert recollect("--user", "ada", "facts", "get", "user:ada", "city").code == 0
    assert recollect("--org", "other", "facts", "get", "user:ada", "city").code == 1


def test_json_is_json_even_when_there_is_nothing(recollect: Recollect) -> None:
    recollect("state", "set", "x", "1")
    for command in (("facts", "list", "global"), ("threads", "list", "global"), ("tasks", "list"), ("recall", "x")):
        assert msgspec.json.decode(recollect("--json", *command).out) == []


def test_what_a_text_would_be_remembered_for_is_shown_with_its_reasons(recollect: Recollect) -> None:
    found = recollect("--json", "extract", "I moved to Porto.").json()
    assert [row["found"] for row in found] == ["location = 'Porto'"]
    assert found[0]["rule"].startswith("en/places#location")
    asked = recollect("extract", "Do I live in Porto?", "--explain")
    assert asked.code == 1 and "a question" in asked.out


def test_namespaces_are_listed(recollect: Recollect) -> None:
    for place in ("user:ada", "user:bob", "workflow:review"):
        recollect("facts", "set", place, "k", "1")
    assert recollect("namespaces", "user").out == "namespace\nuser:ada\nuser:bob\n"
    assert recollect("--json", "namespaces", "--prefix", "work").json() == [{"namespace": "workflow:review"}]


def test_a_watch_says_what_another_process_changes(recollect: Recollect, tmp_path: Path) -> None:
    recollect("facts", "set", "user:ada", "city", "Lisbon")

    def change() -> None:
        with Memory(tmp_path / "recollect.db", worker=False) as other:
            while not heard.is_set():
                other.facts.set("user:ada", "city", "Porto")
                heard.wait(0.1)

    heard = threading.Event()
    writer = threading.Thread(target=change)
    writer.start()
    try:
        with (
            Memory(tmp_path / "recollect.db", worker=False) as memory,
            memory.watch(["user:ada"], kinds=["fact"]) as seen,
        ):
            assert [(one.kind, one.namespace) for one in seen.next(timeout=30)] == [("fact", "user:ada")]
    finally:
        heard.set()
        writer.join()
    assert recollect("watch", "user:ada", "--for", "0.1").out in ("", "fact  user:ada\n")


def test_export_to_standard_output_is_what_import_loads(recollect: Recollect, tmp_path: Path) -> None:
    recollect("facts", "set", "user:ada", "city", "Lisbon")
    written = recollect("export", "-")
    assert written.code == 0 and not Path("-").exists()
    (tmp_path / "all.jsonl").write_text(written.out)
    assert recollect("--url", str(tmp_path / "other.db"), "import", str(tmp_path / "all.jsonl"), "--yes").code == 0
    assert "Lisbon" in recollect("--url", str(tmp_path / "other.db"), "facts", "get", "user:ada", "city").out
    assert recollect("export", "-", "--to", "openai").code == 2


def test_an_option_of_recollect_after_the_command_is_explained(recollect: Recollect) -> None:
    refused = recollect("facts", "list", "user:ada", "--url", "other.db")
    assert refused.code == 2 and "--url goes before the command" in refused.err
    assert "--nonsense" in recollect("facts", "list", "user:ada", "--nonsense").err


def test_doctor_says_how_the_queues_are(recollect: Recollect) -> None:
    recollect("threads", "create", "user:ada", "--id", "talk")
    recollect("threads", "append", "talk", "I live in Lisbon.")
    assert "index: 1 waiting" in recollect("doctor").out
