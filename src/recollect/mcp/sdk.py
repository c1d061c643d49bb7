"""Loads as much of the SDK as stdio needs: a client waits for the first answer, and half of the SDK is for others.

`import mcp` loads the client, the HTTP transports and a framework of its own, and builds a few hundred pydantic models.
A process that only serves stdio takes the two packages without their `__init__`, and lets models be built when they are
first used. Where the SDK is loaded already, nothing is changed.
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
    """Import the SDK's parts inside this block; for a process that does nothing else with it."""
    if any(name in sys.modules for name in _PACKAGES):
        yield
        return
    import pydantic

    bare = {name: _bare(name) for name in _PACKAGES}
    bare["mcp"].__dict__["server"] = bare["mcp.server"]
    config = pydantic.BaseModel.model_config
    config["defer_build"] = True
    # What is imported lives as long as the process: looking through it for garbage, again and again, finds none.
    gc.disable()
    try:
        yield
    finally:
        del config["defer_build"]
        gc.freeze()
        gc.enable()


def _bare(name: str) -> ModuleType:
    """A package of which only the submodules are loaded."""
    found = find_spec(name)
    assert found is not None and found.submodule_search_locations is not None
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = found.submodule_search_locations
    made = module_from_spec(spec)
    sys.modules[name] = made
    return made
