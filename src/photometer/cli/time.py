"""`photometer time STMT…`: like `python -m timeit`, but torch-aware. Several statements make a comparison."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from photometer.model.measurement import Measurement
    from photometer.timing import Timer


def register(app: typer.Typer) -> None:
    app.command("time", help="Time one or more statements.")(time_statements)


def time_statements(
    statements: list[str] = typer.Argument(..., metavar="STMT…", help="The code to time; several are compared."),
    setup: str = typer.Option("pass", "--setup", "-s", help="Code that runs before, untimed. torch is imported."),
    num_threads: int = typer.Option(1, "--num-threads", "-t", min=1, help="Size of torch's thread pool."),
    min_run_time: float = typer.Option(0.2, "--min-run-time", help="Seconds to measure each statement."),
    precision: float | None = typer.Option(
        None, "--precision", help="Measure until the 95 % interval is within ± this share of the median (0.01: 1 %)."
    ),
    max_run_time: float = typer.Option(10.0, "--max-run-time", help="At most so many seconds, with --precision."),
    label: str | None = typer.Option(None, "--label", help="The table's title."),
    device: bool = typer.Option(
        False, "--device", help="Time on the accelerator: host and device apart, cache hot and cold, graph replay."
    ),
    instructions: bool = typer.Option(
        False, "--instructions", help="Count instructions under Valgrind; two statements give what differs."
    ),
    number: int = typer.Option(100, "--number", min=1, help="Runs to count, with --instructions."),
    as_json: bool = typer.Option(False, "--json", help="Print the measurements as JSON, one a line."),
) -> None:
    from photometer.errors import PhotometerError, SnippetError
    from photometer.timing import Timer
    from photometer.worker.user_error import describe_exception

    if device:
        _time_on_device(
            [Timer(stmt, setup, label=label, num_threads=num_threads) for stmt in statements],
            {"min_run_time": min_run_time, "precision": precision, "max_run_time": max_run_time},
            as_json,
        )
        return
    if instructions:
        from photometer.cli.instructions import print_instructions

        timers = [Timer(stmt, setup, label=label, num_threads=num_threads) for stmt in statements]
        print_instructions(timers, number, as_json)
        return
    measurements = []
    for stmt in statements:
        try:
            timer = Timer(stmt, setup, label=label, num_threads=num_threads)
            measurements.append(
                timer.blocked_autorange(min_run_time=min_run_time, precision=precision, max_run_time=max_run_time)
            )
        except PhotometerError:
            raise
        except Exception as error:
            raise SnippetError(f"the statement failed: {stmt}", log=describe_exception(error)["traceback"]) from None
    if as_json:
        for measurement in measurements:
            typer.echo(json.dumps(measurement.to_json()))
    else:
        _print_for_people(measurements)


def _time_on_device(timers: list[Timer], options: dict[str, Any], as_json: bool) -> None:
    from photometer.errors import PhotometerError, SnippetError
    from photometer.report.device_table import render_device
    from photometer.worker.user_error import describe_exception

    for timer in timers:
        try:
            measurement = timer.measure_device(**options)
        except PhotometerError:
            raise
        except Exception as error:
            stmt = timer._task_spec.stmt
            raise SnippetError(f"the statement failed: {stmt}", log=describe_exception(error)["traceback"]) from None
        typer.echo(json.dumps(measurement.to_json()) if as_json else render_device(measurement))


def _print_for_people(measurements: list[Measurement]) -> None:
    if len(measurements) == 1:
        # The first line names the class; on a command line it says nothing.
        typer.echo(repr(measurements[0]).split("\n", 1)[1])
        return
    from photometer.compare import Compare

    comparison = Compare(measurements)
    comparison.trim_significant_figures()
    comparison.colorize()
    comparison.highlight_warnings()
    comparison.print()
