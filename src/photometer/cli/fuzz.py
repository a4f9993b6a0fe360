"""`photometer fuzz STMT [--against STMT2]`: time statements over random inputs, and show which inputs are slow.

`show` prints a folder that it wrote with the same functions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from photometer.cli.code_options import (
    NumThreads,
    Setup,
    check_syntax,
    joined,
    make_own_code_importable,
    read_code,
    read_setup,
)
from photometer.cli.ending import STOPPED
from photometer.cli.exit_codes import ExitCode
from photometer.cli.help_page import FOR_EXPERTS
from photometer.cli.measuring_options import Budget
from photometer.cli.option_values import LEFT_OUT, seconds as duration
from photometer.cli.output_options import ON_TERMINAL, TERMINAL, Wanted, folder_option, with_formats
from photometer.cli.printing import complain, say_aside, show_text, terminal_width
from photometer.model.results_folder import RESULT_FILES, check_results_folder, make_results_folder
from photometer.model.units import percent

if TYPE_CHECKING:
    from photometer.analysis.fuzz_map import FuzzMap
    from photometer.execution.budget import Budget as Spending
    from photometer.execution.fuzz_run import FuzzRequest
    from photometer.fuzzing import Fuzzer
    from photometer.model.fuzz_trial import FuzzTrial
    from photometer.model.results_reader import Results
    from photometer.report.tables.formats import Format

PAGE_NAME = "report.html"

# Of each end of the list.
ROWS = 8


def register(app: typer.Typer) -> None:
    app.command("fuzz", help="Time statements over random inputs, and show which inputs are slow.")(with_formats(fuzz))


def fuzz(
    statement: Annotated[
        str, typer.Argument(metavar="STMT", help="Code to time, or @FILE; it sees the tensors by name.")
    ],
    against: Annotated[
        str | None, typer.Option("--against", metavar="STMT", help="Code to compare it with, or @FILE.")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--fuzzer", metavar="NAME", help="Preset: unary, binary, matmul, reduction, … (docs/fuzzing.md lists all)."
        ),
    ] = None,
    spec: Annotated[
        Path | None, typer.Option("--spec", metavar="FILE", help="Python file that assigns FUZZER.")
    ] = None,
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", min=1, help="Number of inputs.")] = 100,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Seed of the inputs (default: chosen and shown).")
    ] = None,
    output: Annotated[
        Path | None, folder_option("Folder for the results and a page; `show DIR` prints the map again.")
    ] = None,
    setup: Setup = "pass",
    num_threads: NumThreads = 1,
    seconds: Annotated[
        float, typer.Option("--min-run-time", metavar="S", callback=duration, help="Seconds to measure each input.")
    ] = 0.1,
    dtype: Annotated[
        str | None, typer.Option("--dtype", metavar="NAME", help="Element type of a preset's tensors.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device", metavar="[NAME]", help="Put a preset's tensors on the accelerator, or on this device."
        ),
    ] = None,
    max_elements: Annotated[
        int | None,
        typer.Option("--max-elements", metavar="N", min=1, help="Maximum number of elements of a preset's tensors."),
    ] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option("--max-bytes", metavar="N", min=1, help="Maximum number of bytes of a preset's tensors."),
    ] = None,
    rehearse: Annotated[
        bool | None,
        typer.Option(
            "--rehearse/--no-rehearse",
            help="Run each input once in a fork first, in case it crashes (default: if that is safe).",
            rich_help_panel=FOR_EXPERTS,
        ),
    ] = None,
    budget: Budget = None,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout", metavar="S", callback=duration, help="Give up on an input's rehearsal after this many seconds."
        ),
    ] = 120,
    asked: Wanted = ON_TERMINAL,
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", min=1, help="Rows to show from each end of the list.")
    ] = ROWS,
) -> None:
    if output is not None:
        check_results_folder(output)
    code, other = read_code(statement), None if against is None else read_code(against)
    if other is not None and other.setup:
        raise typer.BadParameter("both statements share one setup: give it with --setup, or in the file of the first")
    before = joined(read_setup(setup), code.setup)
    check_syntax([code] if other is None else [code, other], before)
    make_own_code_importable([] if spec is None else [spec])
    limits = {"dtype": dtype, "device": device, "max_elements": max_elements, "max_allocation_bytes": max_bytes}
    fuzzer, rebuild = _fuzzer(preset, spec, seed, limits)
    from photometer.analysis.fuzz_map import make_map
    from photometer.execution.budget import Budget as Spending
    from photometer.execution.fuzz_run import FuzzRequest
    from photometer.fuzzing.fuzzer import explaining_parameters, shown_parameters

    request = FuzzRequest(
        fuzzer,
        count,
        code.stmt,
        None if other is None else other.stmt,
        before,
        num_threads,
        seconds,
        rebuild,
        rehearse,
        timeout_seconds=timeout,
    )
    spending = Spending(budget)
    trials, stopped = _collected(_with_progress(_within(spending, _saved(request, output)), count))
    if spending.is_spent and len(trials) < count and not stopped:
        complain(f"the {budget:g} s of --budget are over after {len(trials)} of {count} inputs")
    found = make_map(request.statements, trials, explaining_parameters(fuzzer), shown_parameters(fuzzer))
    asked.give(lambda each: render_fuzz(found, each, rows))
    source = f"{preset} preset" if preset is not None else str(spec)
    rejected = f"{percent(fuzzer.rejection_rate)} of draws rejected"
    note = f"Inputs: {len(trials)} of the {source}, seed {fuzzer.seed}; {rejected}."
    if asked.printed is TERMINAL:
        show_text(f"\n{note}")
    else:
        say_aside(note)
    if output is not None:
        _write_page(found, output / PAGE_NAME, note)
    if stopped:
        raise typer.Exit(STOPPED)
    if not found.trials:
        raise typer.Exit(ExitCode.NOTHING_RAN)
    if found.failed:
        raise typer.Exit(ExitCode.FAILED)


def _within(spending: Spending, trials: Iterable[FuzzTrial]) -> Iterator[FuzzTrial]:
    """Yield trials until the budget is spent."""
    spending.begin()
    for trial in trials:
        yield trial
        if spending.is_spent:
            return


def _fuzzer(
    preset: str | None, spec: Path | None, seed: int | None, limits: Mapping[str, object]
) -> tuple[Fuzzer, Callable[[int], str] | None]:
    """Return the requested fuzzer, and its own way to rebuild an input if it has one."""
    if (preset is None) == (spec is None):
        raise typer.BadParameter("give either --fuzzer NAME or --spec FILE")
    if preset is not None:
        from photometer.op_fuzzers import make_preset

        if limits["device"] == LEFT_OUT:
            limits = {**limits, "device": _accelerator()}
        return make_preset(preset, seed, **limits), None
    given = [name for name, value in limits.items() if value is not None]
    if given:
        raise typer.BadParameter(f"{', '.join(given)}: a spec file sets this itself; these options are for --fuzzer")
    from photometer.fuzzing.spec_file import load_fuzzer, rebuild_line

    assert spec is not None
    fuzzer = load_fuzzer(spec, seed)
    return fuzzer, lambda index: rebuild_line(spec, fuzzer.seed, index)


def _accelerator() -> str:
    import torch

    from photometer.worker.accelerators import default_kind

    kind = default_kind(torch)
    if kind is None:
        raise typer.BadParameter("--device: this machine has no accelerator that this torch can use")
    return kind


def _collected(trials: Iterable[FuzzTrial]) -> tuple[list[FuzzTrial], bool]:
    """Return the trials, and whether the user stopped the run; the earlier trials are then still shown."""
    collected: list[FuzzTrial] = []
    try:
        collected.extend(trials)
    except KeyboardInterrupt:
        complain(f"stopped after {len(collected)} inputs")
        return collected, True
    return collected, False


def _saved(request: FuzzRequest, folder: Path | None) -> Iterator[FuzzTrial]:
    """Yield the trials; each is in the folder's file before it is passed on."""
    import torch  # noqa: F401  the header names the build, if it is there

    from photometer.execution.fuzz_run import run_trials
    from photometer.instruments.machine_facts import gather_machine
    from photometer.model.results_file import ResultsFile

    file = None
    if folder is not None:
        make_results_folder(folder)
        header = {"fuzz": fuzz_header(request)}
        file = ResultsFile.create(folder / RESULT_FILES[0], header, machine=gather_machine(), overwrite=True)
    for trial in run_trials(request):
        if file is not None:
            file.append(trial)
        yield trial


def _with_progress(trials: Iterable[FuzzTrial], count: int) -> Iterator[FuzzTrial]:
    """Yield the trials, with a bar on the terminal's error channel if there is one."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("fuzzing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # Drawn between inputs only: a thread that redraws would take time from the statement being measured.
    bar = Progress(*columns, console=console, transient=True, auto_refresh=False, disable=not console.is_terminal)
    with bar:
        task = bar.add_task("fuzzing", total=count)
        bar.refresh()
        for trial in trials:
            bar.update(task, advance=1, refresh=True)
            yield trial


def _write_page(found: FuzzMap, path: Path, note: str) -> None:
    from photometer.model.whole_file import write_text_whole
    from photometer.report.page.page import render_fuzz_page

    write_text_whole(path, render_fuzz_page(found, notes=[note]))
    say_aside(f"Page: {path}")


def fuzz_header(request: FuzzRequest) -> dict[str, Any]:
    """Return the header that a results file needs besides the trials, to make the map again."""
    from photometer.fuzzing.fuzzer import explaining_parameters, shown_parameters

    return {
        "statements": list(request.statements),
        "seed": request.fuzzer.seed,
        "count": request.count,
        "explaining": sorted(explaining_parameters(request.fuzzer)),
        "shown": list(shown_parameters(request.fuzzer)),
    }


def is_fuzz(results: Results) -> bool:
    """Return whether `fuzz` wrote this file."""
    return isinstance(results.header.get("fuzz"), Mapping) and "fuzz_trial" in results.kinds


def render_fuzz(found: FuzzMap, format: Format, rows: int = ROWS) -> str:
    """Return a map for people, or all its inputs as a table whose notes are the findings and failures."""
    from photometer.report.fuzz_text import render_fuzz_text, table_of_trials

    if format is TERMINAL:
        return render_fuzz_text(found, terminal_width(), rows)
    failures = [
        f"#{trial.index} failed: {trial.failure.exception_type}: {trial.failure.message}"
        for trial in found.failed
        if trial.failure is not None
    ]
    notes = (found.headline, *found.findings, *failures)
    return format.render(dataclasses.replace(table_of_trials(found), notes=notes))


def show_fuzz(results: Results, format: Format) -> str:
    """Return a file of `fuzz` as `fuzz` printed it; for a run that was stopped, with its progress."""
    about = results.header["fuzz"]
    found = _map_of(results)
    asked, done = about.get("count"), len(found.trials) + len(found.failed)
    text = render_fuzz(found, format)
    return (
        text
        if asked in (None, done) or format is not TERMINAL
        else f"{text}\n{done} of {asked} inputs were measured.\n"
    )


def _map_of(results: Results) -> FuzzMap:
    from photometer.analysis.fuzz_map import make_map
    from photometer.model.fuzz_trial import FuzzTrial
    from photometer.report.page.view_fuzz import listed_texts, statements_of

    about, trials = results.header["fuzz"], results.of(FuzzTrial)
    explaining = listed_texts(about, "explaining")
    return make_map(
        statements_of(about, trials),
        trials,
        None if explaining is None else frozenset(explaining),
        tuple(listed_texts(about, "shown") or ()),
    )
