"""The help of a command: usage, arguments, options with their defaults, examples, exit status; and former names.

In: a command that typer made. Out: a CommandHelp, which `--help` prints and `scripts/docs` turns into a page. Nothing
heavy is imported: `photometer --help` starts at once. Everything has one name: a former spelling of a command or an
option is a usage error that names the new one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import textwrap
from collections.abc import Iterator
from typing import Any

import typer.core

from photometer.cli.option_values import with_values
from photometer.cli.printing import on_screen

# Options that few need have a section of their own at the end of a command's help: `rich_help_panel=FOR_EXPERTS`.
FOR_EXPERTS = "For experts"
# A command with more options than this has them in the sections below.
MOST_WITHOUT_SECTIONS = 14
OTHER_OPTIONS = "Other options"
# By the question that brings a reader to the help. What is not named here is among the other options.
SECTIONS = {
    "What runs": (
        "--suite -k --tag -L --where --setup --setup-b --cpp --global-setup --fuzzer --spec --against --count --dtype"
        " --max-elements --max-bytes --matrix --every --commits --install --python --threads --ranks --seed"
        " --grad-to-none"
    ),
    "What is measured": (
        "--device --wall --instructions --memory --cold --cache --rates --energy --compile-report --compile-counts"
        " --time --number --repeats --flame --duration --native --png --mode --dynamic --fullgraph --backend"
    ),
    "How long": "--min-run-time --precision --budget --limit --timeout --quick --resume",
    "Verdicts": "--margin --metric --fail-on --accepted",
    "Results": (
        "--output --json --csv --markdown --html --format --junit --store --label --rows --quiet --by-file --relative"
        " --baseline --baseline-env --transpose --variants --percentiles --recover"
    ),
    "Where it runs": "--cores --on --nodes --ranks-per-node --lock-clocks --no-keep",
}

# Of each command, at the end of its help. A test checks that the command accepts them.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "time": (
        'photometer time "x + 1" -s "x = torch.ones(64)"',
        'photometer time "x.sum()" "x.mean()" -s "x = torch.rand(n)" -L n=64,4096',
        'photometer time "torch.mm(x, x)" -s "x = torch.rand(64, 64)" --precision 0.01',
        'photometer time --instructions "x * x" -s "x = torch.ones(4)"',
        'photometer time --device "x + 1" -s "x = torch.ones(4096, device=\'cuda\')"',
    ),
    "ab": (
        'photometer ab "torch.add(x, x)" "x + x + x" -s "x = torch.ones(16)"',
        'photometer ab "x * 2" "x + x" "torch.add(x, x)" -s "x = torch.ones(16)" -o ranking',
        "photometer ab @old.py @new.py --instructions --fail-on slower",
    ),
    "run": (
        "photometer run standard -k matmul",
        "photometer run my_suite.py -o results --no-instructions",
        "photometer run my_suite.py -L n=16..4096*2 --rates",
    ),
    "init": ("photometer init", "photometer init --yes"),
    "compare": (
        "photometer compare",
        "photometer compare --fail-on slower:5%,memory:0 --format github -o comparison",
        "photometer compare git:merge-base:main git:WORKTREE --suite my_suite.py",
        "photometer compare pip:torch==2.12.1 pip:torch==2.13.0 --suite standard -o comparison",
        "photometer compare current env:OMP_NUM_THREADS=2 --suite my_suite.py",
        "photometer compare before.json after.json",
    ),
    "comment": ("photometer comment comparison --pull-request 7 --dry-run",),
    "compile-report": ('photometer compile-report "f(x)" -s "f = torch.sin; x = torch.ones(8)"',),
    "bisect": ("photometer bisect v1.0 main --suite my_suite.py -k linear",),
    "calibrate": ("photometer calibrate --suite standard -k quick",),
    "flame": (
        'photometer flame "x.sum()" -s "x = torch.rand(4096)" -o flames',
        'photometer flame overrides -k "torch.add and SubTensor" --instructions',
    ),
    "fuzz": (
        'photometer fuzz "x.exp()" --against "x.abs()" --fuzzer unary -n 50 -o map',
        'photometer fuzz "x.sum(axis)" --fuzzer reduction --seed 3',
    ),
    "list": ("photometer list standard", "photometer list my_suite.py --variants -k backward"),
    "check": ("photometer check my_suite.py",),
    "show": (
        "photometer show results.json",
        "photometer show before.json after.json --by-file --relative %",
        "photometer show results.json --markdown table.md",
    ),
    "report": ("photometer report photometer-results/standard", "photometer report results.json -o page"),
    "convert": ("photometer convert old.pkl -o converted",),
    "doctor": ("photometer doctor", "photometer doctor -o doctor", "photometer doctor --peaks --threads 2"),
    "cache": ("photometer cache", "photometer cache --clear --only snippets"),
    "warm": ("photometer warm", "photometer warm --stop"),
    "history create": ("photometer history create",),
    "history add": ("photometer history add results.json --commit HEAD",),
    "history runs": ("photometer history runs --rows 10",),
    "history curves": ("photometer history curves -k linear --metric time",),
    "history measure": ("photometer history measure git:v1.0..main --suite my_suite.py --commits 20",),
    "history changes": ("photometer history changes --metric instructions",),
    "history diff": ("photometer history diff v1.0 main",),
    "history export": ("photometer history export --csv curves.csv",),
    "history publish": ("photometer history publish site",),
    "history serve": ("photometer history serve --port 0",),
    "history prune": ("photometer history prune --before 2026-01-31 --yes",),
    "history verify": ("photometer history verify",),
}
# What stands for a value whose option names none.
_METAVARS = {"int": "N", "integer": "N", "float": "X", "str": "TEXT", "text": "TEXT", "Path": "PATH", "path": "PATH"}
# Names of options are this wide at most; longer ones have their text on the next line.
_WIDEST_NAMES = 30


@dataclasses.dataclass(frozen=True)
class EntryHelp:
    """An argument or an option: its spelling and its purpose."""

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
    # By the title of their section.
    more_options: tuple[tuple[str, tuple[EntryHelp, ...]], ...]
    examples: tuple[str, ...]
    exit_status: str

    @property
    def all_options(self) -> tuple[EntryHelp, ...]:
        return (*self.options, *(entry for _, entries in self.more_options for entry in entries))


class PhotometerCommand(typer.core.TyperCommand):
    """A command whose help is written here: typer's own shows types of Python and braces."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # Only an option that has a metavar in brackets may be without a value.
        optional = frozenset(
            name for each in self.params for name in each.opts if str(each.metavar or "").startswith("[")
        )
        try:
            return super().parse_args(ctx, with_values(args, optional))
        except Exception as error:
            name_new_option(error, typed_command(ctx))
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(render_help(describe(self, ctx.command_path), formatter.width))


@contextlib.contextmanager
def _harmless_mistakes() -> Iterator[None]:
    """Repeat the user's words as `complain` would: they cannot act on the screen, and show no password."""
    try:
        yield
    except UnicodeEncodeError as error:
        # Half of a character, which typer hands to the system as a path.
        raise typer.BadParameter(f"{on_screen(str(error.object))!r} cannot be the name of a file") from error
    except Exception as error:
        # Errors of usage, from the click that typer has in it or from the one beside it.
        if hasattr(error, "format_message") and hasattr(error, "message"):
            error.message = on_screen(str(error.message))
        raise


class PhotometerGroup(typer.core.TyperGroup):
    """A group that shows the purpose of each command in full: typer's own cuts sentences off."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _harmless_mistakes():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _harmless_mistakes():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        new = name_new_command(f"{typed_command(ctx)} {args[0]}".strip()) if args else None
        if new is not None:
            ctx.fail(new)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.commands[name]
            title = str(getattr(command, "rich_help_panel", None) or "Commands")
            sections.setdefault(title, []).append((name, (command.help or "").strip()))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def describe(command: Any, path: str) -> CommandHelp:
    """Return the help of a command as data; `path` is what is typed, such as `photometer time`."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    in_sections = len(options) > MOST_WITHOUT_SECTIONS
    panels: dict[str, list[EntryHelp]] = {title: [] for title in SECTIONS} if in_sections else {}
    panels |= {"": [], FOR_EXPERTS: []}
    for each in options:
        title = getattr(each, "rich_help_panel", None) or (_section(each) if in_sections else "")
        panels.setdefault(title, []).append(EntryHelp(_names(each), _text(each)))
    others = (*panels.pop(""), EntryHelp("-h, --help", "Show this message and exit."))
    if in_sections:
        experts = panels.pop(FOR_EXPERTS)
        panels, others = {**panels, OTHER_OPTIONS: [*others], FOR_EXPERTS: experts}, ()
    words = [_metavar(each) if each.required else f"[{_metavar(each)}]" for each in arguments]
    return CommandHelp(
        path=path,
        usage=" ".join([path, "[OPTIONS]", *words]),
        summary=(command.help or "").strip(),
        arguments=tuple(EntryHelp(_metavar(each), each.help or "") for each in arguments),
        options=others,
        more_options=tuple((title, tuple(entries)) for title, entries in panels.items() if entries),
        examples=EXAMPLES.get(path.rpartition("photometer ")[2], ()),
        exit_status=(command.epilog or "").strip(),
    )


def _section(option: Any) -> str:
    """Return the title of an option's section; empty if none has it."""
    return next((title for title, names in SECTIONS.items() if not {*names.split()}.isdisjoint(option.opts)), "")


def render_help(help: CommandHelp, width: int) -> str:
    """Return the text for a terminal of that many columns."""
    parts = [f"Usage: {help.usage}", "", *_wrapped(help.summary, width, "  ")]
    for title, entries in (("Arguments", help.arguments), ("Options", help.options), *help.more_options):
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
    """Return the help with the default before its full stop, unless the help has it already."""
    text = (option.help or "").strip()
    default = _default(option)
    if default is None or "(default" in text:
        return text
    stem, stop = (text[:-1], ".") if text.endswith(".") else (text, "")
    if stem.endswith(")"):
        return f"{stem[:-1]}; default: {default}){stop}"
    return f"{stem} (default: {default}){stop}"


def _default(option: Any) -> str | None:
    value = option.default
    if value is None or callable(value) or value in ("", [], ()):
        return None
    if option.secondary_opts:
        return "on" if value else "off"
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


# By what was typed after `photometer`.
FORMER_COMMANDS = {
    "load": "convert",
    "peaks": "doctor --peaks",
    "publish": "history publish",
    "serve": "history serve",
    "history compare": "history diff",
    "history doctor": "history verify",
    "history init": "history create",
    "history list": "history runs",
    "history run": "history measure",
    "history show": "history curves",
}
# By command, then by option.
FORMER_OPTIONS = {
    "ab": {"--language": "--cpp", "--num-threads": "--threads"},
    "compare": {"--calibrate": "a command: photometer calibrate"},
    "compile-report": {"--num-threads": "--threads"},
    "history changes": {"--count": "--rows", "-n": "--rows"},
    "history runs": {"--count": "--rows", "-n": "--rows"},
    "history export": {"--format": "--json or --csv", "-f": "--json or --csv"},
    "show": {
        "--output": "--json FILE, --csv FILE, --markdown FILE or --html FILE",
        "-o": "--json FILE, --csv FILE, --markdown FILE or --html FILE",
    },
    "doctor": {"--on-device": "--device", "--num-threads": "--threads"},
    "fuzz": {"--on-device": "--device", "--num-threads": "--threads"},
    "time": {"--max-run-time": "--budget, for all statements together", "--num-threads": "--threads"},
    "convert": {"--torch-pickle": "left out: `photometer convert FILE` reads pickles of torch.utils.benchmark"},
}


# Values of --format that are options of their own.
SHAPES = ("json", "csv", "markdown", "html")


def typed_command(context: Any) -> str:
    """Return the words after the program's name, such as `history add`."""
    names = []
    while context.parent is not None:
        names.append(str(context.info_name))
        context = context.parent
    return " ".join(reversed(names))


def name_new_command(typed: str) -> str | None:
    """Return the error for a command's old name; None if it never was one."""
    new = FORMER_COMMANDS.get(typed)
    return None if new is None else f"`photometer {typed}` is now `photometer {new}`."


def name_new_option(error: Any, command: str) -> None:
    """Add the new spelling to the error of an unknown option or value, if it is an old one."""
    if "--format" in getattr(getattr(error, "param", None), "opts", ()):
        shape = next((each for each in SHAPES if f"'{each}'" in str(error.message)), None)
        error.message = error.message if shape is None else f"--format {shape} is now --{shape}"
    old = getattr(error, "option_name", None)
    new = FORMER_OPTIONS.get(command, {}).get(old) if isinstance(old, str) else None
    if new is not None:
        error.message = f"{old} is now {new}"
        error.possibilities = None
