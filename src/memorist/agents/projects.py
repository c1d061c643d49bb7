"""Finds the repository and the user that a hook belongs to. Each repository has its own memory.

A repository is identified by its git remote, so that clones and worktrees share their memory. Without a remote, it is
identified by its path. This module only reads files, because starting `git` would take longer than the whole hook.
"""

from __future__ import annotations

import hashlib
import re
from fnmatch import fnmatch
from pathlib import Path

import msgspec

ALWAYS_IGNORED = (
    ".env", ".env.*", "*.pem", "*.key", "*.p12", "id_rsa*", "id_ed25519*", "*credentials*", "*secrets*", ".netrc"
)  # fmt: skip
IGNORE_FILE = ".memoristignore"
_REMOTE = re.compile(r'\[remote "(?P<name>[^"]+)"\](?P<body>[^\[]*)')
_PATH = re.compile(r"[\w./~-]*[./][\w./-]+")


class Project(msgspec.Struct, frozen=True):
    """Describes a repository or folder, and the paths in it that must not be stored."""

    root: Path
    name: str
    namespace: str
    ignored: tuple[str, ...] = ()

    def mentions_ignored(self, text: str) -> bool:
        """Return whether a text names a path that must not be stored."""
        return any(self._is_ignored(path) for path in _PATH.findall(text))

    def _is_ignored(self, path: str) -> bool:
        plain = path.removeprefix(f"{self.root}/").removeprefix("./").strip("/")
        parts = [plain, plain.rpartition("/")[2], *plain.split("/")]
        return any(
            fnmatch(part, pattern) or plain.startswith(f"{pattern}/") for pattern in self.ignored for part in parts
        )


def project_of(folder: str | Path) -> Project:
    """Return the project that a folder belongs to."""
    start = Path(folder).absolute()
    root = next((path for path in (start, *start.parents) if (path / ".git").exists()), start)
    remote = _remote_of(root)
    identity = _plain_remote(remote) if remote else str(root)
    # The name alone is not unique: many repositories are called `api`. With a remote, clones on several machines share
    # their notes.
    digest = hashlib.sha256(identity.encode()).hexdigest()[:10]
    name = re.sub(r"[^\w.-]+", "-", identity.rstrip("/").rpartition("/")[2]) or "project"
    return Project(root, name, f"workflow:{name}-{digest}", (*ALWAYS_IGNORED, *_ignore_patterns(root)))


def _remote_of(root: Path) -> str | None:
    config = _git_folder(root) / "config"
    if not config.is_file():
        return None
    # Read here instead of with `git`, because starting a process takes longer than a hook may.
    remotes = {match["name"]: match["body"] for match in _REMOTE.finditer(config.read_text("utf-8", "replace"))}
    body = remotes.get("origin") or next(iter(remotes.values()), "")
    url = re.search(r"^\s*url\s*=\s*(\S+)", body, re.MULTILINE)
    return url[1] if url else None


def _git_folder(root: Path) -> Path:
    """Return the folder that contains git's configuration. In a worktree, a file names this folder."""
    git = root / ".git"
    if not git.is_file():
        return git
    own = Path(git.read_text("utf-8", "replace").partition("gitdir:")[2].strip())
    own = own if own.is_absolute() else root / own
    common = own / "commondir"
    return (own / common.read_text("utf-8").strip()).resolve() if common.is_file() else own


def _plain_remote(url: str) -> str:
    """Return the remote without its protocol, login and suffix, so that https and ssh URLs identify the same
    repository."""
    plain = re.sub(r"^\w+://", "", url)
    # A URL may contain a password, which must not become part of a name.
    plain = plain.rpartition("@")[2].removesuffix("/").removesuffix(".git")
    return re.sub(r"^([^/:]+):(?!\d+/)", r"\1/", plain).lower()


def _ignore_patterns(root: Path) -> tuple[str, ...]:
    path = root / IGNORE_FILE
    if not path.is_file():
        return ()
    lines = (line.strip().strip("/") for line in path.read_text("utf-8", "replace").splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))
