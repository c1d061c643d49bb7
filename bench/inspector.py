"""The inspector in a real browser: size of the page, first row of a long thread, and how fast a context is drawn.

python -m bench.inspector
"""

from __future__ import annotations

import gzip
import statistics
import tempfile
from pathlib import Path

from tests.inspector.site import BrowserThread, Site, Window

import memorist
from memorist import Memory

MESSAGES = 100_000
FOLDER = Path(memorist.__file__).parent / "server" / "inspector"
FIRST_ROW = """hash => new Promise(done => {
  const start = performance.now();
  const look = () => {
    if (document.querySelector('.msg[data-row]')) done(performance.now() - start);
    else requestAnimationFrame(look);
  };
  location.hash = hash; requestAnimationFrame(look);
})"""
CONTEXT_DRAWN = """hash => new Promise(done => {
  performance.clearResourceTimings();
  const before = document.querySelector('.b-input') ? document.querySelector('.b-input').textContent : '';
  const look = () => {
    const box = document.querySelector('.b-input');
    const answers = performance.getEntriesByType('resource').filter(one => one.name.endsWith('inspect/context'));
    if (box && box.textContent !== before && answers.length)
      done(performance.now() - answers[answers.length - 1].responseEnd);
    else requestAnimationFrame(look);
  };
  location.hash = hash; requestAnimationFrame(look);
})"""


def compressed_bytes() -> int:
    """Bytes of everything the page loads, each file compressed by itself."""
    files = [path for path in FOLDER.rglob("*") if path.suffix in (".js", ".css", ".html", ".svg")]
    return sum(len(gzip.compress(path.read_bytes(), 9)) for path in files)


def long_thread(path: Path) -> str:
    """A file with one thread of many messages."""
    with Memory(str(path), worker=False, durability="normal", extract=None) as memory:
        thread = memory.threads.create("user:ada", title="Long").id
        for start in range(0, MESSAGES, 1000):
            batch = ({"role": "user", "content": f"Note {n}: ward {n % 5}."} for n in range(start, start + 1000))
            memory.threads.append(thread, *batch)
    return thread


def measure(window: Window, thread: str) -> tuple[list[float], list[float]]:
    """Milliseconds until the first row, and from the answer to the drawn context, a few times each."""
    rows, drawn = [], []
    for n in range(7):
        window.go("#/users")
        rows.append(window.page.evaluate(FIRST_ROW, f"#/thread?id={thread}&at={1 + n * 14_000}"))
    for n in range(7):
        query = f"thread={thread}&recall=off&policy=window&input=number+{n}"
        drawn.append(window.page.evaluate(CONTEXT_DRAWN, f"#/context?{query}"))
    return rows, drawn


def main() -> None:
    print(f"page, compressed: {compressed_bytes() / 1000:.1f} KB")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.db"
        thread = long_thread(path)
        site, browser = Site(path, worker=False), BrowserThread()
        browser.start()
        try:
            window = browser.run(browser.window, site)
            browser.run(window.enter)
            rows, drawn = browser.run(measure, window, thread)
            for name, figures in (("first row of 100,000 messages", rows), ("context drawn after the answer", drawn)):
                print(
                    f"{name}: median {statistics.median(figures):.0f} ms, worst {max(figures):.0f} ms of {len(figures)}"
                )
        finally:
            browser.stop()
            site.stop()


if __name__ == "__main__":
    main()
