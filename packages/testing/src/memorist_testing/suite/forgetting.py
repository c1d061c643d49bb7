"""Tests forgetting. Nothing about a forgotten item is left in any table, including copies, and new statements are
remembered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memorist.errors import NotFound
from memorist.kinds import RECORDS

CANARY = "zqxkayak"
STATEMENT = f"The {CANARY} is under the pier."


class ForgettingTests:
    """Tests what `forget` and `redact` promise, on every store."""

    async def test_a_source_that_two_users_share_is_forgotten_for_one_of_them(self, memory: Any) -> None:
        for user in ("ada", "bob"):
            handle = memory.scope(user=user)
            await handle.documents.add(f"user:{user}", f"Notes of {user} on herons.", source="notes.md")
            await handle.facts.set(f"user:{user}", "bird", "heron", source="notes.md")
        ada, bob = memory.scope(user="ada"), memory.scope(user="bob")
        alone = await memory.scope(user="eve").forget(source="notes.md")
        erased = await ada.forget(source="notes.md")
        assert "bob" not in repr(erased)
        assert (erased.complete, alone.complete) == (True, True)
        assert alone == await memory.scope(user="eve").forget(source="nobody has it.md")
        assert erased.counts["documents"] == 1
        assert await ada.documents.list("user:ada") == []
        assert await ada.facts.get("user:ada", "bird") is None
        assert await ada.recall("herons") == []
        assert len(await bob.documents.list("user:bob")) == 1
        assert (await bob.facts.get("user:bob", "bird")).value == "heron"
        assert {hit.kind for hit in await bob.recall("herons")} >= {"document"}
        # Bob goes on with his source, and Ada may use that name again.
        await bob.facts.set("user:bob", "nest", "reeds", source="notes.md")
        assert (await bob.facts.get("user:bob", "nest")).value == "reeds"
        await memory.forget(source="notes.md")
        assert await bob.documents.list("user:bob") == []

    async def test_a_message_of_a_session_is_forgotten_everywhere(self, memory: Any, scan_table: Any) -> None:
        async with memory.session("talk", user="ada") as talk:
            await talk.add(STATEMENT, "Noted.")
            assert (await memory.forget(message="talk#1")).complete
            assert await _tables_with(scan_table, CANARY) == []

    async def test_a_redacted_message_of_a_session_is_gone_everywhere(self, memory: Any, scan_table: Any) -> None:
        async with memory.session("talk", user="ada") as talk:
            await talk.add(STATEMENT, "Noted.")
            await memory.threads.redact("talk#1")
            assert await _tables_with(scan_table, CANARY) == []

    async def test_a_thread_of_a_session_is_forgotten_everywhere(self, memory: Any, scan_table: Any) -> None:
        async with memory.session("talk", user="ada") as talk:
            await talk.add(STATEMENT, "Noted.")
            assert (await memory.forget(thread="talk")).complete
            assert await _tables_with(scan_table, CANARY) == []

    async def test_a_fork_is_forgotten_with_its_source(self, memory: Any, scan_table: Any) -> None:
        await _talk(memory)
        fork = await memory.threads.fork("talk", new_id="branch")
        again = await memory.threads.fork("branch", new_id="twig")
        assert (await memory.forget(thread="talk")).complete
        assert await memory.threads.get(fork.id) is None and await memory.threads.get(again.id) is None
        assert await _tables_with(scan_table, CANARY) == []

    async def test_copies_of_a_message_in_forks_are_forgotten_with_it(self, memory: Any, scan_table: Any) -> None:
        await _talk(memory)
        await memory.threads.fork("talk", new_id="branch")
        await memory.threads.append("branch", "on its own")
        await memory.threads.fork("branch", new_id="twig")
        await memory.threads.fork("talk", at=1, new_id="early")
        assert (await memory.forget(message="talk#2")).complete
        assert await _tables_with(scan_table, CANARY) == []
        texts = [message.text for message in await memory.threads.messages("twig")]
        assert texts == ["Hello.", "Noted.", "on its own"]
        assert [message.text for message in await memory.threads.messages("early")] == ["Hello."]

    async def test_summaries_of_a_fork_that_shares_the_prefix_are_forgotten(self, memory: Any, scan_table: Any) -> None:
        async with memory.session("talk", user="ada", budget=600) as talk:
            for number in range(20):
                await talk.add(
                    f"Step {number}: {STATEMENT} It holds {number} paddles and a rope of {number} metres.", "Noted."
                )
            await talk.context("Go on.", recall=False)
            fork = await memory.threads.fork("talk", new_id="branch", share="prefix")
            assert await memory.threads.summaries(fork.id)
            assert (await memory.forget(thread="talk")).complete
            assert await _tables_with(scan_table, CANARY) == []

    async def test_a_child_is_forgotten_with_its_parent(self, memory: Any, scan_table: Any) -> None:
        async with memory.session("talk", user="ada") as talk:
            await talk.add("Hello.", "Hi.")
            helper = await talk.child("Look under the pier.", id="helper")
            await helper.add("What is there?", STATEMENT)
            assert (await memory.forget(thread="talk")).complete
            assert await memory.threads.get("helper") is None
            assert await _tables_with(scan_table, CANARY) == []

    async def test_the_result_of_a_child_is_forgotten_with_what_it_was_made_from(
        self, memory: Any, scan_table: Any
    ) -> None:
        call = {"id": "c1", "type": "function", "function": {"name": "delegate", "arguments": "{}"}}
        async with memory.session("talk", user="ada") as talk:
            helper = await talk.child("Look under the pier.", id="helper")
            await helper.add("What is there?", STATEMENT)
            result = await helper.result(f"A {CANARY}.")
            assert result.sources == ("helper#1", "helper#2", "helper#3")
            request = {"role": "assistant", "content": None, "tool_calls": [call]}
            await talk.add("Who is there?", request, result.message("c1"), "Something.")
            assert {step.id for step in (await memory.why("talk#3")).sources} >= set(result.sources)
            assert (await memory.forget(message="helper#3")).complete
            assert await _tables_with(scan_table, CANARY) == []
            context = await talk.context("And?", recall=False)
            assert "(no result" in str(context.messages()) and context.anthropic()["messages"]

    @pytest.mark.parametrize("provider", ["openai", "anthropic"])
    async def test_what_a_provider_compacted_is_forgotten_with_what_it_stands_for(
        self, memory: Any, scan_table: Any, provider: str
    ) -> None:
        item: Any = {"type": "compaction", "encrypted_content": f"opaque-{CANARY}"}
        if provider == "anthropic":
            item = {"role": "assistant", "content": [{**item, "content": STATEMENT, "signature": "s"}]}
        await _talk(memory)
        await memory.threads.append("talk", item, "And now?")
        (part,) = await memory.threads.compactions("talk")
        assert (part.provider, part.id, part.first, part.last) == (provider, "talk#4", 1, 3)
        assert (await memory.forget(message="talk#2")).complete
        assert await memory.threads.compactions("talk") == []
        assert await _tables_with(scan_table, CANARY) == []
        assert [message.text for message in await memory.threads.messages("talk")] == ["Hello.", "Noted.", "And now?"]

    async def test_copies_of_a_message_in_forks_are_redacted_with_it(self, memory: Any, scan_table: Any) -> None:
        await _talk(memory)
        await memory.threads.fork("talk", new_id="branch")
        await memory.threads.redact("talk#2")
        assert await _tables_with(scan_table, CANARY) == []
        assert [message.seq for message in await memory.threads.messages("talk")] == [1, 2, 3]

    async def test_recalled_text_in_a_fork_is_forgotten_with_its_source(self, memory: Any, scan_table: Any) -> None:
        await memory.facts.set("global", "boat", f"The boat at the pier is called {CANARY}.")
        async with memory.session("talk", user="ada") as talk:
            await talk.context("What is the boat at the pier called?")
            await talk.add("What is the boat at the pier called?", "A fine one.")
        await memory.threads.fork("talk", new_id="branch")
        assert CANARY in repr(await memory.threads.messages("branch"))
        assert (await memory.forget(fact="global/boat")).complete
        assert await _tables_with(scan_table, CANARY) == []
        texts = [message.text for message in await memory.threads.messages("branch")]
        assert texts == ["What is the boat at the pier called?", "A fine one."]

    async def test_a_plan_that_tidied_a_memory_is_forgotten_with_its_source(self, memory: Any, scan_table: Any) -> None:
        ada = memory.scope(user="ada")
        await ada.threads.create("user:ada", id="talk")
        await ada.threads.append("talk", f"I prefer the {CANARY}, please", "Once more: I prefer the boat")
        await ada.learnings.add(f"Prefers the {CANARY}, please", source="talk#1")
        await ada.learnings.add(f"Prefers the {CANARY} please.", source="talk#2")
        plan = await memory.tidy(user="ada")
        assert [line.op for line in plan.lines] == ["merge"]
        await plan.apply()
        assert (await memory.forget(message="talk#1")).complete
        assert await _tables_with(scan_table, CANARY) == []
        with pytest.raises(NotFound):
            await plan.undo()

    async def test_a_small_user_is_forgotten_in_few_commits(
        self, memory: Any, org: str, scan_table: Any, store_below: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await _talk(memory)
        for key in ("boat", "pier"):
            await memory.facts.set("user:ada", key, CANARY, source="talk#2")
        await memory.facts.set("user:bob", "of ada", CANARY, source="user:ada/boat")
        await memory.scope(user="ada").learnings.add(f"Likes the {CANARY}", source="talk#2")
        await memory.working.update(user="ada", scratchpad=CANARY)
        await memory.recall(CANARY)
        commits: list[Any] = []
        apply = store_below.apply

        async def counting(changes: Any, **options: Any) -> Any:
            if org in repr(changes):  # a server also commits the code that confirms the request, in an org of its own
                commits.append(changes)
            return await apply(changes, **options)

        monkeypatch.setattr(store_below, "apply", counting)
        assert (await memory.forget(user="ada")).complete
        assert len(commits) <= 4
        assert await _tables_with(scan_table, CANARY) == []

    async def test_forgetting_a_copy_leaves_its_source(self, memory: Any) -> None:
        await _talk(memory)
        await memory.threads.fork("talk", new_id="branch")
        await memory.forget(thread="branch")
        assert [message.text for message in await memory.threads.messages("talk")] == ["Hello.", STATEMENT, "Noted."]

    async def test_a_user_who_was_forgotten_and_returns_is_remembered(self, open_memory: Any) -> None:
        memory = open_memory(extract="rules")
        for _ in range(2):
            async with memory.session("talk", user="ada") as talk:
                await talk.add("I live in Lisbon.", "Noted.")
            fact = await memory.facts.get("user:ada", "location")
            assert fact is not None and fact.value == "Lisbon"
            await memory.forget(user="ada")
            assert await memory.facts.list("user:ada") == []

    async def test_a_forgotten_fact_comes_back_from_a_new_source_only(self, memory: Any, open_memory: Any) -> None:
        await _talk(memory)
        derive = open_memory(actor="processor").facts.set
        await derive("user:ada", "boat", "kayak", source="talk#2")
        await memory.forget(fact=("user:ada", "boat"))
        assert (await derive("user:ada", "boat", "kayak", source="talk#2")).status == "rejected"
        assert await memory.facts.get("user:ada", "boat") is None
        await derive("user:ada", "boat", "kayak", source="talk#3")
        assert (await memory.facts.get("user:ada", "boat")).sources == ("talk#3",)

    async def test_a_rejected_fact_comes_back_from_a_new_source_only(self, memory: Any, open_memory: Any) -> None:
        await _talk(memory)
        derive = open_memory(actor="processor").facts.set
        sources = ("talk#1", "talk#2")
        for source in sources:
            await derive("user:ada", "boat", "kayak", source=source)
        await memory.facts.reject("user:ada", "boat")
        for same in (*sources, None):
            await derive("user:ada", "boat", "kayak", source=same)
            assert await memory.facts.get("user:ada", "boat") is None
        await derive("user:ada", "boat", "kayak", source="talk#3")
        assert (await memory.facts.get("user:ada", "boat")).value == "kayak"

    async def test_a_deleted_learning_comes_back_from_a_new_source_only(self, memory: Any, open_memory: Any) -> None:
        await _talk(memory)
        learnings = open_memory(actor="processor").scope(user="ada").learnings
        learning = await learnings.add("Prefers kayaks", source="talk#2")
        assert learning.status == "active"
        await learnings.delete(learning.id)
        for source in ("talk#2", None):
            assert (await learnings.add("Prefers kayaks", source=source)).status == "rejected"
        assert await learnings.list() == []
        assert (await learnings.add("Prefers kayaks", source="a survey")).status == "active"
        await memory.forget(user="ada")
        assert (await learnings.add("Prefers kayaks", source="a survey")).status == "rejected"
        assert (await learnings.add("Prefers kayaks", source="another survey")).status == "active"

    async def test_a_source_that_stays_does_not_bring_back_what_a_user_had_of_it(
        self, memory: Any, open_memory: Any
    ) -> None:
        await memory.documents.add("global", "Ada has a kayak.", id="boats")
        derive = open_memory(actor="processor").facts.set
        await derive("user:ada", "boat", "kayak", source="boats")
        await memory.forget(user="ada")
        assert (await derive("user:ada", "boat", "kayak", source="boats")).status == "rejected"
        assert await memory.facts.get("user:ada", "boat") is None

    async def test_an_import_that_was_undone_and_is_repeated_is_remembered(self, memory: Any, tmp_path: Path) -> None:
        graph = tmp_path / "memory.jsonl"
        graph.write_text(
            '{"type":"entity","name":"Ada","entityType":"person","observations":["has a kayak"]}\n', "utf-8"
        )
        for _ in range(3):
            report = await memory.import_from(graph, namespace="user:ada")
            assert report.added == {"facts": 1}
            assert len(await memory.facts.list("user:ada")) == 1
            await memory.forget(source=report.source)
            assert await memory.facts.list("user:ada") == []
        await memory.import_from(graph, namespace="user:ada")
        [fact] = await memory.facts.list("user:ada")
        await memory.facts.reject("user:ada", fact.key)
        assert (await memory.import_from(graph, namespace="user:ada")).added == {}
        assert await memory.facts.list("user:ada") == []

    async def test_a_proposal_that_waits_for_review_is_forgotten_with_its_message(
        self, open_memory: Any, scan_table: Any
    ) -> None:
        memory = open_memory(extract="rules")
        await memory.gate.set(personal={"health": "review"})
        for thread in ("talk", "other"):
            await memory.threads.append(
                thread, {"role": "user", "content": f"I am allergic to {CANARY}{thread} nuts."}, create="user:ada"
            )
        await memory.jobs.drain(seconds=60)
        assert len(await memory.review.list(ns="user:ada")) == 2
        assert (await memory.forget(message="talk#1")).complete
        assert await _tables_with(scan_table, f"{CANARY}talk") == []
        [candidate] = await memory.review.list(ns="user:ada")
        assert candidate.sources == ("other#1",)
        assert (await memory.forget(thread="other")).complete
        assert await _tables_with(scan_table, CANARY) == []

    async def test_an_applied_tidy_plan_keeps_no_words_of_memories_it_left_alone(
        self, memory: Any, scan_table: Any
    ) -> None:
        await memory.facts.set("user:ada", f"note.{CANARY}", "tea")
        await memory.facts.set("user:ada", "city", "Porto")
        plan = await memory.tidy(user="ada", dry_run=False)
        assert plan.lines == []
        assert await memory.records.scan("user:ada") == []
        assert await plan.undo() == 0
        for key in ("drink", "beverage"):
            await memory.facts.set("user:ada", key, "green tea", text="Ada drinks green tea.")
        assert (await memory.tidy(user="ada", dry_run=False)).lines
        assert (await memory.forget(fact=f"user:ada/note.{CANARY}")).complete
        assert await _tables_with(scan_table, CANARY) == []

    async def test_a_request_to_forget_is_forgotten_with_its_message(self, open_memory: Any, scan_table: Any) -> None:
        memory = open_memory(extract="rules")
        for text in (f"Please remember that I love {CANARY} tea.", f"Please forget that I love {CANARY} tea."):
            await memory.threads.append("talk", {"role": "user", "content": text}, create="user:ada")
            await memory.jobs.drain(seconds=60)
        assert (await memory.forget(thread="talk")).complete
        assert await _tables_with(scan_table, CANARY) == []


async def _talk(memory: Any) -> None:
    await memory.threads.create("user:ada", id="talk")
    await memory.threads.append("talk", "Hello.", STATEMENT, {"role": "assistant", "content": "Noted."})


async def _tables_with(scan_table: Any, text: str) -> list[str]:
    """Return the tables of this org that contain a text, including expired rows."""
    return [
        record_type.table.name
        for record_type in RECORDS
        if any(text in repr(row) for row in await scan_table(record_type))
    ]
