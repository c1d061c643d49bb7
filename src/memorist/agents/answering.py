"""Answers hooks. It returns a brief at the start of a session and relevant notes for a prompt, and stores notes at the
end of a turn."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from ..errors import Conflict
from ..records import Fact
from ..values import JsonObject
from .notes import Note, find_notes, normal_text, note_key, storable
from .payloads import Hook
from .projects import Project, project_of

if TYPE_CHECKING:
    from ..engine.core import Core
    from ..engine.facts.facts import Facts
    from ..engine.learnings import Learnings
    from ..engine.state import State
    from ..engine.threads.threads import Threads

BRIEF_TOKENS, PROMPT_TOKENS = 700, 300
MAX_NOTES_PER_KIND = 8
MAX_PROMPT_HITS = 5
STATE_TTL_SECONDS = 7 * 86_400
REPEAT_SECONDS = 3_600
MAX_STATE_CHARACTERS = 2_000
WITHOUT_AFTER_COMPACTION = frozenset({"gemini-cli", "cursor", "copilot"})
"""These hosts have no event after a compaction, so the saved state is sent with the next prompt."""
LABELS = {
    "decision": "Decisions", "convention": "Conventions", "failure": "Tried and failed", "open": "Open tasks",
    "note": "Notes", "preference": "The user's preferences",
}  # fmt: skip


_Group = tuple[str, list[str]]
"""A label, and the lines to show below it."""


class HookResult(msgspec.Struct, frozen=True):
    """Contains the text that a hook sends to the agent, and the number of notes it stored."""

    context: str = ""
    stored: int = 0


class Nouns:
    """Provides the parts of a memory that the hooks use, each imported on first use. Importing a whole `Memory` would
    take longer than everything else that a hook does."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @cached_property
    def facts(self) -> Facts:
        from ..engine.facts.facts import Facts

        return self._core.part(Facts)

    @cached_property
    def learnings(self) -> Learnings:
        from ..engine.learnings import Learnings

        return self._core.part(Learnings)

    @cached_property
    def threads(self) -> Threads:
        from ..engine.threads.threads import Threads

        return self._core.part(Threads)

    @cached_property
    def state(self) -> State:
        from ..engine.state import State

        return self._core.part(State)


async def answer_hook(memory: Nouns, hook: Hook, user: str) -> HookResult:
    """Handle one hook event. Over a blocking core this coroutine never suspends."""
    project = project_of(hook.folder)
    turns = _Turn(memory, hook, project, user)
    if hook.moment == "start":
        return HookResult(await turns.brief())
    if hook.moment == "prompt":
        return await turns.prompt()
    if hook.moment == "before-tool":
        return HookResult(await turns.warn_of_failure())
    if hook.moment == "after-tool":
        return HookResult(stored=await turns.note_failure())
    if hook.moment in ("before-compaction", "stop", "end"):
        return HookResult(stored=await turns.keep())
    return HookResult(stored=await turns.keep_summary())


class _Turn:
    """Handles one hook in its project."""

    def __init__(self, memory: Nouns, hook: Hook, project: Project, user: str) -> None:
        self._memory, self._hook, self._project, self._user = memory, hook, project, f"user:{user}"
        self._thread = f"agent/{project.namespace}/{hook.session}"

    # What is said

    async def brief(self) -> str:
        """Return the brief for a new session in this repository. It contains the notes by kind, newest first, and the
        state of the task."""
        notes = await self._notes()
        groups: list[_Group] = []
        for kind, label in LABELS.items():
            texts = [_line(fact) for fact in notes if kind in fact.tags]
            texts += await self._remembered_preferences() if kind == "preference" else []
            groups.append((f"{label}:", texts[:MAX_NOTES_PER_KIND]))
        if self._hook.resumed:
            groups.append(await self._state_group())
        return self._fenced(groups, BRIEF_TOKENS)

    async def _remembered_preferences(self) -> list[str]:
        """Return the user's preferences that were remembered over MCP or by a program, not stored by hooks."""
        learnings = await self._memory.learnings.list(
            type="preference", limit=MAX_NOTES_PER_KIND, user=self._user.removeprefix("user:")
        )
        return [
            f"- {learning.content} ({learning.updated_at.date().isoformat()})"
            for learning in learnings
            if learning.status == "active"
        ]

    async def prompt(self) -> HookResult:
        """Store the prompt, and return the notes relevant to it."""
        prompt = storable(self._hook.prompt, self._project)
        if not prompt or not await self._is_first(prompt):
            return HookResult()
        groups: list[_Group] = [("", await self._relevant(prompt))]
        max_tokens = PROMPT_TOKENS
        if self._hook.agent in WITHOUT_AFTER_COMPACTION and (state := await self._state_group())[1]:
            groups.append(state)
            max_tokens = BRIEF_TOKENS
        source = await self._append("user", prompt)
        stored = await self._keep_notes(find_notes(self._hook.prompt, self._project, by_user=True), "user", source)
        return HookResult(self._fenced(groups, max_tokens), stored)

    async def _relevant(self, prompt: str) -> list[str]:
        from .matching import rank_notes

        notes = await self._notes()
        texts = [fact.text or str(fact.value) for fact in notes]
        indexes = rank_notes(prompt, texts, MAX_PROMPT_HITS, [fact.tags[0] for fact in notes])
        return [_line(notes[index], with_kind=True) for index in indexes]

    async def _notes(self) -> list[Fact]:
        """Return the notes of the project and the user's preferences, newest first."""
        notes = [fact for fact in await self._memory.facts.list(self._project.namespace) if fact.tags]
        notes += [fact for fact in await self._memory.facts.list(self._user) if "preference" in fact.tags]
        return sorted(notes, key=lambda fact: fact.updated_at, reverse=True)

    async def warn_of_failure(self) -> str:
        """Return the result of the last run of this command, if it failed."""
        fact = await self._memory.facts.get(self._project.namespace, _command_key(self._hook.command))
        return "" if fact is None else self._fenced([("", [_line(fact, with_kind=True)])], PROMPT_TOKENS)

    # What is kept

    async def note_failure(self) -> int:
        """Store a command that failed. A command that succeeds again is no longer a failure."""
        if not self._hook.failure and not self._hook.has_succeeded:
            return 0
        return await self._note_outcome(self._hook.command, self._hook.failure)

    async def _note_outcome(self, words: str, report: str) -> int:
        """Store or delete the note about a command. The report is empty if the command succeeded."""
        command, failure = storable(words, self._project), storable(report, self._project)
        if not command or "\n" in command:
            return 0
        key = _command_key(command)
        if not report:
            return -1 if await self._memory.facts.delete(self._project.namespace, key) else 0
        reason = next((line.strip() for line in reversed(failure.splitlines()) if line.strip()), "")[:160]
        text = f"`{command[:120]}` failed" + (f": {reason}" if reason else "")
        await self._set(key, Note("failure", text), {"command": command[:200]}, None)
        return 1

    async def keep(self) -> int:
        """Store the decisions, lessons and open tasks in the agent's last message, and the state of the task."""
        await self._note_transcript_outcomes()
        words = self._hook.answer or self._transcript_answer()
        answer = storable(words, self._project)
        if not answer or self._hook.is_repeated:
            if self._hook.moment == "before-compaction":
                await self._save_state()
            return 0
        source = await self._append("assistant", answer)
        stored = await self._keep_notes(find_notes(words, self._project, by_user=False), "assistant", source)
        if self._hook.moment == "before-compaction":
            await self._save_state()
        return stored

    def _transcript_answer(self) -> str:
        from .transcripts import last_answer

        return last_answer(self._hook.transcript) if self._hook.transcript else ""

    async def _note_transcript_outcomes(self) -> None:
        """Record which commands of the turn failed, for Codex, whose hooks receive the output without the exit code."""
        if self._hook.agent != "codex" or self._hook.moment != "stop" or not self._hook.transcript:
            return
        from .transcripts import command_reports

        for command, report in command_reports(self._hook.transcript).items():
            await self._note_outcome(command, report)

    async def keep_summary(self) -> int:
        """Store the host's own summary as the state of the task after a compaction."""
        summary = storable(self._hook.summary, self._project)
        if summary:
            await self._memory.state.set(self._state_key(), summary[:MAX_STATE_CHARACTERS], ttl=STATE_TTL_SECONDS)
        return int(bool(summary))

    async def _keep_notes(self, notes: list[Note], speaker: str, source: str | None = None) -> int:
        for note in notes:
            await self._set(note_key(note.text), note, {"speaker": speaker}, source)
        return len(notes)

    async def _set(self, key: str, note: Note, metadata: JsonObject, source: str | None) -> None:
        space = self._user if note.kind == "preference" else self._project.namespace
        await self._memory.facts.set(
            space, key, note.text, text=note.text, tags=[note.kind], source=source,
            metadata={"session": self._hook.session, "agent": self._hook.agent, **metadata},
        )  # fmt: skip

    async def _append(self, role: str, text: str) -> str | None:
        """Append a message to the session's thread only once, even if several hosts run the same hook, and return its
        id."""
        key = hashlib.sha256(f"{role}\0{text}".encode()).hexdigest()[:32]
        receipts = await self._memory.threads.append(
            self._thread, {"role": role, "content": text}, key=key, create=self._project.namespace
        )
        return receipts[0].message.id

    # The state of a task over a compaction

    def _state_key(self) -> str:
        return f"hook/state/{self._project.namespace}/{self._hook.session}"

    async def _save_state(self) -> None:
        has_thread = await self._memory.threads.get(self._thread) is not None
        messages = await self._memory.threads.recent(self._thread, 4) if has_thread else []
        lines = [f"{message.role}: {message.text[:400]}" for message in messages]
        if lines:
            state = "\n".join(lines)[:MAX_STATE_CHARACTERS]
            await self._memory.state.set(self._state_key(), state, ttl=STATE_TTL_SECONDS)

    async def _saved_state(self) -> str:
        """Return the saved state, but only once, because after that it is part of the conversation again."""
        state = await self._memory.state.get(self._state_key())
        if state is None:
            return ""
        await self._memory.state.delete(self._state_key())
        return str(state)

    async def _state_group(self) -> _Group:
        state = await self._saved_state()
        return "Before the compaction:", [state] if state else []

    async def _is_first(self, prompt: str) -> bool:
        """Return whether this prompt is still unanswered, because some hosts also run the hooks of other hosts."""
        digest = hashlib.sha256(f"{self._hook.session}\0{prompt}".encode()).hexdigest()[:24]
        try:
            await self._memory.state.set(f"hook/once/{digest}", 1, ttl=REPEAT_SECONDS, expect=0)
        except Conflict:
            return False
        return True

    def _fenced(self, groups: list[_Group], max_tokens: int) -> str:
        """Return the groups inside a marker that labels them as data. If they exceed the limit, remove lines from the
        end of the longest group, so that a long group leaves room for the shorter ones."""
        from ..context.tokens import open_counter

        counter = open_counter("estimate")
        groups = [(label, list(texts)) for label, texts in groups]
        while any(texts for _, texts in groups):
            lines = [line for label, texts in groups if texts for line in (label, *texts) if line]
            text = f'<memorist project="{self._project.name}">\n' + "\n".join(lines) + "\n</memorist>"
            if counter.count(text) <= max_tokens:
                return text
            max(groups, key=lambda group: len(group[1]))[1].pop()
        return ""


def _line(fact: Fact, *, with_kind: bool = False) -> str:
    label = f"[{fact.tags[0]}] " if with_kind and fact.tags else ""
    return f"- {label}{fact.text or fact.value} ({fact.updated_at.date().isoformat()})"


def _command_key(command: str) -> str:
    return f"command/{hashlib.sha256(normal_text(command).encode()).hexdigest()[:16]}"
