"""`photometer doctor`: what on this machine disturbs measurements, and what to do about it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.exit_codes import ExitCode
from photometer.cli.numbers import seconds_or_none
from photometer.cli.peaks import ElementType, PeakAgain, PeakDevice, PeakPython, PeakThreads, PeakType, show_peaks
from photometer.cli.printing import complain, say_aside, say_progress, show_rendered, show_text, terminal_width

if TYPE_CHECKING:
    from photometer.doctor.finding import Examination

SUFFIXES = (".svg", ".html", ".json")


def register(app: typer.Typer) -> None:
    app.command("doctor", help="Say what on this machine disturbs measurements, and what to do.")(doctor)


def doctor(
    noise_seconds: Annotated[
        float,
        typer.Option(
            "--noise-seconds", metavar="S", callback=seconds_or_none, help="Length of the noise test (default: 10)."
        ),
    ] = 10.0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write a .svg, .html or .json file too.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all findings as JSON.")] = False,
    tune: Annotated[
        bool,
        typer.Option("--tune", help="Set governors and persistence mode first (as root); say how to undo it."),
    ] = False,
    peaks: Annotated[
        bool, typer.Option("--peaks", help="Measure instead what this machine can do: a matrix product and a copy.")
    ] = False,
    num_threads: PeakThreads = None,
    dtype: PeakType = None,
    device: PeakDevice = None,
    again: PeakAgain = False,
    python: PeakPython = None,
) -> None:
    if peaks:
        show_peaks(num_threads or [1], dtype or ElementType.FLOAT32, device, python, again=again, as_json=as_json)
        return
    if num_threads or dtype or device or again or python:
        raise typer.BadParameter("--num-threads, --dtype, --device, --again and --python are for --peaks")
    from photometer.doctor.examine import examine

    if output is not None and output.suffix not in SUFFIXES:
        raise typer.BadParameter(f"{output}: the name must end in {', '.join(SUFFIXES)}")
    if output is not None and output.suffix == ".svg" and not noise_seconds:
        raise typer.BadParameter("the picture is of the noise test: leave --noise-seconds out, or write .html")
    if tune:
        _tune(aside=as_json)
    examination = examine(noise_seconds=noise_seconds, on_noise=_progress(noise_seconds))
    if as_json:
        show_text(json.dumps(_record(examination), indent=1))
    else:
        from photometer.report.doctor_text import render_examination

        show_rendered(render_examination(examination, terminal_width()))
    if output is not None:
        _write(examination, output)
    raise typer.Exit(ExitCode.FINE if examination.is_good else ExitCode.FAILED)


def say_machine_line() -> None:
    """Say in one line what disturbs measurements here; call it before anything is started."""
    from photometer.doctor.examine import quick_look, summary_line

    say_aside(summary_line(quick_look()))


def _tune(*, aside: bool) -> None:
    from photometer.doctor.gpu import find_gpus
    from photometer.doctor.processor import SystemFiles
    from photometer.doctor.tune import tune
    from photometer.report.doctor_text import render_changes

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


def _write(examination: Examination, output: Path) -> None:
    from photometer.model.whole_file import write_text_whole
    from photometer.report.doctor_page import doctor_page, noise_svg

    if output.suffix == ".json":
        text = json.dumps(_record(examination), indent=1) + "\n"
    elif output.suffix == ".svg":
        assert examination.noise is not None
        text = noise_svg(examination.noise)
    else:
        text = doctor_page(examination)
    write_text_whole(output, text)
    complain(f"wrote {output}")
