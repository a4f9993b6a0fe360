"""`photometer compile-report STMT`: what torch.compile makes of a statement: graphs, breaks, recompilations, time.

Also the option `--fail-on recompile,graph-break` of `compile-report` and `run`: which compiled statements break a rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from json import dumps
from typing import TYPE_CHECKING, Annotated

import typer

from photometer.cli.ci_output import EXIT_OF
from photometer.cli.code_options import NumThreads, Setup, check_syntax, joined, read_code, read_setup
from photometer.cli.exit_codes import ExitCode
from photometer.cli.option_values import seconds
from photometer.cli.output_options import Json, give_lines
from photometer.cli.printing import complain, show_rendered, show_text, terminal_width
from photometer.cli.sweep_options import Axes, Where, chosen_points
from photometer.model.visible_text import visible

if TYPE_CHECKING:
    from photometer.analysis.gate import Gate
    from photometer.model.compile_report import CompileReport


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
    from photometer.cli.progress import one_phase
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
    with one_phase("compiling the statement, with an empty cache and with a full one"):
        report = report_statement(order)
    counts = None
    if instructions:
        with one_phase("counting the instructions of a compilation"):
            counts = count_statement_compilation(order)
    if json is not None:
        give_lines(json, [dumps(to_record(record)) for record in (report, counts) if record is not None])
    else:
        show_text(visible(code.stmt))
        show_rendered(render_compile_report(report, terminal_width(), counts))
    raise typer.Exit(exit_status(gate, [report], measured=True, failed=False))


FailOnCompile = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="RULES",
        help="What makes the command fail: recompile, graph-break, or never; several with commas.",
    ),
]


def compile_gate(fail_on: list[str] | None) -> Gate:
    """Return the rules of the option; raise if one of them is about comparisons."""
    from photometer.analysis.gate import Gate
    from photometer.errors import DefinitionError
    from photometer.model.fail_rules import COMPILE_WORDS, parse_rules

    try:
        rules = parse_rules(fail_on or ())
    except DefinitionError as error:
        raise typer.BadParameter(f"--fail-on: {error.message}. {error.remedy}") from None
    for rule in rules:
        if rule.watched not in COMPILE_WORDS:
            raise typer.BadParameter(f"--fail-on {rule}: nothing is compared here; give {', '.join(COMPILE_WORDS)}")
    return Gate(rules)


def exit_status(gate: Gate, reports: Iterable[CompileReport], *, measured: bool, failed: bool) -> ExitCode:
    """Print the broken rules, and return the exit status."""
    judged = gate.judge_compiled(reports, measured=measured, failed=failed)
    for breach in judged.breaches:
        complain(f"{breach.title}: {breach.sentence} (--fail-on {breach.rule})")
    return EXIT_OF[judged.outcome]
