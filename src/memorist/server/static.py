"""Serves the inspector's files at `/`: plain ES modules and styles from `server/inspector/`, with no build step.

A path without a known file extension is an inspector page and gets `index.html`, so that every view has a URL that
can be opened and shared. The files contain no data. The page calls the API with the cookie from `browser.py`.
"""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .answers import not_found

FOLDER = Path(__file__).parent / "inspector"
TYPES = {
    ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon",
    ".json": "application/json", ".txt": "text/plain; charset=utf-8", ".woff2": "font/woff2",
}  # fmt: skip
"""Media types by file extension; files with other extensions are not served."""
_NOT_PAGES = ("v1", "mcp")


def inspector_route(folder: Path = FOLDER) -> Route:
    """Return the catch-all route, to be added last."""
    home = folder.resolve()

    async def file(request: Request) -> Response:
        path: str = request.path_params["path"]
        file_path = _file_in(home, path)
        if file_path is None:
            return not_found(request.scope.get("memorist.request", ""))
        return Response(file_path.read_bytes(), media_type=TYPES[file_path.suffix])

    return Route("/{path:path}", file, methods=["GET"], name="inspector")


def _file_in(home: Path, path: str) -> Path | None:
    first = path.partition("/")[0]
    last = path.rpartition("/")[2]
    if first in _NOT_PAGES or "\0" in path:
        return None
    # A page's URL may end in a name with a dot, so only known file extensions are looked up as files.
    name = path if Path(last).suffix in TYPES else "index.html"
    # `resolve` follows `..` and symbolic links, so the check below sees where a path really leads.
    candidate = (home / name).resolve()
    return candidate if candidate.is_relative_to(home) and candidate.suffix in TYPES and candidate.is_file() else None
