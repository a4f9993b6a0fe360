"""`photometer doctor`: finds what disturbs measurements on this machine, and says what to do about it.

With `--peaks`, it measures and keeps the machine's peak per second, which `--rates` needs.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.exit_codes import ExitCode
from photometer.cli.option_values import LEFT_OUT, MOST_THREADS, seconds_or_none
from photometer.cli.output_options import Json, folder_option, give_lines, wanted
from photometer.cli.printing import complain, say_aside, say_progress, show_rendered, show_text, terminal_width
from photometer.model.records import to_record
from photometer.model.results_folder import check_results_folder, make_results_folder
from photometer.report.tables.formats import JSON

if TYPE_CHECKING:
    from photometer.doctor.finding import Examination
    from photometer.report.tables.formats import Format

PAGE_NAME, PICTURE_NAME = "doctor.html", "noise.svg"


def register(app: typer.Typer) -> None:
    app.command("doctor", help="Find what disturbs measurements on this machine, and say what to do.")(doctor)


def doctor(
    noise_seconds: Annotated[
        float,
        typer.Option(
            "--noise-seconds", metavar="S", callback=seconds_or_none, help="Seconds of the noise test (default: 10)."
        ),
    ] = 10.0,
    output: Annotated[
        Path | None, folder_option("Folder for a page of the findings, and a picture of the noise test.")
    ] = None,
    json: Json = None,
    tune: Annotated[
        bool,
        typer.Option("--tune", help="Set governors and persistence mode first (as root); print how to undo it."),
    ] = False,
    peaks: Annotated[
        bool, typer.Option("--peaks", help="Measure the machine's peak instead: a matrix product and a copy.")
    ] = False,
    num_threads: PeakThreads = None,
    dtype: PeakType = None,
    device: PeakDevice = None,
    again: PeakAgain = False,
    python: PeakPython = None,
) -> None:
    if peaks:
        show_peaks(num_threads or [1], dtype or ElementType.FLOAT32, device, python, again=again, json=json)
        return
    if num_threads or dtype or device or again or python:
        raise typer.BadParameter("--threads, --dtype, --device, --again and --python are for --peaks")
    from photometer.doctor.examine import examine

    asked = wanted({JSON: json})
    if output is not None:
        check_results_folder(output)
    if tune:
        _tune(aside=asked.printed is JSON)
    examination = examine(noise_seconds=noise_seconds, on_noise=_progress(noise_seconds))
    asked.give(lambda each: _text(examination, each))
    if output is not None:
        _write(examination, output)
    raise typer.Exit(ExitCode.FINE if examination.is_good else ExitCode.FAILED)


def say_machine_line() -> None:
    """Print in one line what disturbs measurements here; call it before anything is started."""
    from photometer.doctor.examine import quick_look, summary_line

    say_aside(summary_line(quick_look()))


def _tune(*, aside: bool) -> None:
    from photometer.doctor.gpu import find_gpus
    from photometer.doctor.processor import SystemFiles
    from photometer.doctor.tune import tune
    from photometer.report.examination import render_changes

    text = render_changes(tune(SystemFiles(), find_gpus()))
    if aside:
        say_aside(text.rstrip())
    else:
        show_rendered(text + "\n")


def _progress(whole_seconds: float) -> Callable[[float], object]:
    if not sys.stderr.isatty():
        return lambda _: None

    def on_noise(passed: float) -> None:
        left = whole_seconds - passed
        is_last = left < 0.1
        say_progress(f"noise test: {max(left, 0):.0f} s left " if not is_last else " " * 30, is_last=is_last)

    return on_noise


def _record(examination: Examination) -> dict[str, object]:
    from photometer.doctor.noise_test import Work
    from photometer.model.records import to_record

    noise = examination.noise
    summary = {
        work.value: {
            "best_share": round(noise.best_share(work), 4),
            "interrupted_share": round(noise.interrupted_share(work), 4),
            "states": [to_record(state) for state in noise.states(work)],
        }
        for work in Work
        if noise is not None
    }
    return {"good": examination.is_good, **to_record(examination), "noise_summary": summary}


def _text(examination: Examination, format: Format) -> str:
    from photometer.report.examination import render_examination

    if format is JSON:
        return dumps(_record(examination), indent=1) + "\n"
    return render_examination(examination, terminal_width())


def _write(examination: Examination, folder: Path) -> None:
    from photometer.model.whole_file import write_text_whole
    from photometer.report.examination import doctor_page, noise_svg

    make_results_folder(folder)
    write_text_whole(folder / PAGE_NAME, doctor_page(examination))
    if examination.noise is not None:
        write_text_whole(folder / PICTURE_NAME, noise_svg(examination.noise))
    complain(f"wrote {folder / PAGE_NAME}")


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
        help="Measure the accelerator, or the one you name: cuda, cuda:1, xpu, mps (default: the CPU).",
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
    from photometer.instruments.work import check_device, peak_of
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
