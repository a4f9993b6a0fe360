"""`photometer compile-report STMT`: what torch.compile makes of a statement: graphs, breaks, recompilations, time."""

from __future__ import annotations

from json import dumps
from typing import Annotated

import typer

from photometer.cli.code_options import NumThreads, Setup, check_syntax, joined, read_code, read_setup
from photometer.cli.fail_on_compile import FailOnCompile, compile_gate, exit_status
from photometer.cli.numbers import seconds
from photometer.cli.output_options import Json, give_lines
from photometer.cli.printing import show_rendered, show_text, terminal_width
from photometer.cli.sweep_options import Axes, Where, chosen_points
from photometer.model.visible_text import visible


def register(app: typer.Typer) -> None:
    app.command("compile-report", help="Report what torch.compile makes of a statement.")(compile_report)


def compile_report(
    statement: Annotated[str, typer.Argument(metavar="STMT", help="Code to compile, such as f(x), or @FILE.")],
    setup: Setup = "pass",
    mode: Annotated[str, typer.Option("--mode", metavar="NAME", help="Mode of torch.compile.")] = "default",
    dynamic: Annotated[
        bool | None,
        typer.Option(
            "--dynamic/--static", help="Compile for shapes that change, or that do not (default: torch decides)."
        ),
    ] = None,
    fullgraph: Annotated[bool, typer.Option("--fullgraph", help="Fail at the first graph break.")] = False,
    num_threads: NumThreads = 1,
    axes: Axes = None,
    where: Where = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", callback=seconds, help="Give up after this many seconds.")
    ] = 600.0,
    instructions: Annotated[
        bool,
        typer.Option(
            "--instructions", help="Also count the instructions of a cold compilation and of a call (needs Valgrind)."
        ),
    ] = False,
    backend: Annotated[
        str, typer.Option("--backend", metavar="NAME", help="Backend of torch.compile, such as aot_eager.")
    ] = "",
    fail_on: FailOnCompile = None,
    json: Json = None,
) -> None:
    gate = compile_gate(fail_on)
    code = read_code(statement)
    check_syntax([code], read_setup(setup))
    from photometer.definition.compile_variant import BACKEND, DEFAULT_MODE, compile_variants
    from photometer.instruments.callgrind.compile_counts import count_statement_compilation
    from photometer.instruments.compile_report import report_statement
    from photometer.model.records import to_record
    from photometer.plan.compiled_statement import compiled_statement
    from photometer.report.runtime_text import render_compile_report

    if backend and mode != DEFAULT_MODE:
        raise typer.BadParameter("--mode is for torch's default backend; leave out --mode or --backend")
    (variant,) = compile_variants(f"{BACKEND}{backend}" if backend else mode, dynamic, fullgraph)
    sizes = chosen_points(axes, where)
    order = compiled_statement(
        code.stmt,
        joined(read_setup(setup), code.setup),
        variant,
        sizes=sizes,
        num_threads=num_threads,
        timeout_seconds=timeout,
    )
    report = report_statement(order)
    counts = count_statement_compilation(order) if instructions else None
    if json is not None:
        give_lines(json, [dumps(to_record(record)) for record in (report, counts) if record is not None])
    else:
        show_text(visible(code.stmt))
        show_rendered(render_compile_report(report, terminal_width(), counts))
    raise typer.Exit(exit_status(gate, [report], measured=True, failed=False))
