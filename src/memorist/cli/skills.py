"""Implements `memorist skills`, which installs Agent Skills that teach an assistant to use the memory and the
analyser."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from ..errors import NotFound, UsageError
from .grouping import Suggesting
from .session import Session, session_of


def skill_folders() -> list[Path]:
    """Return the folders of the skills in the package, or in the checkout it runs from."""
    package = Path(__file__).resolve().parent.parent
    for root in (package / "skills", package.parent.parent / "skills"):
        folders = sorted(file.parent for file in root.glob("*/SKILL.md"))
        if folders:
            return folders
    raise NotFound("this installation has no skills; install memorist again")


@click.group(cls=Suggesting)
def skills() -> None:
    """Manage skills for assistants, in the open Agent Skills format."""


@skills.command("list")
@session_of
def list_(session: Session) -> None:
    """List the skills."""
    session.show(
        [{"skill": folder.name, "files": len(_files(folder))} for folder in skill_folders()], ["skill", "files"]
    )


@skills.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace skills that already exist.")
@session_of
def install(session: Session, directory: Path, force: bool) -> None:
    """Copy the skills into DIRECTORY, such as ~/.claude/skills or .github/skills."""
    folders = skill_folders()
    existing = [folder.name for folder in folders if (directory / folder.name).exists()]
    if existing and not force:
        raise UsageError(f"{', '.join(existing)} is already in {directory}; --force replaces it")
    for folder in folders:
        target = directory / folder.name
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(folder, target)
    names = [folder.name for folder in folders]
    session.done({"installed": names, "directory": str(directory)}, f"installed {', '.join(names)} in {directory}")


def _files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]
