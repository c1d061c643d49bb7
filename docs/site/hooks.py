"""What the site needs beside its pages: files from the root of the repository, and `llms.txt`.

The README, the changelog and the benchmark results live where people look for them on a code host. The site shows them
too: each is added as a page, and links in all pages are rewritten so that they lead to the site's own copy.
"""

from __future__ import annotations

import ast
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
BORROWED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting-a-flaw.md",
    **{str(path.relative_to(ROOT)): str(path.relative_to(ROOT)) for path in sorted((ROOT / "bench").rglob("*.md"))},
}
"""Files outside `docs/`, by the address they get on the site."""
PICTURES = sorted((ROOT / "bench" / "charts").glob("*.svg"))
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
IMAGE = re.compile(r'(src|srcset)="(?!https?://)([^"]+)"')
NAMES = [ROOT / "src" / "memorist" / name for name in ("__init__.py", "types.py")]


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and charts from outside `docs/`."""
    for source, address in BORROWED.items():
        if not files.get_file_from_path(address):
            files.append(File.generated(config, address, content=(ROOT / source).read_text("utf-8")))
    for picture in PICTURES:
        files.append(File.generated(config, str(picture.relative_to(ROOT)), abs_src_path=str(picture)))
    return files


def _types() -> str:
    """The page of every public name that is not a noun: one heading per module that they live in."""
    homes: dict[str, list[str]] = {}
    for path in NAMES:
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_HOMES":
                for module, names in ast.literal_eval(node.value).items():
                    homes.setdefault(module, []).extend(names)
    lines: list[str] = []
    for module, names in homes.items():
        if module not in ("memory", "blocking.memory", "blocking.session", "blocking.tasks"):
            lines += [f"## {module}", "", *(f"::: memorist.{module}.{name}\n" for name in names)]
    return "\n".join(lines)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Point links at the site's own pages; a link to a file that is not on the site becomes its name."""
    address = page.file.src_uri
    sources = {site: source for source, site in BORROWED.items()}
    home = posixpath.dirname(sources.get(address, f"docs/{address}"))

    def on_site(link: str) -> str | None:
        target = posixpath.normpath(posixpath.join(home, link))
        site = BORROWED.get(target) or target.removeprefix("docs/")
        return posixpath.relpath(site, posixpath.dirname(address) or ".") if files.get_file_from_path(site) else None

    def link(match: re.Match[str]) -> str:
        mark, label, target, anchor = match.groups()
        site = on_site(target)
        exists = (ROOT / posixpath.normpath(posixpath.join(home, target))).exists()
        if site is None:
            return label if exists else match.group(0)
        return f"{mark}[{label}]({site}{anchor or ''})"

    def image(match: re.Match[str]) -> str:
        site = on_site(match.group(2))
        up = "" if address == "index.md" else "../"  # pages are folders on the site
        return f'{match.group(1)}="{up}{site}"' if site else match.group(0)

    if address == "reference/types.md":
        markdown += _types()
    return IMAGE.sub(image, LINK.sub(link, markdown))


def on_post_build(config: Any) -> None:
    """Write `llms.txt`, the list of pages for language models, and `llms-full.txt`, all their text."""
    pages = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
    lines, texts = [f"# {config['site_name']}", "", f"> {config['site_description']}", ""], []
    for path in pages:
        text = path.read_text("utf-8")
        title = next((line[2:] for line in text.splitlines() if line.startswith("# ")), path.stem)
        lines.append(f"- [{title}]({path.relative_to(ROOT)})")
        texts.append(text)
    site = Path(config["site_dir"])
    (site / "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")
    (site / "llms-full.txt").write_text("\n\n".join(texts), "utf-8")
