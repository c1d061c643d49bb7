"""Implements Anthropic's memory tool. Each file is a fact, and its path is the key. It needs the `anthropic-memory`
extra."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand as CreateCommand,
)
from anthropic.types.beta import (
    BetaMemoryTool20250818DeleteCommand as DeleteCommand,
)
from anthropic.types.beta import (
    BetaMemoryTool20250818InsertCommand as InsertCommand,
)
from anthropic.types.beta import (
    BetaMemoryTool20250818RenameCommand as RenameCommand,
)
from anthropic.types.beta import (
    BetaMemoryTool20250818StrReplaceCommand as StrReplaceCommand,
)
from anthropic.types.beta import (
    BetaMemoryTool20250818ViewCommand as ViewCommand,
)

from ..errors import Conflict, UsageError
from ..memory import AsyncMemory
from ..records import Fact
from ..runtime import run_blocking
from .handles import Handles, Source

ROOT = "/memories"
MAX_LINES = 999_999
WIDTH = len(str(MAX_LINES))
MAX_ATTEMPTS = 20
Edit = Callable[[str], tuple[str, str]]
"""(text of a file) → (its new text, the message for the model)."""


class _Files:
    """Runs the commands of the memory tool on the files of one namespace. Both tools, blocking and async, use it."""

    def __init__(self, memory: AsyncMemory, space: str) -> None:
        self._memory = memory
        self._space = space

    async def view(self, command: ViewCommand) -> str:
        """Return a file with line numbers, or a directory up to two levels deep."""
        key = _key(command.path)
        fact = await self._file(key) if key else None
        if fact is not None:
            return _numbered_file(command.path, str(fact.value), command.view_range)
        inside = await self._below(key)
        if key and not inside:
            raise _missing(command.path)
        return _listing(command.path, key, inside)

    async def create(self, command: CreateCommand) -> str:
        """Create a file, or raise an error if the path exists."""
        key = _key(command.path)
        if not key or await self._below(key):
            raise ToolError(f"File {command.path} already exists")
        await self._no_file_above(key)
        try:
            await self._memory.facts.set(self._space, key, command.file_text, expect=0)
        except Conflict as conflict:
            raise ToolError(f"File {command.path} already exists") from conflict
        return f"File created successfully at: {command.path}"

    async def str_replace(self, command: StrReplaceCommand) -> str:
        """Replace text that must occur exactly once in a file."""

        def edit(content: str) -> tuple[str, str]:
            _check_unique(content, command)
            line = content[: content.find(command.old_str)].count("\n")
            changed = content.replace(command.old_str, command.new_str)
            lines = changed.split("\n")
            first, last = max(0, line - 2), min(len(lines), line + 3)
            snippet = "\n".join(_numbered(lines[first:last], first + 1))
            answer = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            return changed, answer + snippet

        return await self._edit(command.path, edit)

    async def insert(self, command: InsertCommand) -> str:
        """Insert text after a line."""

        def edit(content: str) -> tuple[str, str]:
            lines = content.split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= command.insert_line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {command.insert_line}. "
                    f"It should be within the range [0, {len(lines)}]."
                )
            lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
            text = "\n".join(lines)
            return text if text.endswith("\n") else f"{text}\n", f"The file {command.path} has been edited."

        return await self._edit(command.path, edit)

    async def delete(self, command: DeleteCommand) -> str:
        """Delete a file, or a directory with its contents."""
        key = _key(command.path)
        if not key:
            raise ToolError("Cannot delete the /memories directory itself")
        is_deleted = await self._memory.facts.delete(self._space, key)
        below = await self._below(key)
        async with self._memory.batch() as batch:
            for fact in below:
                await batch.facts.delete(self._space, fact.key)
        if not is_deleted and not below:
            raise ToolError(f"The path {command.path} does not exist")
        return f"Successfully deleted {command.path}"

    async def rename(self, command: RenameCommand) -> str:
        """Rename a file or a directory in one transaction."""
        old, new = _key(command.old_path), _key(command.new_path)
        if not old:
            raise ToolError("Cannot rename the /memories directory itself")
        if not new or await self._file(new) is not None or await self._below(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        await self._no_file_above(new)
        fact = await self._file(old)
        moved = [fact] if fact is not None else await self._below(old)
        if not moved:
            raise ToolError(f"The path {command.old_path} does not exist")
        try:
            async with self._memory.batch() as batch:
                for file in moved:
                    await batch.facts.delete(self._space, file.key, expect=file.version)
                    await batch.facts.set(self._space, new + file.key[len(old) :], file.value, expect=0)
        except Conflict as conflict:
            raise ToolError(f"{command.old_path} or its destination was changed meanwhile; try again") from conflict
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    async def clear(self) -> str:
        """Delete every file."""
        await self._memory.facts.delete_range(self._space, f"{ROOT[1:]}/")
        return "All memory cleared"

    async def _edit(self, path: str, edit: Edit) -> str:
        """Edit a file by compare-and-set. After a conflict, the edit is repeated on the new text."""
        key = _key(path)
        for left in range(MAX_ATTEMPTS - 1, -1, -1):
            fact = await self._file(key) if key else None
            if fact is None:
                directory = not key or await self._below(key)
                raise ToolError(f"The path {path} is not a file.") if directory else _missing(path)
            text, answer = edit(str(fact.value))
            try:
                await self._memory.facts.set(self._space, key, text, expect=fact.version)
                return answer
            except Conflict:
                if not left:
                    raise
        raise AssertionError("unreachable")

    async def _file(self, key: str) -> Fact | None:
        return await self._memory.facts.get(self._space, key)

    async def _below(self, key: str) -> list[Fact]:
        return await self._memory.facts.list(self._space, prefix=f"{key or ROOT[1:]}/")

    async def _no_file_above(self, key: str) -> None:
        """Raise an error if a parent directory of the path is a file."""
        parts = key.split("/")
        above = ["/".join(parts[:count]) for count in range(2, len(parts))]
        facts = await self._memory.facts.get_many(self._space, above) if above else []
        if any(fact is not None for fact in facts):
            raise ToolError(f"A part of the path /{key} is a file")


class _Options:
    def __init__(self, memory: Source, *, namespace: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._handles = Handles(memory)
        self._space = namespace or self._handles.space("anthropic-memory")


class MemoristMemoryTool(_Options, BetaAbstractMemoryTool):
    """This is the memory tool for a blocking client. It stores Claude's files as facts, with their history.

    `memory` is a `Memory`, an `AsyncMemory` or a URL; `namespace` contains the files, for example `user:ada`.
    """

    def _do(self, work: Callable[[_Files], Awaitable[str]]) -> str:
        return run_blocking(_raise_tool_error(work(_Files(self._handles.stepped, self._space))))

    def view(self, command: ViewCommand) -> str:
        """Show a file or a directory."""
        return self._do(lambda files: files.view(command))

    def create(self, command: CreateCommand) -> str:
        """Create a file."""
        return self._do(lambda files: files.create(command))

    def str_replace(self, command: StrReplaceCommand) -> str:
        """Replace text in a file."""
        return self._do(lambda files: files.str_replace(command))

    def insert(self, command: InsertCommand) -> str:
        """Insert text into a file."""
        return self._do(lambda files: files.insert(command))

    def delete(self, command: DeleteCommand) -> str:
        """Delete a file or a directory."""
        return self._do(lambda files: files.delete(command))

    def rename(self, command: RenameCommand) -> str:
        """Rename a file or a directory."""
        return self._do(lambda files: files.rename(command))

    def clear_all_memory(self) -> str:
        """Delete every file."""
        return self._do(lambda files: files.clear())

    def close(self) -> None:
        """Close the memory if it was opened from a URL."""
        self._handles.close()


class AsyncMemoristMemoryTool(_Options, BetaAsyncAbstractMemoryTool):
    """This is the memory tool for an async client."""

    async def _do(self, work: Callable[[_Files], Awaitable[str]]) -> str:
        return await _raise_tool_error(work(_Files(self._handles.awaited, self._space)))

    async def view(self, command: ViewCommand) -> str:
        """Show a file or a directory."""
        return await self._do(lambda files: files.view(command))

    async def create(self, command: CreateCommand) -> str:
        """Create a file."""
        return await self._do(lambda files: files.create(command))

    async def str_replace(self, command: StrReplaceCommand) -> str:
        """Replace text in a file."""
        return await self._do(lambda files: files.str_replace(command))

    async def insert(self, command: InsertCommand) -> str:
        """Insert text into a file."""
        return await self._do(lambda files: files.insert(command))

    async def delete(self, command: DeleteCommand) -> str:
        """Delete a file or a directory."""
        return await self._do(lambda files: files.delete(command))

    async def rename(self, command: RenameCommand) -> str:
        """Rename a file or a directory."""
        return await self._do(lambda files: files.rename(command))

    async def clear_all_memory(self) -> str:
        """Delete every file."""
        return await self._do(lambda files: files.clear())

    async def close(self) -> None:
        """Close the memory if it was opened from a URL."""
        await self._handles.aclose()


async def _raise_tool_error(work: Awaitable[str]) -> str:
    """Convert UsageError to ToolError, whose message the model sees."""
    try:
        return await work
    except UsageError as problem:
        raise ToolError(str(problem)) from problem


def _key(path: str) -> str:
    """Return the fact key of a path, which is empty for the root.

    Raises ToolError for a path outside `/memories`.
    """
    if not path.startswith(ROOT):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    if not path[len(ROOT) :].startswith("/") and path != ROOT:
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    clean = posixpath.normpath(path.replace("//", "/"))
    parts = path.replace("\\", "/").split("/")
    if (clean != ROOT and not clean.startswith(f"{ROOT}/")) or ("\\" in path and ".." in parts) or "\x00" in path:
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    return "" if clean == ROOT else clean[1:]


def _missing(path: str) -> ToolError:
    return ToolError(f"The path {path} does not exist. Please provide a valid path.")


def _numbered(lines: list[str], first: int) -> list[str]:
    return [f"{str(number).rjust(WIDTH)}\t{line}" for number, line in enumerate(lines, first)]


def _numbered_file(path: str, content: str, shown: list[int] | None) -> str:
    lines = content.split("\n")
    if len(lines) > MAX_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first = 1
    if shown and len(shown) == 2:
        first = max(1, shown[0])
        lines = lines[first - 1 : len(lines) if shown[1] == -1 else shown[1]]
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(_numbered(lines, first))


def _listing(path: str, key: str, inside: list[Fact]) -> str:
    start = len(key or ROOT[1:]) + 1
    sizes: dict[str, int] = {}
    total = 0
    for fact in inside:
        size = len(str(fact.value).encode())
        parts = fact.key[start:].split("/")
        if any(part.startswith(".") for part in parts):
            continue
        total += size
        for depth in range(1, min(2, len(parts)) + 1):
            name = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
            sizes[name] = sizes.get(name, 0) + size
    header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    rows = [f"{_size(total)}\t{path}", *(f"{_size(sizes[name])}\t{path}/{name}" for name in sorted(sizes))]
    return "\n".join([header, *rows])


def _size(count: float) -> str:
    if count == 0:
        return "0B"
    unit = 0
    while count >= 1024 and unit < 3:
        count, unit = count / 1024, unit + 1
    name = ("B", "K", "M", "G")[unit]
    return f"{int(count)}{name}" if count == int(count) else f"{count:.1f}{name}"


def _check_unique(content: str, command: StrReplaceCommand) -> None:
    count = content.count(command.old_str)
    if count == 0:
        raise ToolError(
            f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim in {command.path}."
        )
    if count > 1:
        places, at = [], content.find(command.old_str)
        while at != -1:
            places.append(content[:at].count("\n") + 1)
            at = content.find(command.old_str, at + 1)
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in lines: "
            f"{', '.join(map(str, places))}. Please ensure it is unique"
        )
