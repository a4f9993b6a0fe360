"""The five commands that must work wherever they can, run as a user runs them, and what each printed."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.platforms import without

SUITE = """from photometer import TimerArgs
BENCHMARKS = {"add": TimerArgs("x + 1", "x = torch.ones(4)")}
"""
QUICK = ("--min-run-time", "0.02")


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a command runs: what is missing there."""

    refused: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    path: str | None = None
    python: str = sys.executable

    def command(self, words: Sequence[str]) -> list[str]:
        taken = []
        if self.refused:
            taken += ["--refuse", ",".join(self.refused)]
        if self.hidden:
            taken += ["--hide", ",".join(self.hidden)]
        if self.path is not None:
            taken += ["--path", self.path]
        run = [self.python, "-m", "photometer", *words]
        return [sys.executable, without.__file__, *taken, "--", *run] if taken else run

    def why_not(self) -> str | None:
        return without.why_not(bool(self.refused), bool(self.hidden)) if self.refused or self.hidden else None


def photometer(place: Place, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        place.command(words),
        cwd=folder,
        env={**variables, "PYTHONPATH": str(Path(__file__).parents[2] / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def words_of(name: str, folder: Path) -> list[str]:
    """Return a short form of each command; `report` needs what `run` wrote."""
    suite = folder / "suite.py"
    suite.write_text(SUITE)
    return {
        "time": ["time", "x + 1", "-s", "x = torch.ones(4)", *QUICK],
        "ab": ["ab", "x + 1", "x + x + 1", "-s", "x = torch.ones(4)", "--budget", "1"],
        "run": ["run", str(suite), "-o", str(folder / "results"), *QUICK],
        "compare": [
            "compare",
            "current",
            "env:EXAMPLE=1",
            "--suite",
            str(suite),
            "--budget",
            "1",
            "--fail-on",
            "never",
        ],
        "report": ["report", str(folder / "results"), "-o", str(folder / "page")],
    }[name]
