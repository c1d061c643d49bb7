"""The TypeScript client and a program that uses it, checked by the compiler: run by `make api-check`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.mcp_server.node import installed, node

ROOT = Path(__file__).parents[3]
USE = Path(__file__).parent / "use.ts"
EXAMPLE = ROOT / "clients" / "typescript" / "examples" / "chat.ts"


@pytest.fixture(scope="module")
def compiler() -> Path:
    return installed("typescript", ("typescript@5.9.3",)) / "typescript" / "bin" / "tsc"


def test_the_client_and_a_program_that_uses_it_have_no_type_errors(compiler: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.ts"
    wrong.write_text(f'import {{ Memorist }} from "{ROOT}/clients/typescript/src/index.ts";\n' + WRONG, "utf-8")
    settings = tmp_path / "tsconfig.json"
    settings.write_text(
        f'{{"extends": "{ROOT}/clients/typescript/tsconfig.json", "include": ["wrong.ts", "{USE}", "{EXAMPLE}"], '
        '"compilerOptions": {"noEmit": true, "rewriteRelativeImportExtensions": false, '
        '"allowImportingTsExtensions": true}}',
        "utf-8",
    )
    process = subprocess.run([node(), compiler, "-p", "."], cwd=tmp_path, capture_output=True, text=True, check=False)
    places = [line.partition(",")[0] for line in process.stdout.splitlines() if not line.startswith(" ")]
    assert places == ["wrong.ts(3", "wrong.ts(4", "wrong.ts(5"], process.stdout


WRONG = """const memory = new Memorist("http://127.0.0.1");
await memory.facts.set({ ns: "user:ada", key: 7, value: 1 });
await memory.facts.get({ ns: "user:ada" });
const value: unknown = (await memory.facts.get({ ns: "user:ada", key: "k" })).value;
export { memory, value };
"""
"""A number for a key, a missing key, and a fact that may not be there."""
