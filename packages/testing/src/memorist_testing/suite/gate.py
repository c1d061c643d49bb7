"""Tests the gate. Secrets and private words stay out of memory, indexes and exports, on every store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from memorist.errors import Forbidden, NotAdmitted, NotFound, UsageError
from memorist.extract.extraction import Extraction
from memorist.records import Candidate, Entry, Sweep
from memorist.stores.base import Delete, Put
from memorist.testing.clock import FakeClock

KEY = "sk-proj-q7Wm2Zx9Lk4Vb8Nc1Rt6Yu3Io5Pa0Sd9f2a"
CARD = "4111 1111 1111 1111"
TALK = "talk"


class GateTests:
    """Tests what may be written."""

    async def test_a_fact_with_a_secret_is_stored_masked(self, memory: Any) -> None:
        fact = await memory.facts.set("user:ada", "note", f"the key is {KEY}", metadata={"also": CARD})
        assert fact.value == "the key is sk-…9f2a"
        assert fact.metadata["memorist.masked"] == ["card-number", "openai-key"]
        assert await memory.facts.get("user:ada", "note") == fact
        assert KEY not in str(await memory.facts.history("user:ada", "note"))
        assert (await memory.gate.report()).masked == {"card-number": 1, "openai-key": 1}

    async def test_the_name_of_a_value_says_what_it_is(self, memory: Any) -> None:
        fact = await memory.facts.set("user:ada", "wifi_password", "Tr0ub4dor&3xyz")
        assert fact.value == "T…z"
        nested = await memory.facts.set("user:ada", "site", {"login": "ada", "password": "Tr0ub4dor&3xyz"})
        assert nested.value == {"login": "ada", "password": "T…z"}

    async def test_learnings_events_and_documents_are_masked_too(self, memory: Any) -> None:
        learning = await memory.learnings.add(f"Deploys with {KEY}", user="ada")
        event = await memory.events.add(f"Ada used {KEY}", ns="user:ada")
        document = await memory.documents.add("user:ada", f"Deploy with {KEY} on Friday.", title="Deploying")
        chunks = await memory.documents.chunks("user:ada", document.id)
        stored = [
            learning, await memory.learnings.get(learning.id, user="ada"), event,
            await memory.events.get(event.id, ns="user:ada"), document,
            await memory.documents.get("user:ada", document.id), *chunks,
        ]  # fmt: skip
        assert all(KEY not in str(row) and "sk-…9f2a" in str(row) for row in stored)
        assert (await memory.gate.report()).masked == {"openai-key": 3}

    async def test_a_batch_passes_the_same_gate(self, memory: Any) -> None:
        async with memory.batch() as batch:
            await batch.facts.set("user:ada", "note", KEY)
            assert (await batch.facts.get("user:ada", "note")).value == "sk-…9f2a"
        assert (await memory.facts.get("user:ada", "note")).value == "sk-…9f2a"

    async def test_a_policy_can_refuse_and_allow(self, memory: Any) -> None:
        await memory.gate.set(secrets={"card": "refuse", "openai-key": "allow"})
        with pytest.raises(NotAdmitted) as refusal:
            await memory.facts.set("user:ada", "card", CARD)
        assert refusal.value.facts["kinds"] == ["card-number"]
        assert CARD not in str(refusal.value)
        assert await memory.facts.get("user:ada", "card") is None
        assert (await memory.facts.set("user:ada", "key", KEY)).value == KEY
        assert (await memory.gate.report()).refused == {"card-number": 1}

    async def test_a_policy_is_checked_when_it_is_set(self, memory: Any) -> None:
        for wrong in (
            {"secrets": {"bananas": "mask"}}, {"secrets": {"card": "eat"}}, {"messages": "eat"},
            {"personal": {"email": "eat"}}, {"personal": {"shoes": "allow"}},
            {"retention": [{"kind": "shoes", "older_than": "3d"}]},
            {"retention": [{"kind": "fact", "older_than": "x"}]},
        ):  # fmt: skip
            with pytest.raises(UsageError):
                await memory.gate.set(**wrong)
        assert (await memory.gate.get()).messages == "keep"

    async def test_a_policy_is_the_orgs(self, memory: Any) -> None:
        await memory.gate.set(messages="mask")
        assert (await memory.gate.get()).messages == "mask"
        with pytest.raises(Forbidden):
            await memory.scope(user="ada").gate.set(messages="keep")
        assert await memory.gate.reset()
        assert (await memory.gate.get()).messages == "keep"

    async def test_messages_are_kept_as_they_are_unless_a_policy_says_otherwise(self, memory: Any) -> None:
        await memory.threads.create("user:ada", id=TALK)
        (receipt,) = await memory.threads.append(TALK, f"use {KEY}")
        assert (receipt.masked, receipt.message.text) == ((), f"use {KEY}")
        await memory.gate.set(messages="mask")
        (receipt,) = await memory.threads.append(TALK, {"role": "user", "content": [{"type": "text", "text": KEY}]})
        assert receipt.masked == ("openai-key",)
        assert [message.text for message in await memory.threads.messages(TALK)] == [f"use {KEY}", "sk-…9f2a"]
        assert (await memory.gate.report()).masked == {"openai-key": 1}
        await memory.gate.set(messages="refuse")
        with pytest.raises(NotAdmitted):
            await memory.threads.append(TALK, f"use {KEY}")
        assert len(await memory.threads.messages(TALK)) == 2

    async def test_a_refused_kind_is_refused_in_masked_messages_too(self, memory: Any) -> None:
        await memory.gate.set(secrets={"card": "refuse", "password": "allow"}, messages="mask")
        await memory.threads.create("user:ada", id=TALK)
        with pytest.raises(NotAdmitted) as refusal:
            await memory.threads.append(TALK, f"use {KEY}", f"pay with {CARD}")
        assert refusal.value.facts["kinds"] == ["card-number"]
        with pytest.raises(NotAdmitted):
            await memory.threads.replace(TALK, [f"pay with {CARD}"])
        assert await memory.threads.messages(TALK) == []
        (receipt,) = await memory.threads.append(TALK, f"use {KEY}, my password is Tr0ub4dor&3xyz")
        assert receipt.message.text == "use sk-…9f2a, my password is Tr0ub4dor&3xyz"
        assert (await memory.gate.report()).refused == {"card-number": 2}

    async def test_a_masked_message_is_checked_again_when_its_text_changes(self, memory: Any) -> None:
        await memory.gate.set(messages="mask")
        await memory.threads.create("user:ada", id=TALK)
        (receipt,) = await memory.threads.append(TALK, f"use {KEY}")
        (again,) = await memory.threads.append(
            TALK, msgspec.structs.replace(receipt.message, content=f"pay with {CARD}")
        )
        assert CARD not in again.message.text and "card-number" in again.masked
        (same,) = await memory.threads.append(TALK, "My password is Tr0ub4dor&3xyz")
        (copy,) = await memory.threads.append(TALK, same.message)
        assert copy.message.text == same.message.text == "My password is T…z"

    async def test_a_text_that_looks_encrypted_passes_the_same_gate(self, memory: Any, tmp_path: Path) -> None:
        await memory.gate.set(messages="mask")
        await memory.threads.create("user:ada", id=TALK)
        disguised = f"memorist-sealed:0123456789abcdef:{CARD}"
        (receipt,) = await memory.threads.append(TALK, disguised)
        assert receipt.masked == ("card-number",)
        fact = await memory.facts.set("user:ada", "note", disguised)
        assert CARD not in str(fact) and CARD not in str(await memory.threads.messages(TALK))
        await memory.gate.set(messages="keep")
        await memory.threads.append(TALK, disguised)
        await memory.export(tmp_path / "all.jsonl")
        assert CARD not in (tmp_path / "all.jsonl").read_text("utf-8")

    async def test_a_refused_kind_is_masked_in_exports_of_kept_messages(self, memory: Any, tmp_path: Path) -> None:
        await memory.gate.set(secrets={"card": "refuse"})
        await memory.threads.create("user:ada", id=TALK)
        await memory.threads.append(TALK, f"pay with {CARD}")
        await memory.export(tmp_path / "all.jsonl")
        assert CARD not in (tmp_path / "all.jsonl").read_text("utf-8")

    async def test_the_index_holds_no_secret(self, memory: Any) -> None:
        await memory.threads.create("user:ada", id=TALK)
        await memory.threads.append(TALK, f"the token for the deployment is {KEY}", "and what now?")
        hits = await memory.recall("deployment token", namespaces="user:ada")
        assert [hit.id for hit in hits[:1]] == ["talk#1"]
        part = KEY[8:]
        assert not [hit for hit in await memory.recall(part, namespaces="user:ada") if hit.score >= 1]

    async def test_an_export_holds_no_secret(self, memory: Any, tmp_path: Path) -> None:
        await memory.threads.create("user:ada", id=TALK)
        await memory.threads.append(TALK, f"the token is {KEY}")
        await memory.export(tmp_path / "all.jsonl")
        await memory.export(tmp_path / "chats.jsonl", to="openai")
        for name in ("all.jsonl", "chats.jsonl"):
            written = (tmp_path / name).read_text("utf-8")
            assert KEY not in written
            assert "9f2a" in written

    async def test_an_allowed_secret_is_exported(self, memory: Any, tmp_path: Path) -> None:
        await memory.gate.set(secrets={"api_key": "allow"})
        await memory.threads.create("user:ada", id=TALK)
        await memory.threads.append(TALK, f"the token is {KEY}")
        await memory.export(tmp_path / "all.jsonl")
        assert KEY in (tmp_path / "all.jsonl").read_text("utf-8")

    async def test_private_words_are_not_recalled(self, memory: Any) -> None:
        await memory.threads.create("user:ada", id=TALK)
        await memory.threads.append(
            TALK,
            {"role": "user", "content": "The zebra sleeps in Tromsø.", "metadata": {"private": True}},
            {"role": "user", "content": "My cat is old. <private>The walrus is in Ushuaia.</private> He likes fish."},
            {"role": "user", "content": "<PRIVATE >A narwhal sings.</private ><private note='x'>An ibex climbs."},
        )
        for name in ("narwhal", "ibex"):
            assert not [hit for hit in await memory.recall(name, namespaces="user:ada") if name in hit.text]
        assert not [hit for hit in await memory.recall("zebra Tromsø", namespaces="user:ada") if "zebra" in hit.text]
        hits = await memory.recall("old cat fish", namespaces="user:ada")
        assert [hit.text for hit in hits] == ["My cat is old.  He likes fish."]
        stored = await memory.threads.messages(TALK)
        assert "walrus" in stored[1].text and "zebra" in stored[0].text

    async def test_private_words_are_in_no_index_after_a_rebuild_either(self, memory: Any) -> None:
        await memory.threads.create("user:ada", id=TALK)
        await memory.threads.append(
            TALK, "My cat is old. <private>The walrus is in Ushuaia.</private>", "And his food?"
        )
        await memory.process("reindex")
        core = memory._core
        entries = await core.scan(Entry, "user:ada", "message")
        await core.apply(*(Put(msgspec.structs.replace(entry, analysis="earlier")) for entry in entries))
        await core.apply(Delete(Sweep, (core.org, "", "embed")), Delete(Sweep, (core.org, "user:ada", "embed")))
        [report] = await memory.process("reindex")
        rebuilt = await core.scan(Entry, "user:ada", "message")
        assert report.changed == len(rebuilt) == 2
        assert not [entry.id for entry in rebuilt if "walrus" in f"{entry.terms} {entry.context_terms}"]

    async def test_a_check_writes_nothing(self, memory: Any) -> None:
        check = await memory.gate.check(f"Mail ada@example.org, card {CARD}")
        assert (check.secrets, check.personal) == (["card-number"], ["email"])
        assert CARD not in check.text and "ada@example.org" in check.text
        assert (await memory.gate.report()).masked == {}

    async def test_personal_data_is_refused_or_expires_by_class(self, memory: Any, clock: FakeClock) -> None:
        await memory.gate.set(personal={"government_id": "refuse", "phone": "expire 30d"})
        with pytest.raises(NotAdmitted) as refusal:
            await memory.facts.set("user:ada", "note", "SSN 123-45-6789")
        assert refusal.value.facts["kinds"] == ["government_id"]
        fact = await memory.facts.set("user:ada", "contact", "call +49 170 1234567")
        assert (fact.expires_at - clock()).days == 30
        clock.advance(86_400 * 31)
        assert await memory.facts.get("user:ada", "contact") is None
        report = await memory.gate.report()
        assert (report.refused, report.expiring) == ({"government_id": 1}, {"phone": 1})

    async def test_rules_of_a_namespace_replace_those_of_the_org(self, memory: Any) -> None:
        await memory.gate.set(personal={"email": "refuse"}, namespaces={"workflow:*": {"email": "allow"}})
        with pytest.raises(NotAdmitted):
            await memory.facts.set("user:ada", "mail", "ada@example.org")
        assert (await memory.facts.set("workflow:crm", "mail", "ada@example.org")).value == "ada@example.org"
        assert (await memory.gate.report()).stored == {"email": 1}

    async def test_the_collector_applies_retention_rules(self, memory: Any, clock: FakeClock) -> None:
        await memory.gate.set(
            retention=[
                {"kind": "message", "older_than": "90d"},
                {"kind": "fact", "older_than": "10d", "tag": "trip"},
                {"kind": "learning", "older_than": "20d", "personal": "email", "namespace": "user:*"},
            ]
        )
        await memory.threads.create("user:ada", id=TALK)
        await memory.threads.append(TALK, "an old message about zebras")
        await memory.facts.set("user:ada", "hotel", "Ritz", tags=["trip"])
        await memory.facts.set("user:ada", "city", "Lisbon")
        await memory.learnings.add("Write to ada@example.org", user="ada")
        await memory.learnings.add("Prefers tea", user="ada")
        clock.advance(86_400 * 30)
        due = {state.rule: state.due for state in (await memory.doctor()).retention}
        assert due == {
            "message older than 90d": 0,
            "fact (tag trip) older than 10d": 1,
            "learning (email user:*) older than 20d": 1,
        }  # fmt: skip
        await memory.process("gc")
        assert [fact.key for fact in await memory.facts.list("user:ada")] == ["city"]
        assert await memory.facts.history("user:ada", "hotel") == []
        assert [row.content for row in await memory.scope(user="ada").learnings.list()] == ["Prefers tea"]
        assert len(await memory.threads.messages(TALK)) == 1
        clock.advance(86_400 * 61)
        await memory.threads.append(TALK, "a new message")
        await memory.process("gc")
        assert [message.text for message in await memory.threads.messages(TALK)] == ["a new message"]
        assert not [hit for hit in await memory.recall("zebras", namespaces="user:ada") if "zebras" in hit.text]
        assert {state.due for state in (await memory.doctor()).retention} == {0}


class DerivedGateTests:
    """Tests what may be derived from messages."""

    async def test_private_words_are_not_derived_from(self, open_memory: Any) -> None:
        memory = open_memory(extract="rules")
        await memory.threads.create("user:ada", id=TALK)
        receipts = await memory.threads.append(
            TALK,
            {"role": "user", "content": "I live in Oslo.", "metadata": {"private": True}},
            "<private>My name is Bea.</private> I am allergic to nuts.",
        )
        await memory.wait(receipts)
        keys = {fact.key.split(".")[0] for fact in await memory.facts.list("user:ada")}
        assert keys == {"allergy"}

    async def test_what_a_user_asks_not_to_remember_stays_out(self, open_memory: Any) -> None:
        memory = open_memory(extract="rules")
        await memory.threads.create("user:ada", id=TALK)
        receipts = await memory.threads.append(
            TALK,
            "I have a dog called Rex.",
            "Don't remember this: I live in Oslo.",
            "My name is Bea, but please don't save that.",
            "I am allergic to nuts. Do not store this.",
            "I don't remember this: was it Porto?\n\nI am vegan.",
        )
        await memory.wait(receipts)
        assert sorted(fact.key.split(".")[0] for fact in await memory.facts.list("user:ada")) == ["diet", "pet"]
        for word in ("Oslo", "Bea", "nuts"):
            assert not [hit for hit in await memory.recall(word, namespaces="user:ada") if word in hit.text]

    async def test_what_a_user_asks_not_to_remember_stays_out_in_every_language(self, open_memory: Any) -> None:
        memory = open_memory(extract="rules")
        await memory.threads.create("user:ada", id=TALK)
        withheld = (
            "Merk dir das nicht: Ich wohne in Kiel.",
            "J'habite à Lyon. N'enregistre pas ça, s'il te plaît.",
            "No recuerdes esto: vivo en Sevilla.",
            "Vivo a Roma, ma non salvarlo.",
            "Não guarde isso: moro em Lisboa.",
            "Ik woon in Gent. Sla dit alsjeblieft niet op.",
            "请不要记住这个：我住在上海。",
            "これは覚えないでください：私は東京に住んでいます。",
        )
        statement = "Ich habe einen Hund namens Rex. Merk dir das: Er ist alt."
        await memory.wait(await memory.threads.append(TALK, *withheld, statement))
        assert [fact for fact in await memory.facts.list("user:ada") if fact.key == "location"] == []
        hits = await memory.recall(
            "Kiel Lyon Sevilla Roma Lisboa Gent 上海 東京 Rex", namespaces="user:ada", min_score=0
        )
        assert {hit.text for hit in hits if hit.kind == "message"} == {statement}

    async def test_derived_personal_data_waits_for_review(self, open_memory: Any) -> None:
        memory = open_memory(extract="rules")
        await memory.gate.set(personal={"health": "review"})
        await memory.threads.create("user:ada", id=TALK)
        await memory.wait(await memory.threads.append(TALK, "My name is Ada. I am allergic to nuts."))
        assert [fact.key for fact in await memory.facts.list("user:ada")] == ["name"]
        (candidate,) = await memory.review.list(ns="user:ada")
        assert candidate.reason == "personal data: health"
        assert (await memory.gate.report()).held == {"health": 1}
        with pytest.raises(
            NotFound, match="no such candidate in global; for a candidate in another namespace, pass ns="
        ):
            await memory.review.approve(candidate.id)
        await memory.review.approve(candidate.id, ns="user:ada")
        assert "nuts" in str([fact.value for fact in await memory.facts.list("user:ada")])

    async def test_derived_personal_data_can_be_refused(self, open_memory: Any) -> None:
        memory = open_memory(extract="rules")
        await memory.gate.set(personal={"health": "refuse"})
        await memory.threads.create("user:ada", id=TALK)
        await memory.wait(await memory.threads.append(TALK, "My name is Ada. I am allergic to nuts."))
        assert [fact.key for fact in await memory.facts.list("user:ada")] == ["name"]
        assert await memory.review.list(ns="user:ada") == []
        assert (await memory.gate.report()).refused == {"health": 1}

    @pytest.mark.parametrize(
        ("admit", "active", "waiting"),
        [
            ("active", ["allergy", "name"], []),
            ("review", [], ["allergy", "name"]),
            ("refuse", [], []),
            ({"allergy": "review"}, ["name"], ["allergy"]),
            ({"fact": "review", "name": "refuse"}, [], ["allergy"]),
        ],
    )
    async def test_the_application_decides_what_the_rules_may_note(
        self, open_memory: Any, admit: Any, active: list[str], waiting: list[str]
    ) -> None:
        memory = open_memory(extract=Extraction(admit=admit))
        await memory.threads.create("user:ada", id=TALK)
        await memory.wait(await memory.threads.append(TALK, "My name is Ada. I am allergic to nuts."))
        assert sorted(fact.key.split(".")[0] for fact in await memory.facts.list("user:ada")) == active
        candidates = await memory.review.list(ns="user:ada")
        assert sorted(candidate.proposal["key"].split(".")[0] for candidate in candidates) == waiting
        # What waits is not recalled, and not in a context.
        hits = await memory.recall("nuts", namespaces="user:ada", kinds=["fact"])
        assert bool(hits) == ("allergy" in active)

    async def test_undoing_an_approval_puts_the_memory_back_into_the_queue(
        self, open_memory: Any, clock: FakeClock
    ) -> None:
        memory = open_memory(extract=Extraction(admit="review"))
        await memory.threads.create("user:ada", id=TALK)
        await memory.wait(await memory.threads.append(TALK, "I live in Oslo."))
        (candidate,) = await memory.review.list(ns="user:ada")
        ada = memory.scope(user="ada")
        for _ in range(2):  # and it can be approved again
            clock.advance(60)
            approved = await ada.review.approve(candidate.id)
            assert (approved.value, await ada.review.list()) == ("Oslo", [])
            assert await ada.review.get(candidate.id) is None
            with pytest.raises(NotFound):
                await ada.review.approve(candidate.id)
            assert await ada.memories.undo(approved.id) is None
            assert await ada.facts.get("location") is None
            (again,) = await ada.review.list()
            assert (again.id, again.proposal, again.sources) == (candidate.id, candidate.proposal, candidate.sources)
        actions = [event.action for event in await memory.audit.list(subject=f"user:ada/{candidate.id}")]
        assert actions.count("approve") == actions.count("undo") == 2

    async def test_undoing_an_approved_change_restores_the_value_before(
        self, open_memory: Any, clock: FakeClock
    ) -> None:
        memory = open_memory(extract=Extraction(admit="review"))
        ada = memory.scope(user="ada")
        await ada.facts.set("location", "Porto", valid_from="2020-01-01T00:00:00+00:00")
        await memory.threads.create("user:ada", id=TALK)
        await memory.wait(await memory.threads.append(TALK, "I moved to Oslo."))
        (candidate,) = await ada.review.list()
        for _ in range(2):  # and it can be approved again
            clock.advance(60)
            approved = await ada.review.approve(candidate.id)
            assert (await ada.facts.get("location")).value == "Oslo"
            clock.advance(60)
            assert (await ada.memories.undo(approved.id)).value == "Porto"
        assert [waiting.id for waiting in await ada.review.list()] == [candidate.id]
        # A change that nobody had approved leaves the queue as it is.
        await ada.facts.set("location", "Rome")
        assert (await ada.memories.undo("fact:location")).value == "Porto"
        assert len(await ada.review.list()) == 1

    async def test_an_approved_candidate_is_forgotten_with_its_memory(self, open_memory: Any) -> None:
        memory = open_memory(extract=Extraction(admit="review"))
        await memory.threads.create("user:ada", id=TALK)
        await memory.wait(await memory.threads.append(TALK, "I live in Oslo."))
        (candidate,) = await memory.review.list(ns="user:ada")
        approved = await memory.review.approve(candidate.id, ns="user:ada")
        assert len(await memory._core.scan(Candidate, "user:ada")) == 1
        await memory.forget(fact=("user:ada", approved.key))
        assert await memory._core.scan(Candidate, "user:ada") == []
