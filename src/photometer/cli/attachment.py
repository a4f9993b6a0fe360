"""The end of `photometer compare -o DIR`: flame graphs of what became slower, and DIR/bundle.zip for a pull request."""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from photometer.analysis.comparison_result import EnvironmentComparison
    from photometer.environments.resolved import ResolvedEnvironment
    from photometer.plan.work_order import WorkOrders
    from photometer.pull_request import Compared

# A thousand samples a side: frames of 3 % of the time are then known to a fifth.
RECORDED_SECONDS = 5.0


class Flames(str, enum.Enum):
    ALL = "all"
    SLOWER = "slower"
    NONE = "none"


class Attachment:
    """`draw` is called while both sides can still be started, `write` when all is printed. Neither without a folder."""

    def __init__(self, folder: Path | None, which: Flames, instructions: bool) -> None:
        self._folder = folder
        self._which = which
        self._instructions = instructions
        self._compared: Compared | None = None

    def draw(
        self,
        sides: tuple[ResolvedEnvironment, ResolvedEnvironment],
        plan: WorkOrders,
        comparison: EnvironmentComparison,
    ) -> None:
        if self._folder is None:
            return
        from photometer.execution.flame_run import LookSettings
        from photometer.pull_request import Compared, draw_flames

        self._compared = draw_flames(
            Compared(comparison, sides, plan),
            self._folder,
            self._which.value,
            settings=LookSettings(counted=self._instructions, duration_seconds=RECORDED_SECONDS),
            on_work=lambda title: typer.echo(f"flame graph, {title}", err=True) if sys.stderr.isatty() else None,
        )

    def write(self) -> None:
        if self._folder is None or self._compared is None:
            return
        from photometer.pull_request import attach

        for problem in self._compared.flames.problems:
            typer.echo(f"photometer: {problem}", err=True)
        # Of the command as it was typed, only the way to photometer is not to be repeated.
        path = attach(self._compared, self._folder, ["photometer", *sys.argv[1:]])
        typer.echo(f"To attach to a pull request: {path}", err=True)
