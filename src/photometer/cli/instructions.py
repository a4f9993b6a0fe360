"""`photometer time --instructions`: counts, the costliest functions, and for two statements what differs."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from photometer.instruments.callgrind.count_task import CountedTask
    from photometer.timing import Timer

REPEATS = 3


def print_instructions(timers: list[Timer], number: int, as_json: bool) -> None:
    """Count every statement with one server and print what came out."""
    from photometer.report.instructions_text import render_counts, render_difference, render_top_functions

    counted = [_count(timer, number) for timer in timers]
    counts = [each.instruction_counts() for each in counted]
    if as_json:
        for record in counts:
            typer.echo(json.dumps(record.to_json()))
        return
    width = shutil.get_terminal_size().columns
    typer.echo(render_counts(counts, width))
    functions = [each.function_counts() for each in counted]
    if len(counted) == 2:
        typer.echo("\nWhat differs, in instructions a run:")
        typer.echo(render_difference(functions[0], functions[1], number, width))
    else:
        for record, each in zip(counts, functions, strict=True):
            typer.echo(f"\nWhere {record.task_spec.title} executes them (the loop included):")
            typer.echo(render_top_functions(each, number, width))
    _print_second_source(timers, number)


def _print_second_source(timers: list[Timer], number: int) -> None:
    from photometer.instruments.perf_counter import perf_refusal

    refusal = perf_refusal()
    if refusal is not None:
        typer.echo(f"\nNo second source: {refusal}", err=True)
        return
    typer.echo("\nBy the processor's own counter, at full speed, in instructions a run:")
    for timer in timers:
        measured = timer.count_by_processor(number)
        typer.echo(f"{measured.instructions_per_run:>14,.2f}  {measured.task_spec.title}")


def _count(timer: Timer, number: int) -> CountedTask:
    from photometer.errors import PhotometerError, SnippetError
    from photometer.worker.user_error import describe_exception

    try:
        return timer.count(number, REPEATS)
    except PhotometerError:
        raise
    except Exception as error:
        stmt = timer._task_spec.stmt
        raise SnippetError(f"the statement failed: {stmt}", log=describe_exception(error)["traceback"]) from None
