"""The command `photometer`: one file per subcommand, each with `register(app)`. Only this folder prints and exits.

Nothing heavy is imported here: `photometer --help` works without torch. Exit codes are in exit_codes.py.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from photometer.cli.ending import (
    OUT_OF_MEMORY,
    STOPPED,
    check_open_files,
    check_system,
    ending_by_signals,
    lacking_words,
)
from photometer.cli.exit_codes import ExitCode, add_exit_words
from photometer.cli.help_page import PhotometerCommand, PhotometerGroup
from photometer.cli.measuring_options import MEASURING_COMMANDS, MEASURING_HISTORY_COMMANDS, with_server_options
from photometer.cli.printing import complain, safe_streams, say_aside, show_text
from photometer.errors import PhotometerError
from photometer.session.remarks import remarks_to

# By the section of `photometer --help`, in its order.
SECTIONS = {
    "Measure": ("time", "run", "fuzz", "flame", "compile_report"),
    "Compare": ("ab", "compare", "bisect", "calibrate"),
    "Suites": ("init", "list", "check"),
    "Results and history": ("show", "report", "convert", "history"),
    "CI": ("comment",),
    "Machine": ("doctor", "cache", "warm"),
}
COMMANDS = tuple(command for commands in SECTIONS.values() for command in commands)

# \b keeps its lines as they are.
# What a command may need that is not installed with photometer.
INSTALLED_BY = {
    "torch": "torch",
    "sqlalchemy": "'photometer[history]'",
    "alembic": "'photometer[history]'",
    "ruptures": "'photometer[history]'",
}
EPILOG = """\b
Examples:
  photometer time "x + 1" -s "x = torch.ones(64)"
  photometer ab "x * 2" "x + x" -s "x = torch.ones(16)"
  photometer init
  photometer run benchmarks/suite.py
  photometer compare
  photometer compare pip:torch==2.12.1 pip:torch==2.13.0 --suite standard

Exit status: 0 fine, 1 failed, 2 usage, 3 slower, 4 undecided, 5 nothing ran, 128 and more after a signal."""


def build_app(commands: Sequence[str] = COMMANDS) -> typer.Typer:
    """Return the command with these subcommands, by the names of their modules."""
    app = typer.Typer(
        name="photometer",
        cls=PhotometerGroup,
        help="Measures PyTorch code: how fast, which is faster, did my branch make it slower, by how much, and why.",
        epilog=EPILOG,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        # Rich's help pages cost 60 ms of imports on every call.
        rich_markup_mode=None,
    )

    @app.callback(invoke_without_command=True)
    def _version(
        context: typer.Context,
        version: bool = typer.Option(
            False, "--version", help="Show the version with its commit and exit.", is_eager=True
        ),
    ) -> None:
        if version:
            from photometer.cli.version import version_text

            show_text(version_text())
            raise typer.Exit
        check_system()
        if context.invoked_subcommand is None:
            from photometer.cli.first_page import first_page

            show_text(first_page(Path.cwd()))

    for name in commands:
        importlib.import_module(f"photometer.cli.{name}").register(app)
    add_exit_words(app)
    _put_in_sections(app)
    for group in (app, *(each.typer_instance for each in app.registered_groups)):
        for command in group.registered_commands if group is not None else ():
            command.cls = PhotometerCommand
            measures = command.name in (MEASURING_COMMANDS if group is app else MEASURING_HISTORY_COMMANDS)
            if measures and command.callback is not None:
                command.callback = with_server_options(command.callback)
    return app


def _put_in_sections(app: typer.Typer) -> None:
    section_of = {command.replace("_", "-"): title for title, commands in SECTIONS.items() for command in commands}
    for command in app.registered_commands:
        command.rich_help_panel = section_of[command.name or ""]
    for group in app.registered_groups:
        if group.typer_instance is not None:
            group.rich_help_panel = section_of[str(group.typer_instance.info.name)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command. Our own errors are shown without a traceback, with their remedies."""
    path = sys.path[:]
    with ending_by_signals() as ending:
        try:
            with safe_streams(), remarks_to(say_aside):
                status = _status_of(arguments)
                if ending.signal is not None and status == STOPPED:
                    complain(ending.words)
                    status = ending.status
        except KeyboardInterrupt:
            status = ending.status
        finally:
            # A command puts the user's folders on it; whoever runs several in one process wants each to start afresh.
            sys.path[:] = path
    sys.exit(status)


def _status_of(arguments: Sequence[str] | None) -> int:
    """Run the command and return its exit status; print errors."""
    try:
        check_open_files()
        # Not list(): once imported, the subcommand's module photometer.cli.list has that name here.
        given = [*(sys.argv[1:] if arguments is None else arguments)]
        build_app(_needed_commands(given))(args=given)
        sys.stdout.flush()
    except SystemExit as end:
        return _flushed(end.code if isinstance(end.code, int) else ExitCode.FAILED if end.code else ExitCode.FINE)
    except KeyboardInterrupt:
        return STOPPED
    except (PhotometerError, ModuleNotFoundError, MemoryError, OSError) as error:
        words = _words_for(error)
        if words is None:
            raise
        complain(words)
        return ExitCode.FAILED
    return ExitCode.FINE


def _words_for(error: PhotometerError | ModuleNotFoundError | MemoryError | OSError) -> str | None:
    """Return the message for an error of the user's or the system's; None if it may be a bug of ours."""
    if isinstance(error, PhotometerError):
        return str(error)
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY
    if isinstance(error, OSError):
        return lacking_words(error)
    package = INSTALLED_BY.get((error.name or "").partition(".")[0])
    return package and f"this needs {error.name}, which {sys.executable} does not have\npip install {package}"


def _needed_commands(arguments: Sequence[str]) -> Sequence[str]:
    """Return the modules of the subcommands that these arguments need: to import all takes a tenth of a second.

    Help, a name that no subcommand has, and completion, which comes without arguments, need all of them.
    """
    first = arguments[0] if arguments else ""
    if first == "--version":
        return ()
    needed = [module for module in COMMANDS if module.replace("_", "-") == first]
    return needed or COMMANDS


def _flushed(status: int) -> int:
    """Return the status, or FAILED if what was printed cannot be written."""
    try:
        sys.stdout.flush()
    except PhotometerError as error:
        complain(str(error))
        return ExitCode.FAILED
    return status
