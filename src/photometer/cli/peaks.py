"""`photometer doctor --peaks`: measure and keep the machine's peak per second, which `--rates` needs."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from json import dumps
from typing import Annotated

import typer

from photometer.cli.numbers import MOST_THREADS
from photometer.cli.optional_values import LEFT_OUT
from photometer.cli.output_options import give_lines
from photometer.cli.printing import show_text
from photometer.model.records import to_record

PANEL = "With --peaks"


class ElementType(str, enum.Enum):
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


PeakThreads = Annotated[
    list[int] | None,
    typer.Option(
        "--threads",
        "-t",
        metavar="N",
        min=1,
        max=MOST_THREADS,
        help="Size of torch's thread pool (default: 1); repeat for several.",
        rich_help_panel=PANEL,
    ),
]
PeakType = Annotated[
    ElementType | None,
    typer.Option(
        "--dtype", metavar="NAME", help="Element type: float32, float64, bfloat16, float16.", rich_help_panel=PANEL
    ),
]
PeakDevice = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="[NAME]",
        help="Measure the accelerator, or this one: cuda, cuda:1, xpu, mps (default: the CPU).",
        rich_help_panel=PANEL,
    ),
]
PeakAgain = Annotated[
    bool, typer.Option("--again", help="Measure again, even if a result is kept.", rich_help_panel=PANEL)
]
PeakPython = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="PATH",
        help="Interpreter whose torch is used (default: this one).",
        rich_help_panel=PANEL,
    ),
]


def show_peaks(
    num_threads: Sequence[int],
    dtype: ElementType,
    device: str | None,
    python: str | None,
    *,
    again: bool,
    json: str | None,
) -> None:
    """Print what a matrix product and a copy reach."""
    from photometer.instruments.peaks import check_device, peak_of
    from photometer.model.machine import Environment
    from photometer.report.figures_text import peak_text
    from photometer.session.session import Session

    with Session(Environment.current() if python is None else Environment(python)) as session:
        name = _accelerator(session.facts().devices) if device == LEFT_OUT else device or "cpu"
        check_device(session, name)
        peaks = (
            peak_of(session, device=name, num_threads=count, dtype=dtype.value, again=again) for count in num_threads
        )
        if json is not None:
            give_lines(json, (dumps(to_record(peak)) for peak in peaks))
            return
        for peak in peaks:
            show_text(peak_text(peak))


def _accelerator(devices: Sequence[str]) -> str:
    for name in devices:
        if name != "cpu":
            return name
    raise typer.BadParameter("this machine has no accelerator that this torch can use")
