"""Imports only the parts of the MCP SDK that stdio needs, so that the process answers its first request sooner.

`import mcp` loads the client, the HTTP transports and a framework, and builds a few hundred pydantic models. For a
process that only serves stdio, the two packages are registered without running their `__init__`, and models are built
on first use. If the SDK is already imported, nothing is changed.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType

_PACKAGES = ("mcp", "mcp.server")


@contextmanager
def sparing() -> Iterator[None]:
    """Make imports of the SDK cheap within this block. Use it only in a process that needs nothing but stdio."""
    if any(name in sys.modules for name in _PACKAGES):
        yield
        return
    import pydantic

    bare = {name: _bare(name) for name in _PACKAGES}
    bare["mcp"].__dict__["server"] = bare["mcp.server"]
    config = pydantic.BaseModel.model_config
    config["defer_build"] = True
    # Imported objects live as long as the process, so garbage collections during the import would be wasted.
    gc.disable()
    try:
        yield
    finally:
        del config["defer_build"]
        gc.freeze()
        gc.enable()


def _bare(name: str) -> ModuleType:
    """Return an empty package module, whose submodules can be imported without running its `__init__`."""
    package = find_spec(name)
    assert package is not None and package.submodule_search_locations is not None
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = package.submodule_search_locations
    module = module_from_spec(spec)
    sys.modules[name] = module
    return module
