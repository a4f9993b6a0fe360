"""`photometer time STMT…`: like `python -m timeit`, but torch-aware. Several statements make a table."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from photometer.cli.code_options import (
    Code,
    Cpp,
    GlobalSetup,
    NumThreads,
    Setup,
    check_syntax,
    joined,
    read_code,
    read_setup,
)
from photometer.cli.ending import check_address_space
from photometer.cli.measuring_options import Device, JsonRecords, Memory, Ranks, Seed
from photometer.cli.numbers import seconds, share
from photometer.cli.optional_values import LEFT_OUT
from photometer.cli.own_code import make_own_code_importable
from photometer.cli.printing import say_aside, show_rendered, show_text, terminal_width
from photometer.cli.sweep_options import Axes, Where, chosen_points, point_words, show_growth, sizes_code
from photometer.model.records import to_record

if TYPE_CHECKING:
    from photometer.definition.sweep import SizePoint
    from photometer.model.measurement import Measurement
    from photometer.timing import Timer


# Counts of each statement: enough to tell the stable one from one that differs.
REPEATS = 3

NOT_A_COMPARISON = "Times taken one after another are no comparison: to know which is faster, use `photometer ab`."


def register(app: typer.Typer) -> None:
    app.command("time", help="Time one or more statements.")(time_statements)


def time_statements(
    statements: Annotated[
        list[str], typer.Argument(metavar="STMT…", help="Code to time, or @FILE. Several statements make a table.")
    ],
    setup: Setup = "pass",
    num_threads: NumThreads = 1,
    ranks: Ranks = None,
    min_run_time: Annotated[
        float, typer.Option("--min-run-time", metavar="S", callback=seconds, help="Seconds to measure each statement.")
    ] = 0.2,
    precision: Annotated[
        float | None,
        typer.Option(
            "--precision",
            metavar="P",
            parser=share,
            help="Measure until the 95 % interval is within this share of the median, such as 1% or 0.01.",
        ),
    ] = None,
    max_run_time: Annotated[
        float,
        typer.Option(
            "--max-run-time", metavar="S", callback=seconds, help="Most seconds to measure, with --precision."
        ),
    ] = 10.0,
    label: Annotated[str | None, typer.Option("--label", metavar="TEXT", help="Title of the table.")] = None,
    device: Device = None,
    instructions: Annotated[
        bool,
        typer.Option(
            "--instructions", help="Count instructions (needs Valgrind); of two statements, show what differs."
        ),
    ] = False,
    memory: Memory = False,
    number: Annotated[
        int, typer.Option("--number", metavar="N", min=1, help="Runs to count, with --instructions.")
    ] = 100,
    cpp: Cpp = False,
    global_setup: GlobalSetup = "",
    axes: Axes = None,
    where: Where = None,
    seed: Seed = None,
    as_json: JsonRecords = False,
) -> None:
    language = "cpp" if cpp else "python"
    if ranks and any((device is not None, instructions, memory, cpp, precision)):
        raise typer.BadParameter("--ranks times Python; leave --cpp, --precision and the other figures out")
    points = chosen_points(axes, where)
    codes = [read_code(statement) for statement in statements]
    statements = [code.stmt for code in codes]
    shared, top = read_setup(setup), read_setup(global_setup)
    if not cpp:
        check_syntax(codes, shared)
    if instructions:
        from photometer.session.valgrind import find_valgrind

        # Known before torch is imported.
        find_valgrind()
    make_own_code_importable()
    from photometer.timing import build_together

    words: dict[str, Any] = {"label": label, "num_threads": num_threads, "language": language, "seed": seed}
    timers = [
        _timer(code, joined(sizes_code(point, language), shared, code.setup), top, point, words)
        for point, code in itertools.product(points, codes)
    ]
    if cpp:
        build_together(timers)
    if instructions:
        _print_instructions(timers, number, as_json)
        if memory:
            _print_memory(timers, as_json)
        return
    times: dict[str, Any] = {"min_run_time": min_run_time, "precision": precision, "max_run_time": max_run_time}
    if len(statements) > 1:
        say_aside(NOT_A_COMPARISON)
    if ranks:
        _time_ranks(timers, ranks, min_run_time, as_json)
    elif device is not None:
        _time_on_device(timers, None if device == LEFT_OUT else device, times, as_json)
    else:
        measurements = _time_on_host(timers, times, as_json)
        if not as_json:
            show_growth(points, statements, measurements)
    if memory:
        _print_memory(timers, as_json)


def _timer(code: Code, setup: str, global_setup: str, point: SizePoint, words: dict[str, Any]) -> Timer:
    from photometer.timing import Timer

    sub_label, description = (point_words(point), code.name or code.stmt) if point else (None, code.name or None)
    with _failures_of(code.stmt):
        return Timer(code.stmt, setup, global_setup, sub_label=sub_label, description=description, **words)


def _time_on_host(timers: list[Timer], times: dict[str, Any], as_json: bool) -> list[Measurement]:
    measurements: list[Measurement] = []
    try:
        for timer in timers:
            with _measuring(timer):
                measurements.append(_time_one(timer, times))
    except _TimingStopped as stop:
        _print_times([*measurements, stop.measurement], as_json)
        raise
    except KeyboardInterrupt:
        _print_times(measurements, as_json)
        raise
    _print_times(measurements, as_json)
    return measurements


class _TimingStopped(KeyboardInterrupt):
    """A signal came amid a measurement; this is what the blocks so far say."""

    def __init__(self, measurement: Measurement) -> None:
        super().__init__()
        self.measurement = measurement


def _time_one(timer: Timer, times: dict[str, Any]) -> Measurement:
    from photometer.model.measurement import Measurement

    blocks: list[tuple[int, float]] = []
    try:
        return timer.blocked_autorange(lambda number, seconds: blocks.append((number, seconds)), **times)
    except KeyboardInterrupt as stop:
        if not blocks:
            raise
        known = Measurement(blocks[0][0], [seconds for _, seconds in blocks], timer.task_spec)
        raise _TimingStopped(known) from stop


def _print_times(measurements: list[Measurement], as_json: bool) -> None:
    if as_json:
        for measurement in measurements:
            show_text(json.dumps(to_record(measurement)))
    elif measurements:
        _print_for_people(measurements)


@contextlib.contextmanager
def _measuring(timer: Timer) -> Iterator[None]:
    """Give each statement the same random data, in every command: this process is ours, not the user's."""
    from photometer.worker.seeds import seed_everything

    seed_everything(timer.seed, _loaded_torch())
    with _failures_of(timer.task_spec.stmt):
        yield


def _loaded_torch() -> Any:
    """Return torch, or None where there is none; say in words why one that is there does not load."""
    from photometer.errors import ToolMissing
    from photometer.worker.torch_here import find_torch

    check_address_space()
    try:
        return find_torch()
    except ModuleNotFoundError:
        raise
    except ImportError as error:
        # A library of it does not load: too little memory, another glibc, a driver that is missing.
        raise ToolMissing(
            f"torch cannot be imported: {error}",
            remedy="See what `python -c 'import torch'` says; a limit of memory (`ulimit -v`) can be the reason.",
        ) from error


@contextlib.contextmanager
def _failures_of(stmt: str) -> Iterator[None]:
    """Turn an exception of the user's code into an error with the user's lines and none of ours."""
    from photometer.errors import PhotometerError, SnippetError
    from photometer.worker.user_error import describe_exception

    try:
        yield
    except PhotometerError:
        raise
    except Exception as error:
        raise SnippetError(f"the statement failed: {stmt}", log=describe_exception(error)["traceback"]) from None


def _time_on_device(timers: list[Timer], device: str | None, options: dict[str, Any], as_json: bool) -> None:
    from photometer.report.device_text import render_device

    for timer in timers:
        with _measuring(timer):
            measurement = timer.measure_device(device, **options)
        show_rendered((json.dumps(to_record(measurement)) if as_json else render_device(measurement)) + "\n")


def _time_ranks(timers: list[Timer], ranks: int, min_run_time: float, as_json: bool) -> None:
    from photometer.report.ranks_text import render_ranks

    taken = []
    for timer in timers:
        with _failures_of(timer.task_spec.stmt):
            taken.append(timer.measure_ranks(ranks, min_run_time=min_run_time))
    if as_json:
        for times in taken:
            show_text(json.dumps(to_record(times)))
    else:
        show_rendered(render_ranks(taken, terminal_width()))


def _print_memory(timers: list[Timer], as_json: bool) -> None:
    """Print what one run of each statement allocates."""
    from photometer.report.memory_text import render_memories

    memories = []
    for timer in timers:
        with _measuring(timer):
            memories.append(timer.measure_memory())
    if as_json:
        for memory in memories:
            show_text(json.dumps(to_record(memory)))
    else:
        show_rendered("\n" + render_memories(memories, terminal_width()))


def _print_for_people(measurements: list[Measurement]) -> None:
    if len(measurements) == 1:
        # The first line names the class; on a command line it says nothing.
        show_text(repr(measurements[0]).split("\n", 1)[1])
        return
    from photometer.tables import Compare

    comparison = Compare(measurements)
    comparison.trim_significant_figures()
    comparison.colorize()
    comparison.highlight_warnings()
    comparison.print()


def _print_instructions(timers: list[Timer], number: int, as_json: bool) -> None:
    """Print counts, the costliest functions, and for two statements what differs."""
    from photometer.report.instructions_text import render_counts, render_difference, render_top_functions
    from photometer.timing import counted_task

    counted = []
    for timer in timers:
        with _failures_of(timer.task_spec.stmt):
            counted.append(counted_task(timer, number, REPEATS))
    counts = [each.instruction_counts() for each in counted]
    if as_json:
        for record in counts:
            show_text(json.dumps(to_record(record)))
        return
    width = terminal_width()
    show_rendered(render_counts(counts, width) + "\n")
    functions = [each.function_counts() for each in counted]
    if len(counted) == 2:
        show_text("\nWhat differs, in instructions per run:")
        show_rendered(render_difference(functions[0], functions[1], number, width) + "\n")
    else:
        for record, each in zip(counts, functions, strict=True):
            show_text(f"\nWhere {record.task_spec.title} executes them (the loop included):")
            show_rendered(render_top_functions(each, number, width) + "\n")
    _print_second_source(timers, number)


def _print_second_source(timers: list[Timer], number: int) -> None:
    from photometer.instruments.processor_instructions import perf_refusal

    refusal = perf_refusal()
    if refusal is not None:
        say_aside(f"\nNo second source: {refusal}")
        return
    show_text("\nBy the processor's own counter, at full speed, in instructions per run:")
    for timer in timers:
        measured = timer.count_by_processor(number)
        show_text(f"{measured.instructions_per_run:>14,.2f}  {measured.task_spec.title}")
