"""The command `photometer`: one file a subcommand, each with `register(app)`. Only this folder prints and exits.

Nothing heavy is imported here: `photometer --help` answers without torch. Exit codes are in exit_codes.py.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import typer

from photometer.cli.exit_codes import ExitCode
from photometer.errors import PhotometerError

# In the order in which `--help` lists them.
COMMANDS = ("time", "run", "compare", "flame", "fuzz", "list", "check", "show", "report", "cache")


def build_app() -> typer.Typer:
    app = typer.Typer(
        name="photometer",
        help="Measures PyTorch code: how fast, which is faster, did my branch make it slower, by how much, and why.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        # Rich's help pages cost 60 ms of imports on every call.
        rich_markup_mode=None,
    )

    @app.callback(invoke_without_command=True)
    def _version(
        version: bool = typer.Option(False, "--version", help="Say the version and stop.", is_eager=True),
    ) -> None:
        if version:
            from photometer import __version__

            typer.echo(__version__)
            raise typer.Exit

    for name in COMMANDS:
        importlib.import_module(f"photometer.cli.{name}").register(app)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command. Errors of ours are shown without a traceback: they say what to do."""
    try:
        # Not list(): once imported, the subcommand's module photometer.cli.list has that name here.
        build_app()(args=None if arguments is None else [*arguments])
    except PhotometerError as error:
        typer.echo(f"photometer: {error}", err=True)
        sys.exit(ExitCode.FAILED)
    except KeyboardInterrupt:
        typer.echo("photometer: stopped", err=True)
        sys.exit(130)
