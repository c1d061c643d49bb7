"""The command line, run in this process: arguments in, exit status and both streams out."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from memorist.cli.main import main


class Ran(NamedTuple):
    """What a command did."""

    code: Any
    out: str
    err: str

    def json(self) -> Any:
        """Its standard output, parsed."""
        return msgspec.json.decode(self.out)


Memorist = Callable[..., Ran]


@pytest.fixture
def memorist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Memorist:
    """Runs `memorist …` in an empty folder, over the file it makes there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MEMORIST_URL", raising=False)
    monkeypatch.delenv("MEMORIST_HOT_URL", raising=False)

    def run(*args: str, input: str = "") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input.encode()), "utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(args)
        out, err = capsys.readouterr()
        assert "\x1b" not in out + err, "colour codes without a terminal"
        return Ran(ended.value.code, out, err)

    return run
