"""Code on the command line, for several subcommands: text as it is, or `@FILE` for the text of a file.

A line `# ---` (`// ---` in C++) in a file separates the untimed set-up from the code that is timed. The user's own code
is put on the path of a command here, too, as `python -m` does.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from photometer.cli.option_values import MOST_THREADS

Setup = Annotated[
    str,
    typer.Option("--setup", "-s", metavar="CODE", help="Code to run first, untimed, or @FILE; torch is imported."),
]
GlobalSetup = Annotated[
    str,
    typer.Option(
        "--global-setup", metavar="CODE", help="C++ at the top of the file, such as #include lines, or @FILE."
    ),
]
Cpp = Annotated[bool, typer.Option("--cpp", help="The statements and the setup are C++ (torch/torch.h is included).")]
NumThreads = Annotated[
    int,
    typer.Option(
        "--threads",
        "-t",
        metavar="N",
        min=1,
        max=MOST_THREADS,
        help="Size of torch's thread pool.",
    ),
]

_SEPARATOR = re.compile(r"^[ \t]*(#|//)[ \t]*---+[ \t]*$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Code:
    """A statement, the set-up above the separator in its file, and its name."""

    stmt: str
    setup: str = ""
    name: str = ""


def read_code(argument: str) -> Code:
    """Return the code of an argument: its text, or that of its file."""
    if not argument.startswith("@") or "\n" in argument:
        return Code(argument)
    from photometer.model.own_code import source_text

    path = Path(argument[1:])
    if not path.is_file():
        raise typer.BadParameter(f"there is no file {path}; @FILE names a file of code, everything else is code")
    text = source_text(path)
    parts = _SEPARATOR.split(text, maxsplit=1)
    if len(parts) == 1:
        return Code(text, name=str(path))
    setup, _, stmt = parts
    return Code(stmt, setup, str(path))


def read_setup(argument: str) -> str:
    """Return the set-up of an option: its text, or that of its file."""
    return read_code(argument).stmt


def check_syntax(codes: Iterable[Code], setup: str) -> None:
    """Raise SnippetError, with the user's line, for code that is not Python. It needs neither torch nor a server."""
    from photometer.statement_arguments import check_python, tidy

    for code in codes:
        check_python(tidy(code.stmt), tidy(joined(setup, code.setup)))


def joined(*setups: str) -> str:
    """Return set-ups one after another, or `pass` if there are none."""
    return "\n".join(setup for setup in setups if setup.strip() not in ("", "pass")) or "pass"


def make_own_code_importable(suites: Iterable[str | Path] = ()) -> tuple[str, ...]:
    """Make the working directory, and folders of suites' files, importable here; return them for an environment.

    The environment of this interpreter has them from here; one of another interpreter is given them.
    """
    from photometer.model.own_code import own_folders
    from photometer.worker.server import make_importable

    folders = own_folders(suites)
    make_importable(list(folders))
    return folders
