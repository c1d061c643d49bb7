"""The site builds strictly and offline, shows every public name, and asks no other host for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

import memorist
import memorist.types
from tests.inspector.site import chromium

ROOT = Path(__file__).parents[2]
MAX_PAGE_PIXELS = 12_000
PROSE = [
    ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs", "bench", "examples")
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    pages = "".join(page.read_text("utf-8") for page in (site / "reference").rglob("index.html"))
    documented = set(re.findall(r'id="memorist\.[\w.]*?\.?(\w+)"', pages))
    names = (*memorist.__all__, *memorist.types.__all__)
    twins = {name for name in names if name.startswith("Async")}
    assert [
        name for name in names if name not in documented | twins | {"__version__", "run_with_memory", "Batch"}
    ] == []


def test_methods_of_the_nouns_are_in_the_reference(site: Path) -> None:
    nouns = {"facts": "facts.Facts.correct", "threads": "threads.Threads.append"}
    for page, name in nouns.items():
        assert f'id="memorist.blocking.{name}"' in (site / "reference" / page / "index.html").read_text("utf-8")
    pages = "".join((site / "reference" / page / "index.html").read_text("utf-8") for page in ("memory", "maintenance"))
    methods = [name for name, value in vars(memorist.Memory).items() if callable(value) and not name.startswith("_")]
    assert [name for name in methods if f'id="memorist.blocking.memory.Memory.{name}"' not in pages] == []


def test_no_page_is_longer_than_fifteen_screens(site: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        screen = browser.new_page(viewport={"width": 1280, "height": 800})
        heights: dict[str, int] = {}
        for page in sorted(site.rglob("index.html")):
            screen.goto(page.as_uri(), wait_until="domcontentloaded")
            heights[str(page.parent.relative_to(site))] = screen.evaluate("document.documentElement.scrollHeight")
        browser.close()
    assert {page: height for page, height in heights.items() if height > MAX_PAGE_PIXELS} == {}


def test_pages_ask_no_other_host(site: Path) -> None:
    foreign = re.compile(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']?(https?://[^\"' >]+)")
    hosts = {url for page in site.rglob("*.html") for url in foreign.findall(page.read_text("utf-8"))}
    assert hosts == set()


def test_language_models_get_a_list_of_pages(site: Path) -> None:
    listed = (site / "llms.txt").read_text("utf-8")
    assert "First memory in five minutes" in listed
    assert "def answer(talk, text)" in (site / "llms-full.txt").read_text("utf-8")


def test_words_are_spelled_right() -> None:
    pages = [str(page) for path in PROSE for page in ([path] if path.is_file() else sorted(path.rglob("*.md")))]
    ended = subprocess.run([sys.executable, "-m", "codespell_lib", *pages], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout


def test_drawings_are_what_their_script_writes() -> None:
    ended = subprocess.run([sys.executable, ROOT / "scripts/make-drawings", "--check"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
