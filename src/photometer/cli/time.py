"""`photometer time STMT…`: like `python -m timeit`, but torch-aware. Several statements make a table."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from json import dumps
from pathlib import Path
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
    make_own_code_importable,
    read_code,
    read_setup,
)
from photometer.cli.ending import check_address_space, giving_up_after
from photometer.cli.measuring_options import Device, LockClocks, Memory, Ranks, Seed, budget_option
from photometer.cli.option_values import LEFT_OUT, seconds, share
from photometer.cli.output_options import ON_TERMINAL, TERMINAL, Wanted, folder_option, with_formats
from photometer.cli.printing import say_aside, show_rendered, show_text, terminal_width
from photometer.cli.sweep_options import Axes, Where, chosen_points, point_words, show_growth, sizes_code
from photometer.model.records import to_record
from photometer.model.results_folder import RESULT_FILES, check_results_folder, make_results_folder
from photometer.report.tables.formats import CSV, JSON

if TYPE_CHECKING:
    from photometer.definition.sweep import SizePoint
    from photometer.model.measurement import Measurement
    from photometer.report.tables.formats import Format
    from photometer.timing import Timer


@dataclasses.dataclass(frozen=True)
class _Asked:
    """What every way of measuring needs: the outputs, the results so far, and how long a statement may take."""

    outputs: Wanted
    kept: list[Any] = dataclasses.field(default_factory=list)
    timeout: float | None = None

    @property
    def printed(self) -> Format:
        return self.outputs.printed


# Counts of each statement: enough to tell the stable one from one that differs.
REPEATS = 3

NOT_A_COMPARISON = "Times taken one after another cannot be compared: to find out which is faster, use `photometer ab`."


def register(app: typer.Typer) -> None:
    app.command("time", help="Time one or more statements.")(with_formats(time_statements))


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
    budget: Annotated[
        float | None, budget_option("Maximum seconds to measure (default: 10 per statement, with --precision).")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="S",
            callback=seconds,
            help="Give up on a statement after this many seconds (default: never).",
        ),
    ] = None,
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
    lock_clocks: LockClocks = False,
    output: Annotated[Path | None, folder_option("Folder for the results; `show DIR` prints them again.")] = None,
    asked: Wanted = ON_TERMINAL,
) -> None:
    asking = _Asked(asked, timeout=timeout)
    if output is not None:
        check_results_folder(output)
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
    times = shares(budget, len(timers), min_run_time, precision, device)
    try:
        if instructions:
            _print_instructions(timers, number, asking)
        elif ranks:
            _time_ranks(timers, ranks, times["min_run_time"], asking)
        else:
            _time(timers, device, points, statements, asking, times)
        if memory:
            _print_memory(timers, asking)
    finally:
        _keep(asking, output)


def shares(
    budget: float | None, statements: int, min_run_time: float, precision: float | None, device: str | None
) -> dict[str, Any]:
    """Return how long to measure each statement: the budget is for all of them, and for all modes of a device."""
    times: dict[str, Any] = {"min_run_time": min_run_time, "precision": precision}
    if budget is None:
        return times
    from photometer.model.device_measurement import ModeName

    share_of_one = budget / statements / (1 if device is None else len(ModeName))
    return {**times, "min_run_time": min(min_run_time, share_of_one), "max_run_time": share_of_one}


def _keep(asked: _Asked, output: Path | None) -> None:
    """Write the results, also before a signal ends the command."""
    kept = asked.kept
    if not kept:
        return
    asked.outputs.write(lambda each: _rendered(kept, each))
    if output is not None:
        from photometer.results import save

        make_results_folder(output)
        save(output / RESULT_FILES[0], kept)
        say_aside(f"Results: {output / RESULT_FILES[0]}")


def _rendered(kept: list[Any], format: Format) -> str:
    """Return results as JSON, a record per line, or as a table."""
    if format is JSON:
        return "".join(f"{dumps(to_record(each))}\n" for each in kept)
    if format is CSV:
        from photometer.analysis.result_rows import rows_of
        from photometer.report.tables.table import table_of_records

        return format.render(table_of_records([row for each in kept for row in rows_of(each)]))
    from photometer.report.tables.compare_formats import render_in
    from photometer.tables import Compare

    return render_in(format, Compare(kept).tables())


def _time(
    timers: list[Timer],
    device: str | None,
    points: Sequence[SizePoint],
    statements: list[str],
    asked: _Asked,
    times: dict[str, Any],
) -> None:
    if len(statements) > 1:
        say_aside(NOT_A_COMPARISON)
    if device is not None:
        _time_on_device(timers, None if device == LEFT_OUT else device, times, asked)
        return
    measurements = _time_on_host(timers, times, asked)
    if asked.printed is TERMINAL:
        show_growth(points, statements, measurements)


def _timer(code: Code, setup: str, global_setup: str, point: SizePoint, words: dict[str, Any]) -> Timer:
    from photometer.timing import Timer

    sub_label, description = (point_words(point), code.name or code.stmt) if point else (None, code.name or None)
    with _failures_of(code.stmt):
        return Timer(code.stmt, setup, global_setup, sub_label=sub_label, description=description, **words)


def _time_on_host(timers: list[Timer], times: dict[str, Any], asked: _Asked) -> list[Measurement]:
    measurements: list[Measurement] = []
    try:
        for timer in timers:
            with _measuring(timer, asked):
                measurements.append(_time_one(timer, times))
    except _TimingStopped as stop:
        measurements.append(stop.measurement)
        raise
    finally:
        asked.kept.extend(measurements)
        _print_times(measurements, asked)
    return measurements


class _TimingStopped(KeyboardInterrupt):
    """A signal came during a measurement; this is the result of the blocks so far."""

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


def _print_times(measurements: list[Measurement], asked: _Asked) -> None:
    if measurements and asked.printed is TERMINAL:
        _print_for_people(measurements)
    elif measurements:
        show_rendered(_rendered([*measurements], asked.printed))


@contextlib.contextmanager
def _measuring(timer: Timer, asked: _Asked) -> Iterator[None]:
    """Give each statement the same random data, in every command: this process is ours, not the user's."""
    from photometer.worker.seeds import seed_everything

    seed_everything(timer.seed, _loaded_torch())
    with _failures_of(timer.task_spec.stmt, asked.timeout):
        yield


def _loaded_torch() -> Any:
    """Return torch, or None if it is not installed; raise an error in words if it cannot be loaded."""
    from photometer.errors import ToolMissing
    from photometer.worker.torch_here import find_torch

    check_address_space()
    try:
        return find_torch()
    except MemoryError:
        raise
    except Exception as error:
        # A library of it does not load: too little memory, another glibc, a driver that is missing. If those of CUDA
        # are not installed, torch 2.13 raises ValueError.
        raise ToolMissing(
            f"torch cannot be imported: {error}",
            remedy="Run `python -c 'import torch'` to see why; a limit of memory (`ulimit -v`) can be the reason.",
        ) from error


@contextlib.contextmanager
def _failures_of(stmt: str, timeout: float | None = None) -> Iterator[None]:
    """Turn an exception of the user's code into an error with the user's lines and none of ours; give up in time."""
    from photometer.errors import PhotometerError, SnippetError
    from photometer.worker.user_error import describe_exception

    try:
        with giving_up_after(timeout, f"the statement {stmt!r}"):
            yield
    except PhotometerError:
        raise
    except Exception as error:
        failed = SnippetError(f"the statement failed: {stmt}", log=describe_exception(error)["traceback"])
        if isinstance(error, NameError):
            failed.remedy = "Define what the statement uses in the set-up: -s CODE."
        raise failed from None


def _time_on_device(timers: list[Timer], device: str | None, options: dict[str, Any], asked: _Asked) -> None:
    from photometer.report.device_text import render_device

    for timer in timers:
        with _measuring(timer, asked):
            measurement = timer.measure_device(device, **options)
        asked.kept.append(measurement)
        if asked.printed is TERMINAL:
            show_rendered(render_device(measurement) + "\n")
        else:
            show_rendered(_rendered([measurement], asked.printed))


def _time_ranks(timers: list[Timer], ranks: int, min_run_time: float, asked: _Asked) -> None:
    from photometer.report.figures_text import render_ranks

    taken = []
    for timer in timers:
        with _failures_of(timer.task_spec.stmt, asked.timeout):
            taken.append(timer.measure_ranks(ranks, min_run_time=min_run_time))
    asked.kept.extend(taken)
    if asked.printed is TERMINAL:
        show_rendered(render_ranks(taken, terminal_width()))
    else:
        show_rendered(_rendered([*taken], asked.printed))


def _print_memory(timers: list[Timer], asked: _Asked) -> None:
    """Print what one run of each statement allocates."""
    from photometer.report.figures_text import render_memories

    memories = []
    for timer in timers:
        with _measuring(timer, asked):
            memories.append(timer.measure_memory())
    asked.kept.extend(memories)
    if asked.printed is JSON:
        show_rendered(_rendered([*memories], JSON))
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


def _print_instructions(timers: list[Timer], number: int, asked: _Asked) -> None:
    """Print counts, the costliest functions, and for two statements what differs."""
    from photometer.report.instructions_text import render_counts, render_difference, render_top_functions
    from photometer.timing import counted_task

    counted = []
    for timer in timers:
        with _failures_of(timer.task_spec.stmt, asked.timeout):
            counted.append(counted_task(timer, number, REPEATS))
    counts = [each.instruction_counts() for each in counted]
    asked.kept.extend(counts)
    if asked.printed is not TERMINAL:
        show_rendered(_rendered([*counts], asked.printed))
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
        say_aside(f"\nNot checked with the processor's own counter: {refusal}")
        return
    show_text("\nBy the processor's own counter, at full speed, in instructions per run:")
    for timer in timers:
        measured = timer.count_by_processor(number)
        show_text(f"{measured.instructions_per_run:>14,.2f}  {measured.task_spec.title}")
