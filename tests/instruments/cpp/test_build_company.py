"""The machine code of a snippet is the same, whichever others are compiled in the same file."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from photometer.instruments.cpp.build import build_snippets
from photometer.instruments.cpp.snippet import BuiltSnippet, CppOptions, CppSnippet

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump (binutils) shows the machine code"),
]
SETUP = "auto x = torch::ones({4, 4}); auto y = torch::rand({4, 4});"
STATEMENTS = (
    "auto z = torch::empty({0});",
    "auto z = x + y;",
    "auto z = x.select(1, 1);",
    "x.add_(1);",
    "auto z = torch::matmul(x, y).sum();",
    "auto z = x.view({16}).contiguous();",
)
SNIPPETS = [CppSnippet(statement, SETUP) for statement in STATEMENTS]


def functions(library: Path) -> dict[str, str]:
    """Return the instructions of each function, without the addresses that they name, by its symbol."""
    command = ["objdump", "-d", "--no-show-raw-insn", "--no-addresses", str(library)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {}
    for part in text.split("\n\n"):
        head = re.match(r"<(.+)>:\n", part)
        if head is None or head.group(1).endswith("@plt"):
            continue
        body = re.sub(r"#.*|0x[0-9a-f]+(?=\(%rip\))", "", part[head.end() :])
        body = re.sub(r"<[^>]*\+0x[0-9a-f]+>", "<inside>", body)
        # Between functions, and to align loops.
        lines = [line.strip() for line in body.splitlines() if not re.search(r"\bnop|xchg +%ax,%ax|data16", line)]
        found[head.group(1)] = "\n".join(line for line in lines if line)
    return found


def built(snippets: list[CppSnippet], folder: Path) -> list[BuiltSnippet]:
    outcomes = build_snippets(snippets, options=CppOptions(cache_folder=folder, jobs=1))
    assert all(isinstance(outcome, BuiltSnippet) for outcome in outcomes)
    return [outcome for outcome in outcomes if isinstance(outcome, BuiltSnippet)]


def test_code_does_not_depend_on_company(tmp_path: Path) -> None:
    together = built(SNIPPETS, tmp_path / "together")
    assert len({one.library.stat().st_ino for one in together}) == 1
    everything = functions(together[0].library)
    for first in (0, 2, 4):
        pair = built(SNIPPETS[first : first + 2], tmp_path / f"pair-{first}")
        alone = functions(pair[0].library)
        own = [name for name in alone if any(one.symbol in name for one in pair)]
        assert len(own) >= 4
        assert {name: alone[name] for name in own} == {name: everything[name] for name in own}
        # What they call in torch's headers is the same code, too.
        shared = [name for name in alone if name in everything and len(alone[name].splitlines()) > 3]
        assert [name for name in shared if alone[name] != everything[name]] == []
