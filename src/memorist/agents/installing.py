"""Installs memory into a coding agent's configuration, and removes it again, byte for byte.

Before the installer changes a file, it saves the original bytes in a backup, together with a digest of the new content.
Uninstalling restores the original bytes if the file has not been changed since. Otherwise it removes only our entries.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
from pathlib import Path
from typing import Literal

import msgspec

from ..errors import UsageError
from .files import replace_file
from .hosts import Commands, ConfigFile, Where, files_of
from .json_text import NotJson, parse
from .payloads import AGENTS

State = Literal["installed", "changed", "outdated", "not installed"]


class Change(msgspec.Struct, frozen=True):
    """Describes the change to one file. `None` means that the file does not exist."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def is_needed(self) -> bool:
        """This is True if the file would change."""
        return self.before != self.after

    def diff(self) -> str:
        """Return the change as a unified diff."""
        old = (self.before or b"").decode("utf-8", "replace").splitlines(keepends=True)
        new = (self.after or b"").decode("utf-8", "replace").splitlines(keepends=True)
        before, after = ("/dev/null" if content is None else str(self.path) for content in (self.before, self.after))
        lines = difflib.unified_diff(old, new, before, after)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


class Backup(msgspec.Struct, frozen=True):
    """Holds the original content of a file (base64), and the digest of the content that the installer wrote."""

    path: str
    original: str | None
    digest: str


class Manifest(msgspec.Struct, frozen=True):
    """Lists the backups of one installation."""

    agent: str
    where: str
    files: list[Backup]
    folders: list[str] = []
    """These folders were created by the installation."""


class Installer:
    """Plans and performs installations for one agent, in a project or for the user."""

    def __init__(self, commands: Commands, where: Where, root: Path, *, home: Path, state: Path) -> None:
        if commands.agent not in AGENTS:
            raise UsageError(f"there is no agent {commands.agent!r}; use one of {', '.join(AGENTS)}")
        self._commands, self._where, self._state = commands, where, state
        self._files = files_of(commands, where, root, home)
        location = str(root if where == "project" else home)
        digest = hashlib.sha256(location.encode()).hexdigest()[:12]
        self._manifest_path = state / "installed" / f"{commands.agent}-{where}-{digest}.json"

    def plan(self) -> list[Change]:
        """Return the changes that an installation would make."""
        return [Change(file.path, _read(file.path), self._with_entries(file)) for file in self._files]

    def install(self) -> list[Change]:
        """Write the configuration. Files that are already correct are left alone."""
        changes = self.plan()
        earlier = {backup.path: backup for backup in self._manifest().files}
        folders = list(self._manifest().folders)
        backups = []
        for file, change in zip(self._files, changes, strict=True):
            # The backup never holds our own entries, and always what others have changed since.
            original = self._removal(file, earlier.get(str(change.path))).after
            backups.append(Backup(str(change.path), _encoded(original), _digest(change.after or b"")))
            folders += [folder for folder in _missing_folders(change.path.parent) if folder not in folders]
        # The backup is written first, so that a kill between the two loses nothing.
        self._write_manifest(Manifest(self._commands.agent, self._where, backups, folders))
        for change in changes:
            if change.is_needed and change.after is not None:
                change.path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(change.path, change.after)
        return changes

    def plan_removal(self) -> list[Change]:
        """Return the changes that an uninstallation would make."""
        backups = {backup.path: backup for backup in self._manifest().files}
        return [self._removal(file, backups.get(str(file.path))) for file in self._files]

    def uninstall(self) -> list[Change]:
        """Remove our entries from every file, and delete the files and folders created for them."""
        changes = self.plan_removal()
        for change in changes:
            if not change.is_needed:
                continue
            if change.after is None:
                change.path.unlink(missing_ok=True)
            else:
                replace_file(change.path, change.after)
        for folder in sorted(self._manifest().folders, key=len, reverse=True):
            if Path(folder).is_dir() and not any(Path(folder).iterdir()):
                Path(folder).rmdir()
        self._manifest_path.unlink(missing_ok=True)
        return changes

    def state(self) -> State:
        """Return the state of the agent's installation: installed, changed by others, from another version, or
        not installed."""
        manifest = self._manifest()
        if not manifest.files:
            return "not installed"
        contents = {backup.path: _read(Path(backup.path)) for backup in manifest.files}
        if any(content is None for content in contents.values()):
            return "changed"
        if any(change.is_needed for change in self.plan()):
            return "outdated"
        intact = all(_digest(contents[backup.path] or b"") == backup.digest for backup in manifest.files)
        return "installed" if intact else "changed"

    def _with_entries(self, file: ConfigFile) -> bytes:
        before = _read(file.path)
        try:
            text = (before or b"").decode("utf-8")
            after = file.add(text)
        except (NotJson, UnicodeDecodeError) as error:
            raise UsageError(f"{file.path} cannot be changed: {error}; add the entries by hand") from None
        if before is not None and _same(text, after):
            return before
        return after.encode()

    def _removal(self, file: ConfigFile, backup: Backup | None) -> Change:
        before = _read(file.path)
        if before is None:
            return Change(file.path, None, None)
        if backup is not None and _digest(before) == backup.digest:
            return Change(file.path, before, None if backup.original is None else base64.b64decode(backup.original))
        original = before if backup is None else base64.b64decode(backup.original or "")
        try:
            after = file.remove(before.decode("utf-8"), original.decode("utf-8"))
        except (NotJson, UnicodeDecodeError) as error:
            raise UsageError(f"{file.path} cannot be changed: {error}; remove the entries by hand") from None
        created = backup is not None and backup.original is None
        is_empty = after.strip() in ("", "{}")
        return Change(file.path, before, None if created and is_empty else after.encode())

    def _manifest(self) -> Manifest:
        if not self._manifest_path.is_file():
            return Manifest(self._commands.agent, self._where, [])
        return msgspec.json.decode(self._manifest_path.read_bytes(), type=Manifest)

    def _write_manifest(self, manifest: Manifest) -> None:
        self._manifest_path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self._manifest_path, msgspec.json.encode(manifest))


def _same(before: str, after: str) -> bool:
    """Return whether two texts contain the same configuration, regardless of formatting."""
    if before == after:
        return True
    try:
        return bool(parse(before).value == parse(after).value)
    except NotJson:
        return False


def _missing_folders(folder: Path) -> list[str]:
    return [str(path) for path in (folder, *folder.parents) if not path.exists()]


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _encoded(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
