"""Every example runs, and so does every code block of the README and the docs.

A block after a line `<!-- file: NAME -->` is a file; it lies in the folder in which the other blocks run. Python blocks
of a page share one namespace and run in order. Lines of ```console blocks that start with `$ photometer` run too,
unless the fence says no-run. ```text blocks are output and are not run.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.guards.sources import ROOT, SHOWN_FILE, none_of, place, write_files

pytestmark = pytest.mark.warm

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted(p for p in (ROOT / "examples").glob("*.py") if p.stem != "__init__")
FENCE = re.compile(r"^```(\w+)?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    # Files keep their lines, so that tracebacks name those of the page.
    text = SHOWN_FILE.sub(lambda found: "\n" * found[0].count("\n"), page.read_text())
    return [
        (text[: match.start()].count("\n") + 2, match.group(3))
        for match in FENCE.finditer(text)
        if match.group(1) == language and "no-run" not in match.group(2)
    ]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


def environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "100"}


# What takes over ten seconds, and uses nothing that tests of its own do not run before every commit.
NIGHTLY_EXAMPLES = ("end_to_end", "fuzzer", "simple_timeit")
NIGHTLY_COMMANDS = ("rates.md", "training.md")
NIGHTLY_PYTHON = ("environments.md", "compare-environments.md")


def unless_nightly(files: list[Path], nightly: tuple[str, ...]) -> list[Any]:
    """Return the files as parameters, those that are named marked for the nightly run."""
    assert set(nightly) <= {name for file in files for name in (file.name, file.stem)}
    return [
        pytest.param(file, id=name, marks=pytest.mark.nightly if name in nightly else ())
        for file in files
        for name in (file.stem if file.suffix == ".py" else file.name,)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("page", unless_nightly(pages_with("python"), NIGHTLY_PYTHON))
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path)
    namespace = {"__name__": "__main__"}
    for line, code in blocks(page, "python"):
        padded = "\n" * (line - 1) + code
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(padded, str(page), "exec"), namespace)


@pytest.mark.slow
@pytest.mark.parametrize("page", unless_nightly(pages_with("console"), NIGHTLY_COMMANDS))
def test_console_blocks_run(page: Path, tmp_path: Path) -> None:
    write_files(page, tmp_path)
    for line, text in blocks(page, "console"):
        for command in re.findall(r"^\$ (photometer .*)$", text, re.MULTILINE):
            done = subprocess.run(
                shlex.split(command), cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
            )
            # 3 and 4 are verdicts, not failures.
            assert done.returncode in (0, 3, 4), f"{page.name}:{line}: {command}\n{done.stdout}{done.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("example", unless_nightly(EXAMPLES, NIGHTLY_EXAMPLES))
def test_examples_run(example: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"examples.{example.stem}"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "an example shows something"


def test_pages_link_to_files_that_exist() -> None:
    none_of(
        f"{place(page)} links to {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / target).exists()
    )
