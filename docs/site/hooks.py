"""Hooks that add files from the root of the repository, and `llms.txt`, to the site.

The README, the changelog and the benchmark results are where people look for them on a code host. The hooks add each of
them to the site as a page, and rewrite the links in all pages so that they lead to the site's own copy.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from markdown.extensions.toc import slugify
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
BORROWED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting-a-flaw.md",
    **{str(path.relative_to(ROOT)): str(path.relative_to(ROOT)) for path in sorted((ROOT / "bench").rglob("*.md"))},
}
"""Files outside `docs/`, with their addresses on the site."""
PICTURES = sorted((ROOT / "bench" / "charts").glob("*.svg"))
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
IMAGE = re.compile(r'(src|srcset)="(?!https?://)([^"]+)"')
RESULTS_ANCHOR = re.compile(r"\]\((#[\w-]+)\)")
RESULTS = ROOT / "bench" / "RESULTS.md"


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and charts from outside `docs/`."""
    pages = {address: (ROOT / source).read_text("utf-8") for source, address in BORROWED.items()} | _results()
    for address, content in pages.items():
        if not files.get_file_from_path(address):
            files.append(File.generated(config, address, content=content))
    for picture in PICTURES:
        files.append(File.generated(config, str(picture.relative_to(ROOT)), abs_src_path=str(picture)))
    return files


def _results() -> dict[str, str]:
    """Return the benchmark results with one page per section, because they are too long for a single page."""
    head, *parts = re.split(r"^## ", RESULTS.read_text("utf-8"), flags=re.MULTILINE)
    titles = [part.partition("\n")[0] for part in parts]
    lists = "".join(f"- [{title}](results/{slugify(title, '-')}.md)\n" for title in titles)
    pages = {"bench/RESULTS.md": f"{head}## Parts\n\n{lists}"}
    for title, part in zip(titles, parts, strict=True):
        pages[f"bench/results/{slugify(title, '-')}.md"] = f"# {part}"
    return pages


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Rewrite links to the site's own pages. A link to a file that is not on the site becomes plain text."""
    address = page.file.src_uri
    sources = {site: source for source, site in BORROWED.items()} | dict.fromkeys(_results(), "bench/RESULTS.md")
    home = posixpath.dirname(sources.get(address, f"docs/{address}"))

    def on_site(link: str, anchor: str = "") -> str | None:
        target = posixpath.normpath(posixpath.join(home, link))
        site = BORROWED.get(target) or target.removeprefix("docs/")
        if site == "bench/RESULTS.md" and anchor:
            site = f"bench/results/{anchor.removeprefix('#')}.md"
        return posixpath.relpath(site, posixpath.dirname(address) or ".") if files.get_file_from_path(site) else None

    def link(match: re.Match[str]) -> str:
        mark, label, target, anchor = match.groups()
        site = on_site(target, anchor or "")
        if site and "bench/results/" in posixpath.normpath(posixpath.join(posixpath.dirname(address), site)):
            anchor = ""
        exists = (ROOT / posixpath.normpath(posixpath.join(home, target))).exists()
        if site is None:
            return label if exists else match.group(0)
        return f"{mark}[{label}]({site}{anchor or ''})"

    def image(match: re.Match[str]) -> str:
        site = on_site(match.group(2))
        up = "" if address == "index.md" else "../"  # each page is a folder on the site
        return f'{match.group(1)}="{up}{site}"' if site else match.group(0)

    if address.startswith("bench/results/") or address == "bench/RESULTS.md":
        markdown = RESULTS_ANCHOR.sub(r"](RESULTS.md\1)", markdown)
    return IMAGE.sub(image, LINK.sub(link, markdown))


def on_post_build(config: Any) -> None:
    """Write `llms.txt`, a list of the pages for language models, and `llms-full.txt`, which contains their text."""
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
