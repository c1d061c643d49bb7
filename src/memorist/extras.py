"""Provides the command that installs an optional part of the package.

Every error message that names an extra takes the command from here, so that only one place has to change when the
package is published.
"""

from __future__ import annotations

__all__ = ["install_command"]


def install_command(extra: str) -> str:
    """Return the command that installs an extra from a checkout of this repository."""
    return f'pip install ".[{extra}]"'
