"""Contains smoke tests of learnings, profiles, working memory, entities, documents and tasks, on every store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memorist.engine.working import Working
from memorist.errors import Conflict, Forbidden, InvalidValue, UsageError
from memorist.testing.clock import FakeClock


class Shop(Working):
    """Represents a template with user-defined fields."""

    cart: list[str] = []
    total: int = 0


class NounTests:
    """Tests the other nouns briefly. Each also has its own tests."""

    async def test_a_learning_is_kept_once_and_found(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        learning = await ada.learnings.add("prefers tea", confidence=0.9)
        again = await ada.learnings.add("prefers tea", confidence=0.9)
        assert again.id == learning.id
        assert [item.content for item in await ada.learnings.list()] == ["prefers tea"]
        assert await memory.scope(user="eve").learnings.list(min_confidence=0) == []
        assert await ada.learnings.delete(learning.id) is True

    async def test_a_profile_gathers_what_is_known_of_a_user(self, memory: Any) -> None:
        await memory.profile.set_preference("ada", "theme", "dark")
        await memory.facts.set("user:ada", "home", "Rome")
        profile = await memory.profile.get("ada")
        assert "dark" in repr(profile) and "Rome" in repr(profile)
        assert "dark" not in repr(await memory.profile.get("eve"))

    async def test_a_preference_is_that_of_the_handles_own_user_unless_another_is_named(self, memory: Any) -> None:
        ada = memory.scope(user="ada")
        await ada.profile.set_preference("theme", "dark")
        await ada.profile.set_preference(None, "size", 12)
        assert (await memory.profile.get("ada")).preferences == {"theme": "dark", "size": 12}
        with pytest.raises(UsageError):
            await memory.profile.set_preference("theme", "dark")
        with pytest.raises(UsageError):
            await ada.profile.set_preference("theme")
        with pytest.raises(Forbidden):
            await ada.profile.set_preference("eve", "theme", "dark")

    async def test_working_memory_lasts_a_day_from_its_last_write(self, memory: Any, clock: FakeClock) -> None:
        ada = memory.scope(user="ada")
        await ada.working.update(current_page={"route": "/a"})
        clock.advance(23 * 3600)
        await ada.working.record_action("open", "order-1")
        clock.advance(23 * 3600)
        assert (await ada.working.get()).current_page.route == "/a"
        clock.advance(3600)
        assert await ada.working.get() is None

    async def test_working_memory_has_the_fields_of_a_template(self, memory: Any) -> None:
        shop = memory.scope(user="ada").working.template(Shop)
        assert (await shop.update(cart=["tea"], scratchpad="ask for milk")).cart == ["tea"]
        assert (await shop.record_action("pay")).cart == ["tea"]
        document = await memory.working.template(Shop).get("ada")
        assert (document.cart, document.total, document.scratchpad) == (["tea"], 0, "ask for milk")
        assert (await memory.working.get("ada")).scratchpad == "ask for milk"
        assert (await shop.set(Shop(cart=["milk"], total=2))).total == 2
        for wrong in ({"total": "two"}, {"till": 1}):
            with pytest.raises(InvalidValue):
                await shop.update(**wrong)
        with pytest.raises(InvalidValue):
            await memory.scope(user="ada").working.update(cart=["tea"])
        assert (await shop.get()).cart == ["milk"]

    async def test_an_entity_is_loaded_once(self, memory: Any, clock: FakeClock) -> None:
        loads = []

        def load(id: str) -> dict[str, str]:
            loads.append(id)
            return {"id": id}

        for _ in range(3):
            assert await memory.entities.get("order", "1", load) == {"id": "1"}
        assert loads == ["1"]
        await memory.entities.invalidate("order", "1")
        await memory.entities.get("order", "1", load)
        clock.advance(3601)
        await memory.entities.get("order", "1", load)
        assert loads == ["1", "1", "1"]

    async def test_documents_are_read_from_files(self, memory: Any, tmp_path: Path) -> None:
        path = tmp_path / "handbook.html"
        path.write_text("<html><head><title>Handbook</title></head><body><h1>Rules</h1><p>Be kind.</p></body></html>")
        by_path = await memory.documents.add("global", path)
        assert (by_path.title, by_path.source, by_path.text) == ("Handbook", str(path), "# Rules\n\nBe kind.")
        by_bytes = await memory.documents.add("global", path.read_bytes(), source=str(path))
        assert (by_bytes.id, by_bytes.version) == (by_path.id, by_path.version)
        assert [chunk.heading for chunk in await memory.documents.chunks("global", by_path.id)] == ["Rules"]

    async def test_a_document_is_kept_in_pieces(self, memory: Any) -> None:
        document = await memory.documents.add("global", "# Head\n\n" + "A sentence here. " * 400, title="Long")
        assert (await memory.documents.get("global", document.id)).text == document.text
        assert len(await memory.documents.chunks("global", document.id)) == document.chunks > 1
        assert await memory.documents.delete("global", document.id) is True
        assert await memory.documents.list("global") == []

    async def test_a_checkpoint_is_resumed(self, memory: Any) -> None:
        await memory.tasks.save({"task_id": "import", "step": 1, "state": {"at": 5}})
        await memory.tasks.save({"task_id": "import", "step": 2, "state": {"at": 9}})
        checkpoint = await memory.tasks.resume("import")
        assert (checkpoint.step, checkpoint.state) == (2, {"at": 9})
        assert await memory.tasks.delete("import") is True
        assert await memory.tasks.resume("import") is None

    async def test_a_save_expects_the_stored_version_not_the_one_this_handle_saw_last(
        self, memory: Any, open_memory: Any
    ) -> None:
        other = open_memory()
        await memory.tasks.save({"task_id": "import", "step": 1})
        version = (await other.tasks.save({"task_id": "import", "step": 2})).version
        saved = await memory.tasks.save({"task_id": "import", "step": 3, "state": {"at": 1}}, expect=version)
        assert (saved.version, (await other.tasks.resume("import")).step) == (version + 1, 3)
        with pytest.raises(Conflict):
            await other.tasks.save({"task_id": "import", "step": 4}, expect=version)

    async def test_a_list_without_a_limit_gives_everything(self, memory: Any) -> None:
        numbers = list(range(1, 1101))
        keys = [f"k{number:04}" for number in numbers]
        await memory.facts.set_many("global", dict.fromkeys(keys, 1))
        assert [fact.key for fact in await memory.facts.list("global")] == keys
        assert [fact.key for fact in await memory.facts.list("global", limit=700, reverse=True)] == keys[::-1][:700]
        await memory.records.put_many("global", {("r", number): number for number in numbers})
        assert [record.data for record in await memory.records.scan("global", reverse=True)] == numbers[::-1]
        thread = await memory.threads.create("global")
        await memory.threads.append(thread.id, *[{"role": "user", "content": "hello"}] * len(numbers))
        assert [message.seq for message in await memory.threads.messages(thread.id)] == numbers
        assert [message.seq for message in await memory.threads.messages(thread.id, before=1050)] == numbers[:1049]
        near = await memory.threads.messages(thread.id, 600, before=1050)
        assert [message.seq for message in near] == numbers[449:1049]
        between = await memory.threads.messages(thread.id, before=1050, after=100)
        assert [message.seq for message in between] == numbers[100:1049]
