"""Where results go and in which format, for all commands: `-o DIR`, and an option for each format, such as `--json`.

Without a file's name, such an option prints instead of the table; with one, it writes a file besides. The formats are
declared in report/tables/formats.py. `--store` is the history store that a command writes to; `none` turns a project's
own store off.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from photometer.ci.project_store import place_to_write
from photometer.cli.declared_options import in_place_of
from photometer.cli.option_values import LEFT_OUT
from photometer.cli.printing import complain, say_aside, show_rendered, show_text, terminal_width
from photometer.model.results_format import FORMAT
from photometer.report.tables.formats import FORMATS, JSON, Format
from photometer.report.tables.table import Table

# If -o names a file, a format or a picture was meant: the error names the options for those.
_FILE_ENDINGS = (*(ending for each in FORMATS for ending in each.endings), ".svg")
# A results file says what it is in its first line.
_FIRST_BYTES = 200


def _for_terminal(table: Table) -> str:
    from photometer.report.tables.as_text import render_text

    return render_text(table, terminal_width())


# What a command prints without such an option.
TERMINAL = Format("terminal", "text", (), _for_terminal)


def _option_of(format: Format) -> Any:
    return typer.Option(f"--{format.name}", metavar="[FILE]", help=f"Print {format.title}, or write it to this file.")


# Of commands that print records, one per line: they are no tables.
Json = Annotated[str | None, _option_of(JSON)]


class Service(str, enum.Enum):
    """Services that keep results of many commits, by their names for `--format`."""

    GITHUB_ACTION_BENCHMARK = "github-action-benchmark"
    BENCHER = "bencher"
    PYTORCH_HUD = "pytorch-hud"


ForService = Annotated[
    Service | None,
    typer.Option("--format", "-f", help="Print only figures for a service that keeps results of many commits."),
]


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The requested outputs: what to print, and which files to write."""

    printed: Format
    files: tuple[tuple[Format, Path], ...] = ()

    def give(self, render: Callable[[Format], str]) -> None:
        """Print, and write the files."""
        show_rendered(render(self.printed))
        self.write(render)

    def write(self, render: Callable[[Format], str]) -> None:
        """Write the files, if there are any."""
        from photometer.model.whole_file import write_text_whole

        for each, path in self.files:
            write_text_whole(path, render(each))
            say_aside(f"{each.name}: {path}")


ON_TERMINAL = Wanted(TERMINAL)


def wanted(given: Mapping[Format, str | None]) -> Wanted:
    """Return the requested outputs; refuse two that would be printed, and a results file that would be lost."""
    printed = [each for each, value in given.items() if value == LEFT_OUT]
    if len(printed) > 1:
        names = " and ".join(f"--{each.name}" for each in printed)
        raise typer.BadParameter(f"{names} cannot both be printed; name a file for one of them")
    files = tuple((each, Path(value)) for each, value in given.items() if value not in (None, LEFT_OUT))
    for _, path in files:
        _check_no_results(path)
    return Wanted(printed[0] if printed else TERMINAL, files)


def with_formats(command: Callable[..., Any]) -> Any:
    """Return the command with an option for each format, in place of its argument `asked`."""
    options = {each.name: (Annotated[str | None, _option_of(each)], None) for each in FORMATS}
    return in_place_of("asked", options, _gathered)(command)


def _gathered(values: Mapping[str, str | None]) -> Wanted:
    return wanted({each: values[each.name] for each in FORMATS})


def give_lines(json: str, lines: Iterable[str]) -> None:
    """Print records as JSON, one per line, or write them to the named file."""
    if json == LEFT_OUT:
        for line in lines:
            show_text(line)
        return
    from photometer.model.whole_file import write_text_whole

    path = Path(json)
    _check_no_results(path)
    write_text_whole(path, "".join(f"{line}\n" for line in lines))
    say_aside(f"json: {path}")


def folder(value: Path | None) -> Path | None:
    """Return the value of -o; refuse the name of a file."""
    if value is not None and value.suffix in _FILE_ENDINGS and not value.is_dir():
        raise typer.BadParameter(f"-o names a folder, and {value} looks like a file; --json and its like write files")
    return value


def folder_option(about: str) -> typer.models.OptionInfo:
    """Return -o with the help of a command."""
    option = typer.Option("--output", "-o", metavar="DIR", callback=folder, help=about)
    assert isinstance(option, typer.models.OptionInfo)
    return option


def _check_no_results(path: Path) -> None:
    if path.is_file():
        with path.open("rb") as file:
            if FORMAT.encode() in file.read(_FIRST_BYTES):
                raise typer.BadParameter(f"{path} is a results file; name another to write to")


WriteStore = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PLACE",
        help="History store to write to: a path, a URL, or none (default: PHOTOMETER_STORE, then the project's).",
    ),
]
ReadStore = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="PLACE", help="History store: a path or URL (default: PHOTOMETER_STORE, then the project's)."
    ),
]


def store_to_write(given: str | None) -> str | None:
    """Return the store for results, which can be opened. Print a warning if the project's own cannot be used."""
    return place_to_write(given, complain)


def hidden(arguments: list[str]) -> list[str]:
    """Return a command line without the secrets of its store."""
    if not any("://" in argument for argument in arguments):
        return arguments
    from photometer.history.connection import without_secrets

    shown = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name == "--store" and equals:
            shown.append(f"{name}={without_secrets(value, value)}")
        else:
            shown.append(without_secrets(argument, argument))
    return shown
