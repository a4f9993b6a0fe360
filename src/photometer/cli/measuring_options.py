"""Options about measuring that several subcommands share: which interpreter, how long, which figures.

Those of every command that measures (its time limit, whether servers stay warm, whether set-ups are preloaded) are
declared here once, and added to the commands by `cli/__init__.py`. Their values travel in environment variables, so
that whatever a command starts has them, too.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from photometer.cli.ending import limited
from photometer.cli.help_page import FOR_EXPERTS
from photometer.cli.option_values import MOST_RANKS, MOST_REPEATS, margin_share, seconds
from photometer.worker.seeds import LARGEST_SEED

Python = Annotated[
    str | None,
    typer.Option("--python", metavar="PATH", help="Interpreter whose torch is used (default: this one)."),
]
Memory = Annotated[
    bool, typer.Option("--memory", help="Measure what one run allocates: peak, bytes, number of blocks.")
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="[NAME]",
        help="Measure device time on the accelerator, or on the one you name: cuda, cuda:1, xpu, mps.",
    ),
]
Ranks = Annotated[
    int | None,
    typer.Option(
        "--ranks",
        metavar="N",
        min=1,
        max=MOST_RANKS,
        help="Run each statement in a group of N processes, joined by torch.distributed; the slowest counts.",
    ),
]


def _lock(context: typer.Context, value: bool) -> bool:
    if value:
        from photometer.instruments.device.clock_lock import locked_clocks

        # Until the command ends.
        context.with_resource(locked_clocks())
    return value


LockClocks = Annotated[
    bool,
    typer.Option(
        "--lock-clocks", callback=_lock, help="Lock the clocks of NVIDIA GPUs while the command runs (needs root)."
    ),
]
MinRunTime = Annotated[
    float, typer.Option("--min-run-time", metavar="S", callback=seconds, help="Seconds to measure each variant.")
]
Repeats = Annotated[
    int, typer.Option("--repeats", metavar="N", min=1, max=MOST_REPEATS, help="Number of counts of each variant.")
]
Limit = Annotated[
    float | None,
    typer.Option(
        "--limit",
        metavar="S",
        callback=seconds,
        help="Maximum seconds for the whole command, startup and environments included (default: no limit).",
    ),
]
Margin = Annotated[
    float | None,
    typer.Option(
        "--margin",
        metavar="P",
        parser=margin_share,
        help="Relative change that does not matter, such as 1% or 0.01 (default: 0.3%; 2% with several threads).",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        max=LARGEST_SEED,
        help="Seed of random data in every process (default: fixed for counts, drawn anew for each timing).",
    ),
]
Install = Annotated[
    str | None,
    typer.Option("--install", metavar="CMD", help="Command that installs a commit into a fresh environment."),
]


def budget_option(about: str) -> typer.models.OptionInfo:
    """Return --budget with the help of a command, which says its default."""
    option = typer.Option("--budget", metavar="S", callback=seconds, help=about)
    assert isinstance(option, typer.models.OptionInfo)
    return option


Budget = Annotated[float | None, budget_option("Maximum seconds to measure (default: no maximum).")]

# By the name that is typed after `photometer`, and after `photometer history`.
MEASURING_HISTORY_COMMANDS = frozenset(("measure",))
MEASURING_COMMANDS = frozenset(
    ("time", "ab", "run", "check", "compare", "calibrate", "compile-report", "flame", "fuzz", "bisect")
)

NoKeep = Annotated[
    bool,
    typer.Option("--no-keep", help="Start new servers, and end them when this command ends."),
]
NoPreload = Annotated[
    bool,
    typer.Option(
        "--no-preload",
        help="Run the imports of set-ups in every process that is measured, not only once.",
        rich_help_panel=FOR_EXPERTS,
    ),
]
_OPTIONS = {"no_keep": NoKeep, "no_preload": NoPreload}


def with_server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with these options added to its own."""
    # Evaluated in the command's own module: typer does not look there for those of a wrapper.
    signature = inspect.signature(command, eval_str=True)
    # Some look at their limit themselves, and end with verdicts.
    own_limit = "limit" in signature.parameters

    @functools.wraps(command)
    def wrapper(*arguments: Any, no_keep: bool = False, no_preload: bool = False, **options: Any) -> Any:
        seconds = None if own_limit else options.pop("limit", None)
        with _chosen(no_keep, no_preload), limited(seconds):
            return command(*arguments, **options)

    hints = {**_OPTIONS, **({} if own_limit else {"limit": Limit})}
    defaults = {"limit": None}
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name, False), annotation=hint)
        for name, hint in hints.items()
    ]
    wrapper.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), *added]
    )
    wrapper.__annotations__ = {
        **{name: parameter.annotation for name, parameter in signature.parameters.items()},
        **hints,
    }
    return wrapper


@contextlib.contextmanager
def _chosen(no_keep: bool, no_preload: bool) -> Iterator[None]:
    from photometer.session.policy import PRELOAD_VARIABLE
    from photometer.session.warm import VARIABLE, keep_in_terminal

    variables = {VARIABLE: "0" if no_keep else keep_in_terminal(_project_seconds())}
    variables |= {PRELOAD_VARIABLE: "0"} if no_preload else {}
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _project_seconds() -> float | None:
    """Return how long servers stay warm in this project; None without a setting."""
    from photometer.ci.project import read_project
    from photometer.errors import DefinitionError

    try:
        return read_project().keep
    except DefinitionError:
        # The commands that need the project's settings say what is wrong with them.
        return None
