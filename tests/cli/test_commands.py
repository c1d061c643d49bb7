"""Every command, for people and for programs: what it prints and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from memorist import Memory

from .conftest import Memorist


def test_facts_are_set_read_listed_corrected_and_deleted(memorist: Memorist) -> None:
    assert memorist("facts", "set", "user:ada", "city", "Lisbon").out == "user:ada/city version 1\n"
    assert memorist("facts", "set", "user:ada", "age", "41").code == 0
    fact = memorist("--json", "facts", "get", "user:ada", "age").json()
    assert (fact["value"], fact["version"], fact["key"]) == (41, 1, "age")
    assert "Lisbon" in memorist("facts", "get", "user:ada", "city").out
    where = '{"value": {"$gt": 9}}'
    assert [row["key"] for row in memorist("--json", "facts", "list", "user:ada").json()] == ["age", "city"]
    assert memorist("facts", "list", "user:ada", "--where", where).code == 0
    assert memorist("memory", "list", "user:ada").out == memorist("facts", "list", "user:ada").out
    assert memorist("facts", "correct", "user:ada", "city", "Porto", "--reason", "moved").code == 0
    assert [row["value"] for row in memorist("--json", "facts", "history", "user:ada", "city").json()] == [
        "Lisbon",
        "Porto",
    ]
    assert memorist("facts", "reject", "user:ada", "city").code == 0
    assert memorist("facts", "get", "user:ada", "city").code == 1
    assert memorist("facts", "delete", "user:ada", "age").code == 0
    missing = memorist("facts", "delete", "user:ada", "age")
    assert (missing.code, missing.err) == (1, "memorist: no fact 'age' in user:ada\n")
    assert memorist("facts", "history", "user:ada", "nothing").code == 1


def test_facts_can_be_written_over_one_version_only(memorist: Memorist) -> None:
    assert memorist("facts", "set", "global", "k", "1", "--expect", "0").code == 0
    assert memorist("facts", "set", "global", "k", "2", "--expect", "0").code == 1
    assert memorist("facts", "set", "global", "k", '{"a": [1, 2]}', "--expect", "1").code == 0
    assert memorist("--json", "facts", "get", "global", "k").json()["value"] == {"a": [1, 2]}


def test_threads_from_making_to_deleting(memorist: Memorist) -> None:
    assert memorist("threads", "create", "user:ada", "--id", "t", "--title", "Plans").out == "t\n"
    assert memorist("threads", "append", "t", "I live in Lisbon.").out == "t#1\n"
    lines = '{"role": "assistant", "content": "Noted."}\nplain words\n'
    assert memorist("threads", "append", "t", "--name", "Ada", input=lines).out == "t#2\nt#3\n"
    first = memorist("--json", "threads", "append", "t", "once", "--key", "k").json()
    again = memorist("--json", "threads", "append", "t", "once", "--key", "k").json()
    assert (first["ids"], first["replayed"], again["ids"], again["replayed"]) == (["t#4"], False, ["t#4"], True)
    thread = memorist("--json", "threads", "show", "t", "--all").json()
    assert [row["text"] for row in thread] == ["I live in Lisbon.", "Noted.", "plain words", "once"]
    assert len(memorist("--json", "threads", "show", "t", "--last", "2").json()) == 2
    assert "Plans" in memorist("threads", "list", "user:ada").out
    assert memorist("--json", "threads", "summaries", "t").json() == []
    assert memorist("threads", "delete", "t").code == 0
    assert memorist("threads", "delete", "t").code == 1
    assert memorist("threads", "show", "t").code == 1
    assert memorist("threads", "append", "t", "lost").code == 1


def test_reading_commands_derive_first_what_is_waiting(memorist: Memorist) -> None:
    memorist("threads", "create", "user:ada", "--id", "t")
    memorist("threads", "append", "t", "I live in Lisbon and I prefer short answers.")
    profile = memorist("--json", "profile", "show", "ada").json()
    assert profile["facts"] == {"location": "Lisbon"} and len(profile["learnings"]) == 1
    assert "Lisbon" in memorist("profile", "show", "ada").out
    assert memorist("why", "user:ada/location").out.count("I live in Lisbon") == 1
    assert memorist("--json", "why", "user:ada/location").json()["kind"] == "fact"


def test_learnings_are_added_listed_and_deleted(memorist: Memorist) -> None:
    learning = memorist("--json", "learnings", "add", "--user", "ada", "likes tables").json()
    assert [row["content"] for row in memorist("--json", "learnings", "list", "--user", "ada").json()] == [
        "likes tables"
    ]
    assert "likes tables" in memorist("learnings", "list", "--user", "ada").out
    assert memorist("learnings", "delete", "--user", "ada", learning["id"]).code == 0
    assert memorist("learnings", "delete", "--user", "ada", learning["id"]).code == 1


def test_learnings_of_everyone_need_no_user_and_the_help_says_so(memorist: Memorist) -> None:
    memorist("learnings", "add", "metric units everywhere")
    assert [row["content"] for row in memorist("--json", "learnings", "list").json()] == ["metric units everywhere"]
    assert memorist("--json", "learnings", "list", "--user", "ada").json() == []
    help_text = " ".join(memorist("learnings", "list", "--help").out.split())
    assert "Without --user" in help_text and "everyone" in help_text and "needed" not in help_text


def test_state_keys_and_counters(memorist: Memorist) -> None:
    assert memorist("state", "set", "theme", "dark").code == 0
    assert memorist("--json", "state", "get", "theme").json()["value"] == "dark"
    assert memorist("state", "increment", "visits").out == "1\n"
    assert memorist("--json", "state", "increment", "visits", "--by", "4").json() == {"key": "visits", "value": 5}
    assert memorist("state", "delete", "theme").code == 0
    assert memorist("state", "delete", "theme").code == 1
    assert memorist("state", "get", "theme").code == 1


def test_tasks_are_listed_shown_and_deleted(memorist: Memorist, tmp_path: Path) -> None:
    with (
        Memory(tmp_path / "memorist.db", embedder=None) as memory,
        memory.tasks.run("import", state={}) as task,
    ):
        task.complete("one")
    assert [row["task_id"] for row in memorist("--json", "tasks", "list").json()] == ["import"]
    assert "import" in memorist("tasks", "list").out
    assert memorist("--json", "tasks", "show", "import").json()["task_id"] == "import"
    assert memorist("tasks", "delete", "import").code == 0
    assert memorist("tasks", "delete", "import").code == 1
    assert memorist("tasks", "show", "import").code == 1


def test_documents_come_from_files_and_standard_input(memorist: Memorist, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Harbour\n\nIt closes at noon.", "utf-8")
    documents = memorist("--json", "documents", "add", "global", "notes.md").json()
    assert documents[0]["title"] == "notes.md"
    assert memorist("documents", "add", "global", "-", "--title", "Typed", input="Boats leave at dawn.").code == 0
    assert {row["title"] for row in memorist("--json", "documents", "list", "global").json()} == {"notes.md", "Typed"}
    assert "Typed" in memorist("documents", "list", "global").out
    assert memorist("documents", "delete", "global", documents[0]["id"]).code == 0
    assert memorist("documents", "delete", "global", documents[0]["id"]).code == 1
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xfa")
    assert memorist("documents", "add", "global", "bytes").code == 2


def test_recall_says_what_it_found_and_why(memorist: Memorist) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    hits = memorist("--json", "recall", "which city").json()
    assert hits[0]["id"] == "user:ada/city" and hits[0]["reasons"]
    assert "Lisbon" in memorist("recall", "which city", "--in", "user:ada", "--kind", "fact", "--top", "1").out
    assert memorist("recall", "which city", "--kind", "document").code == 1
    memorist("threads", "create", "user:ada", "--id", "moves")
    for statement in ("I live in Lisbon.", "I live in Porto now."):
        memorist("threads", "append", "moves", statement)
        memorist("process", "facts")
    hits_text = " ".join(memorist("recall", "where do I live?", "--in", "user:ada").out.split())
    assert "[superseded:" in hits_text


def test_context_shows_a_bar_and_the_request(memorist: Memorist) -> None:
    memorist("threads", "create", "user:ada", "--id", "t")
    memorist("threads", "append", "t", "I live in Lisbon.")
    context_run = memorist("context", "t", "And now?", "--budget", "500", "--system", "Be brief.", "--messages")
    assert context_run.code == 0 and "[system]" in context_run.out and "And now?" in context_run.out
    manifest = memorist("--json", "context", "t", "And now?", "--budget", "500", "--messages").json()
    assert manifest["tokens"] <= 500 and manifest["messages"][-1]["content"].endswith("And now?")
    assert memorist("context", "t", "And now?", "--budget", "3").code == 1
    assert memorist("context", "nothing", "And now?").code == 1


def test_processors_by_name(memorist: Memorist) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    usual = memorist("--json", "process").json()
    assert [row["processor"] for row in usual] == ["gc", "facts", "reindex"]
    every = ["gc", "facts", "reindex", "summarizer", "limiter", "archiver", "dedup", "tidier"]
    assert [row["processor"] for row in memorist("--json", "process", *every).json()] == every
    assert "archiver" in memorist("process", "archiver").out
    assert memorist("process", "nothing").code == 2
    assert f"by name: {', '.join(every)}." in " ".join(memorist("process", "--help").out.split())


def test_a_request_to_forget_is_shown_and_can_be_undone(memorist: Memorist) -> None:
    memorist("--user", "ada", "remember", "I live in Oslo.")
    answer = memorist("--user", "ada", "remember", "Please forget that I live in Oslo.")
    undo = "memorist facts unforget user:ada forgotten.i_live_in_oslo"
    assert answer.out.splitlines() == ["ended: user:ada/location", f"undo with: {undo}"]
    assert memorist("facts", "get", "user:ada", "location").code == 1
    assert memorist(*undo.split()[1:]).out == "restored 1\n"
    assert memorist("--json", "facts", "get", "user:ada", "location").json()["value"] == "Oslo"


def test_a_statement_that_is_not_to_be_remembered_is_reported_as_kept_out(memorist: Memorist) -> None:
    answer = memorist("--user", "ada", "remember", "Don't remember this: I live in Oslo.")
    assert answer.out == "stored in its thread only; it is kept out of recall, and no fact was extracted from it\n"
    assert memorist("--user", "ada", "remember", "Rain again.").out == "stored; no fact was extracted from it\n"


def test_what_was_stored_without_a_fact_says_why(memorist: Memorist) -> None:
    polish = memorist("--user", "ada", "remember", "Mieszkam w Warszawie i bardzo lubię jeść pierogi z grzybami.").out
    assert polish == "stored; no fact was extracted from it: the rules do not read its language, so use --model\n"
    secret = memorist("--user", "ada", "remember", "My password is hunter2secret!").out
    assert secret.splitlines() == [
        "refused: password is a secret and is kept out of memory",
        "the message is stored in its thread; no fact was extracted from it",
    ]
    empty = memorist("--user", "ada", "remember", "  ")
    assert (empty.code, empty.out) == (2, "") and "there is nothing to remember" in empty.err


def test_a_fact_ends_and_comes_back_on_the_command_line(memorist: Memorist) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    assert memorist("facts", "end", "user:ada", "city", "--reason", "moved").out == "ended user:ada/city\n"
    assert memorist("facts", "get", "user:ada", "city").code == 1
    assert memorist("facts", "restore", "user:ada", "city", "1").code == 0
    assert memorist("--json", "facts", "get", "user:ada", "city").json()["value"] == "Lisbon"


def test_memories_are_listed_by_tag_and_searched_by_kind(memorist: Memorist) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    memorist("--user", "ada", "memories", "update", "fact:city", "--tag", "home")
    memorist("--user", "ada", "learnings", "add", "Wants to see Lisbon's old city")
    tagged = memorist("--json", "--user", "ada", "memories", "list", "--tag", "home").json()
    assert [row["id"] for row in tagged] == ["fact:city"]
    assert memorist("--json", "--user", "ada", "memories", "list", "--tag", "work").json() == []
    search = ("--json", "--user", "ada", "memories", "search", "which city?", "--min-score", "0")
    assert {row["kind"] for row in memorist(*search).json()} == {"fact", "learning"}
    assert {row["kind"] for row in memorist(*search, "--kind", "fact").json()} == {"fact"}


def test_recall_looks_only_at_a_period(memorist: Memorist) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    assert memorist("recall", "which city?", "--after", "2020-01-01").code == 0
    assert memorist("recall", "which city?", "--before", "2020-01-01").code == 1


def test_a_worker_works_until_nothing_is_left(memorist: Memorist, tmp_path: Path) -> None:
    with Memory(tmp_path / "memorist.db", embedder=None, worker=False) as memory:
        thread = memory.threads.create("user:ada")
        memory.threads.append(thread.id, "I live in Lisbon.")
    assert memorist("--json", "worker", "--once").json()["jobs"] == 3
    assert memorist("worker", "--once").out == "0 jobs done\n"
    assert memorist("--json", "facts", "get", "user:ada", "location").json()["value"] == "Lisbon"
    assert memorist("worker", "--once", "--lease", "0").code == 2


def test_forgetting_nobody_says_where_it_looked(memorist: Memorist) -> None:
    memorist("--org", "shop", "facts", "set", "user:lee", "city", "Oslo")
    hint = "Nothing like that is stored in the org default. Use --org NAME"
    for options in (("--preview",), ("--yes",), ("--yes",)):
        absent = memorist("forget", "--user", "lee", *options)
        assert absent.code == 1 and absent.out.startswith(hint), "nothing is counted, not even forget's own job"
    absent = memorist("--json", "forget", "--user", "lee")
    assert absent.code == 1 and absent.json()["counts"] == {}
    assert memorist("forget", "--fact", "user:lee/city", "--yes").code == 1
    assert memorist("forget", "--source", "crm", "--yes").code == 1
    previewed = memorist("--json", "--org", "shop", "forget", "--user", "lee", "--preview")
    erased = memorist("--org", "shop", "forget", "--user", "lee", "--yes")
    assert previewed.code == erased.code == 0
    assert "facts" in erased.out and "Nothing like that" not in erased.out
    removed = dict(line.split() for line in erased.out.splitlines()[1:])
    assert {kind: int(count) for kind, count in removed.items()} == previewed.json()["counts"]


def test_a_second_forgetting_rewrites_the_file_and_says_so(memorist: Memorist, tmp_path: Path) -> None:
    memorist("facts", "set", "user:ada", "city", "a-telling-word")
    memorist("forget", "--user", "ada", "--yes")
    again = memorist("forget", "--user", "ada", "--yes", "--physical")
    assert again.code == 1 and b"a-telling-word" not in (tmp_path / "memorist.db").read_bytes()
    assert again.out.splitlines() == [
        "Nothing like that is stored in the org default. Use --org NAME for another one.",
        "The store's files were rewritten without the bytes of deleted rows.",
        "not verified: the sqlite store (nothing was deleted this time, so there is no text to search for)",
    ]


def test_forgetting_asks_first_and_reports(memorist: Memorist) -> None:
    memorist("threads", "create", "user:ada", "--id", "t")
    memorist("threads", "append", "t", "I live in Lisbon.")
    assert memorist("forget", "--user", "ada", input="n\n").code == 130
    unasked = memorist("forget", "--user", "ada", input="")
    assert unasked.code == 2 and "--yes" in unasked.err
    assert memorist("--json", "facts", "get", "user:ada", "location").code == 0
    erased = memorist("--json", "forget", "--message", "t#1", "--physical").json()
    assert erased["verified"] is True and erased["counts"]["facts"] == 1
    assert "memorist.db" in erased["checked"] and erased["unchecked"] == []
    memorist("threads", "append", "t", "I moved to Porto in May.")
    assert memorist("forget", "--user", "ada", "--yes", "--physical").out.endswith("no trace left in the files\n")
    memorist("facts", "set", "user:ada", "city", "Oslo")
    short = memorist("forget", "--user", "ada", "--yes", "--physical")
    assert short.code == 0 and "not verified: " in short.out and "no trace" not in short.out
    assert memorist("facts", "get", "user:ada", "location").code == 1
    assert memorist("forget", "--yes").code == 2
    assert memorist("forget", "--user", "a", "--thread", "b", "--yes").code == 2
    assert memorist("forget", "--thread", "nothing", "--yes").code == 1


def test_a_scrub_rewrites_the_file_and_says_so(memorist: Memorist, tmp_path: Path) -> None:
    memorist("facts", "set", "user:ada", "city", "a-telling-word")
    memorist("forget", "--user", "ada", "--yes")
    assert memorist("scrub", input="n\n").code == 130
    assert memorist("--json", "scrub").json() == {"done": ["memorist.db"], "left": []}
    assert memorist("scrub", "--yes").out == "rewritten: memorist.db\n"
    assert b"a-telling-word" not in (tmp_path / "memorist.db").read_bytes()
    assert memorist("--user", "ada", "scrub", "--yes").code == 2


def test_audit_names_who_did_what(memorist: Memorist) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    (event,) = memorist("--json", "audit", "--subject", "user:ada/city").json()
    assert (event["action"], event["kind"], event["actor"]) == ("set", "fact", "user")
    assert "Lisbon" not in memorist("audit").out and "user:ada/city" in memorist("audit", "--limit", "5").out


def test_an_export_comes_back_the_same(memorist: Memorist, tmp_path: Path) -> None:
    memorist("threads", "create", "user:ada", "--id", "t")
    memorist("threads", "append", "t", "I live in Lisbon.")
    assert memorist("--json", "export", "all.jsonl").json()["rows"] > 3
    assert memorist("--url", "copy.db", "import", "all.jsonl").code == 0
    assert memorist("--url", "copy.db", "import", "all.jsonl").code == 0
    assert memorist("--url", "copy.db", "--json", "threads", "show", "t").json() == (
        memorist("--json", "threads", "show", "t").json()
    )
    (tmp_path / "bad.jsonl").write_text('{"not": "ours"}\n', "utf-8")
    refused = memorist("--url", "copy.db", "import", "bad.jsonl")
    assert refused.code in (1, 2) and "line 1" in refused.err


def test_stats_doctor_and_migrate(memorist: Memorist, tmp_path: Path) -> None:
    memorist("threads", "create", "user:ada", "--id", "t")
    memorist("threads", "append", "t", "I live in Lisbon.")
    stats = memorist("--json", "stats").json()
    assert (stats["threads"], stats["messages"], stats["facts"]) == (1, 1, 1)
    assert "messages" in memorist("stats").out
    doctor = memorist("--json", "doctor", "--deep")
    assert doctor.code == (1 if doctor.json()["problems"] else 0)
    assert {"store", "durability", "schema", "queues"} <= set(doctor.json())
    assert "queues" in memorist("doctor").out
    assert memorist("--json", "migrate").json()["store"] == "sqlite"


def test_dead_letters_are_shown_and_revived(memorist: Memorist, tmp_path: Path) -> None:
    with Memory(tmp_path / "memorist.db", embedder=None, model=lambda prompt: "no JSON") as memory:
        thread = memory.threads.create("user:ada")
        memory.threads.append(thread.id, "I live in Lisbon.")
    sick = memorist("doctor")
    assert sick.code == 1 and "1 dead letters in derive: ModelError: invalid: no operations" in sick.out
    assert memorist("--json", "doctor", "--retry-dead").json()["revived"] == 1
    memorist("worker", "--once")
    assert memorist("--json", "facts", "get", "user:ada", "location").json()["value"] == "Lisbon"


def test_completion_scripts(memorist: Memorist) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_MEMORIST_COMPLETE" in memorist("completion", shell).out
    assert memorist("completion", "cmd").code == 2


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("memorist te", "test"),
        ("memorist eval --ag", "--against"),
        ("memorist recall home --us", "--user"),
        ("memorist facts list --user ada --wh", "--where"),
        ("memorist facts list --user ada --js", "--json"),
    ],
)
def test_completion_knows_commands_and_the_options_of_all(tmp_path: Path, words: str, offered: str) -> None:
    completion_request = {
        "_MEMORIST_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    command = [sys.executable, "-m", "memorist"]
    environment = {**os.environ, **completion_request}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert f"plain,{offered}" in ran.stdout.splitlines()


def test_help_and_version(memorist: Memorist) -> None:
    help_run = memorist("--help")
    assert help_run.code == 0 and "doctor" in help_run.out
    assert memorist("--version").out.startswith("memorist")
    assert memorist("facts", "list", "--help").code == 0


def test_a_handle_of_one_user_sees_their_own(memorist: Memorist) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    assert memorist("--user", "bob", "facts", "list", "user:ada").code == 2
    assert memorist("--user", "ada", "facts", "get", "user:ada", "city").code == 0
    assert memorist("--org", "other", "facts", "get", "user:ada", "city").code == 1


def test_json_is_json_even_when_there_is_nothing(memorist: Memorist) -> None:
    memorist("state", "set", "x", "1")
    for command in (("facts", "list", "global"), ("threads", "list", "global"), ("tasks", "list"), ("recall", "x")):
        assert msgspec.json.decode(memorist("--json", *command).out) == []


def test_what_a_text_would_be_remembered_for_is_shown_with_its_reasons(memorist: Memorist) -> None:
    items = memorist("--json", "extract", "I moved to Porto.").json()
    assert [row["found"] for row in items] == ["location = 'Porto'"]
    assert items[0]["rule"].startswith("en.location.")
    explanation = memorist("extract", "Do I live in Porto?", "--explain")
    assert explanation.code == 1 and "a question" in explanation.out


def test_namespaces_are_listed(memorist: Memorist) -> None:
    for namespace in ("user:ada", "user:bob", "workflow:review"):
        memorist("facts", "set", namespace, "k", "1")
    assert memorist("namespaces", "user").out == "namespace\nuser:ada\nuser:bob\n"
    assert memorist("--json", "namespaces", "--prefix", "work").json() == [{"namespace": "workflow:review"}]


def test_a_watch_says_what_another_process_changes(memorist: Memorist, tmp_path: Path) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")

    def change() -> None:
        with Memory(tmp_path / "memorist.db", worker=False) as other:
            while not heard.is_set():
                other.facts.set("user:ada", "city", "Porto")
                heard.wait(0.1)

    heard = threading.Event()
    writer = threading.Thread(target=change)
    writer.start()
    try:
        with (
            Memory(tmp_path / "memorist.db", worker=False) as memory,
            memory.watch(["user:ada"], kinds=["fact"]) as changes,
        ):
            assert [(notice.kind, notice.namespace) for notice in changes.next(timeout=30)] == [("fact", "user:ada")]
    finally:
        heard.set()
        writer.join()
    assert memorist("watch", "user:ada", "--for", "0.1").out in ("", "fact  user:ada\n")


def test_export_to_standard_output_is_what_import_loads(memorist: Memorist, tmp_path: Path) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    written = memorist("export", "-")
    assert written.code == 0 and not Path("-").exists()
    (tmp_path / "all.jsonl").write_text(written.out)
    assert memorist("--url", str(tmp_path / "other.db"), "import", str(tmp_path / "all.jsonl"), "--yes").code == 0
    assert "Lisbon" in memorist("--url", str(tmp_path / "other.db"), "facts", "get", "user:ada", "city").out
    assert memorist("export", "-", "--to", "openai").code == 2


def test_an_option_of_memorist_after_the_command_is_explained(memorist: Memorist) -> None:
    refused = memorist("facts", "list", "user:ada", "--url", "other.db")
    assert refused.code == 2 and "--url goes before the command" in refused.err
    assert "--nonsense" in memorist("facts", "list", "user:ada", "--nonsense").err


def test_doctor_says_how_the_queues_are(memorist: Memorist) -> None:
    memorist("threads", "create", "user:ada", "--id", "talk")
    memorist("threads", "append", "talk", "I live in Lisbon.")
    assert "index: 1 waiting" in memorist("doctor").out


def test_looking_back_shows_what_was_known_then(memorist: Memorist) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    then = memorist("--json", "facts", "get", "user:ada", "city").json()["updated_at"]
    memorist("facts", "set", "user:ada", "city", "Porto")
    memorist("facts", "set", "user:ada", "pet", "a cat")
    rows = memorist("--json", "facts", "list", "user:ada", "--as-of", then).json()
    assert [(row["key"], row["value"]) for row in rows] == [("city", "Lisbon")]
    assert memorist("--json", "facts", "get", "user:ada", "city", "--as-of", then).json()["value"] == "Lisbon"
    hits = memorist("--json", "recall", "city", "--in", "user:ada", "--as-of", then).json()
    assert [hit["text"] for hit in hits] == ["city: Lisbon"]
    assert memorist("--json", "profile", "show", "ada", "--as-of", then).json()["facts"] == {"city": "Lisbon"}
    wrong = memorist("recall", "city", "--as-of", "yesterday")
    assert wrong.code == 2 and "ISO" in wrong.err


def test_reindexing_makes_nothing_again_that_is_up_to_date(memorist: Memorist) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    memorist("recall", "city")
    assert memorist("--json", "reindex").json()["changed"] == 0


def test_a_user_is_named_the_same_way_everywhere(memorist: Memorist) -> None:
    assert memorist("facts", "set", "city", "Lisbon", "--user", "ada").code == 0
    assert memorist("--user", "ada", "facts", "get", "city", "--json").json()["value"] == "Lisbon"
    assert memorist("facts", "get", "user:ada", "city", "--user=ada", "--json").json()["value"] == "Lisbon"
    assert memorist("remember", "I prefer short answers.", "--user", "ada").code == 0
    assert memorist("learnings", "add", "likes tables", "--user", "ada").code == 0
    assert "likes tables" in memorist("learnings", "list", "--user", "ada").out
    assert "likes tables" not in memorist("learnings", "list").out
    for command in (
        ("profile", "show", "--user", "ada"),
        ("profile", "show", "ada"),
        ("memories", "list", "--user", "ada"),
    ):
        assert "Lisbon" in memorist(*command).out
    assert memorist("threads", "create", "--id", "talk", "--user", "ada").code == 0
    assert memorist("threads", "list", "--user", "ada", "--json").json()[0]["ns"] == "user:ada"
    assert memorist("tidy", "--user", "ada").code == 0
    key = memorist("keys", "create", "--user", "ada", "--json").json()
    assert key["user"] == "ada"
    assert memorist("facts", "list", "--user").code == 2
    assert "whose profile" in memorist("profile", "show").err
    assert memorist("learnings", "list", "--user", "ada").code == 0
    assert memorist("forget", "--user", "ada", "--yes").code == 0
    assert memorist("memories", "list", "--user", "ada", "--json").json() == []
    assert memorist("facts", "set", "user:ada", "note", "--", "--user").code == 0


def test_a_memory_is_updated_and_the_change_undone(memorist: Memorist) -> None:
    ada = ("--user", "ada")
    assert memorist("facts", "set", "seats", "12", *ada).code == 0
    updated = memorist(
        "memories", "update", "seats", "--value", "15", "--reason", "grew", "--tag", "crm", *ada, "--json"
    )
    memory = updated.json()["memory"]
    assert (memory["value"], memory["reason"], memory["tags"]) == (15, "grew", ["crm"])
    assert [row["value"] for row in memorist("memories", "show", "seats", *ada, "--json").json()] == [12, 15]
    assert memorist("memories", "undo", "seats", *ada, "--json").json()["memory"]["value"] == 12
    assert memorist("memories", "update", "nothing", "--text", "x", *ada).code == 1


def test_a_candidate_is_edited_and_approved(memorist: Memorist, tmp_path: Path) -> None:
    rules = tmp_path / "extraction.toml"
    rules.write_text('admit = "review"\n', "utf-8")
    reading, ada = ("--extraction", str(rules)), ("--user", "ada")
    assert "waits for approval" in memorist(*reading, "remember", "I live in Porto.", *ada).out
    (candidate,) = memorist(*reading, "review", "list", *ada, "--json").json()
    edited = memorist("review", "edit", candidate["id"], "--text", "Ada lives in Porto.", "--value", "Porto, PT", *ada)
    assert edited.out.strip() == "waits for approval: Ada lives in Porto."
    assert memorist("review", "approve", candidate["id"], *ada).code == 0
    (memory,) = memorist("memories", "list", *ada, "--json").json()
    assert (memory["text"], memory["value"]) == ("Ada lives in Porto.", "Porto, PT")
    assert memorist("review", "edit", "nothing", "--text", "x", *ada).code == 1


def test_a_request_needs_no_thread(memorist: Memorist) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    memorist("threads", "create", "user:ada", "--id", "talk")
    context_run = memorist("context", "Which city do I live in?", "--user", "ada", "--messages")
    assert context_run.code == 0 and "Lisbon" in context_run.out
    assert memorist("context", "talk", "Which city do I live in?").code == 0
    assert "quote an input" in memorist("context", "talk", "Which", "city?").err


def test_threads_are_listed_without_a_namespace(memorist: Memorist) -> None:
    assert memorist("threads", "create", "user:ada", "--id", "first").code == 0
    assert memorist("threads", "create", "agent:reviewer", "--id", "second").code == 0
    threads = memorist("threads", "list", "--json").json()
    assert {(thread["id"], thread["ns"]) for thread in threads} == {("first", "user:ada"), ("second", "agent:reviewer")}
    assert "agent:reviewer" in memorist("threads", "list").out
    assert len(memorist("threads", "list", "--limit", "1", "--json").json()) == 1
    assert "one namespace" in memorist("threads", "list", "--after", "first").err


def test_help_shows_ten_everyday_commands_first(memorist: Memorist) -> None:
    help_text = memorist("--help").out
    everyday = help_text.partition("Everyday:\n")[2].partition("\n\n")[0]
    names = [line.split()[0] for line in everyday.splitlines() if line.startswith("  ") and line[2] != " "]
    assert len(names) == 10 and names[:3] == ["remember", "recall", "context"]
    assert help_text.index("Everyday:") < help_text.index("What is remembered:") < help_text.index("  doctor")


def test_why_takes_the_ids_that_other_commands_print(memorist: Memorist) -> None:
    output = memorist("remember", "I live in Lisbon.", "--user", "ada").out
    assert "fact:location" in output
    for item in ("fact:location", "location", "user:ada/location"):
        assert "I live in Lisbon." in memorist("why", item, "--user", "ada").out, item
    memorist("learnings", "add", "Prefers tea", "--user", "ada")
    [learning] = memorist("learnings", "list", "--user", "ada", "--json").json()
    for item in (learning["id"], f"learning:{learning['id']}"):
        assert "learning" in memorist("why", item, "--user", "ada").out, item
    assert memorist("why", "nothing", "--user", "ada").code == 1


def test_why_after_a_correction_names_the_correction(memorist: Memorist) -> None:
    memorist("remember", "I live in Lisbon.", "--user", "ada")
    assert "corrected" not in memorist("why", "user:ada/location").out
    memorist("facts", "correct", "user:ada", "location", "Porto", "--reason", "she moved")
    answer = memorist("why", "user:ada/location")
    assert "corrected by user" in answer.out and "'Lisbon' to 'Porto': she moved" in answer.out
    correction = memorist("why", "user:ada/location", "--json").json()["correction"]
    assert (correction["before"], correction["value"], correction["reason"]) == ("Lisbon", "Porto", "she moved")
