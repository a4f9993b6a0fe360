"""The help of a command: usage, arguments, options with their defaults, examples, exit status.

In: a command that typer made. Out: a CommandHelp, which `--help` prints and `scripts/docs` turns into a page. Nothing
heavy is imported: `photometer --help` starts at once.
"""

from __future__ import annotations

import dataclasses
import enum
import textwrap
from typing import Any

import typer.core

from photometer.cli.examples import EXAMPLES

# What stands for a value whose option names none.
_METAVARS = {"int": "N", "integer": "N", "float": "X", "str": "TEXT", "text": "TEXT", "Path": "PATH", "path": "PATH"}
# Names of options are this wide at most; longer ones have their text on the next line.
_WIDEST_NAMES = 30


@dataclasses.dataclass(frozen=True)
class EntryHelp:
    """An argument or an option: how it is written, and what it is for."""

    names: str
    text: str


@dataclasses.dataclass(frozen=True)
class CommandHelp:
    """All that the help of one command says."""

    path: str
    usage: str
    summary: str
    arguments: tuple[EntryHelp, ...]
    options: tuple[EntryHelp, ...]
    examples: tuple[str, ...]
    exit_status: str


class PhotometerCommand(typer.core.TyperCommand):
    """A command whose help is written here: typer's own shows types of Python and braces."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(render_help(describe(self, ctx.command_path), formatter.width))


def describe(command: Any, path: str) -> CommandHelp:
    """Return the help of a command as data; `path` is what is typed, such as `photometer time`."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    words = [_metavar(each) if each.required else f"[{_metavar(each)}]" for each in arguments]
    return CommandHelp(
        path=path,
        usage=" ".join([path, "[OPTIONS]", *words]),
        summary=(command.help or "").strip(),
        arguments=tuple(EntryHelp(_metavar(each), each.help or "") for each in arguments),
        options=(*(EntryHelp(_names(each), _text(each)) for each in options), EntryHelp("-h, --help", "Show this.")),
        examples=EXAMPLES.get(path.rpartition("photometer ")[2], ()),
        exit_status=(command.epilog or "").strip(),
    )


def render_help(help: CommandHelp, width: int) -> str:
    """Return the text for a terminal of that many columns."""
    parts = [f"Usage: {help.usage}", "", *_wrapped(help.summary, width, "  ")]
    for title, entries in (("Arguments", help.arguments), ("Options", help.options)):
        if entries:
            parts += ["", f"{title}:", *_entries(entries, width)]
    if help.examples:
        parts += ["", "Examples:", *(f"  {example}" for example in help.examples)]
    if help.exit_status:
        parts += ["", *_wrapped(help.exit_status, width, "")]
    return "\n".join(parts) + "\n"


def _entries(entries: tuple[EntryHelp, ...], width: int) -> list[str]:
    column = min(max(len(entry.names) for entry in entries), _WIDEST_NAMES) + 4
    lines = []
    for entry in entries:
        text = textwrap.wrap(entry.text, max(width - column, 30), break_on_hyphens=False) or [""]
        head = f"  {entry.names}"
        if len(head) + 2 > column:
            lines.append(head)
            head = ""
        lines.append(f"{head:<{column}}{text[0]}".rstrip())
        lines += [" " * column + line for line in text[1:]]
    return lines


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _metavar(parameter: Any) -> str:
    if parameter.metavar is not None:
        return str(parameter.metavar)
    choices = _choices(parameter)
    if choices:
        return "|".join(choices)
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper()
    return _METAVARS.get(_type_name(parameter), "TEXT")


def _names(option: Any) -> str:
    """Return `-s, --setup CODE`, short names first; `--wall / --no-wall` for a pair."""
    names = ", ".join(sorted(option.opts, key=lambda name: name.startswith("--")))
    if option.secondary_opts:
        return f"{names} / {', '.join(option.secondary_opts)}"
    return names if option.is_flag else f"{names} {_metavar(option)}"


def _text(option: Any) -> str:
    """Return the help with the default before its full stop, unless it says so itself."""
    text = (option.help or "").strip()
    default = _default(option)
    if default is None or "(default" in text:
        return text
    stem, stop = (text[:-1], ".") if text.endswith(".") else (text, "")
    return f"{stem} (default: {default}){stop}"


def _default(option: Any) -> str | None:
    value = option.default
    if value is None or callable(value) or value in ("", [], ()):
        return None
    if option.secondary_opts:
        return str((option.opts if value else option.secondary_opts)[0]).lstrip("-")
    if option.is_flag:
        return None
    return str(value.value) if isinstance(value, enum.Enum) else f"{value:g}" if type(value) is float else str(value)


def _choices(parameter: Any) -> list[str]:
    """Return the words that an option can be; typer has kept them in several places over time."""
    described = getattr(parameter, "type_descriptor", None)
    choices = getattr(described, "choices", None) or getattr(getattr(parameter, "type", None), "choices", None) or ()
    return [str(choice.value) if isinstance(choice, enum.Enum) else str(choice) for choice in choices]


def _type_name(parameter: Any) -> str:
    described = getattr(parameter, "type_descriptor", None)
    if described is not None:
        annotation = described.annotation
        return str(getattr(annotation, "__name__", annotation))
    return str(getattr(getattr(parameter, "type", None), "name", ""))
