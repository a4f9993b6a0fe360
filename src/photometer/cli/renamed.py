"""Former names of commands and options: an old spelling is a usage error that names the new one.

No old spelling is accepted: everything has one name.
"""

from __future__ import annotations

from typing import Any

# By what was typed after `photometer`.
COMMANDS = {
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
OPTIONS = {
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
    new = COMMANDS.get(typed)
    return None if new is None else f"`photometer {typed}` is now `photometer {new}`."


def name_new_option(error: Any, command: str) -> None:
    """Add the new spelling to the error of an unknown option or value, if it is an old one."""
    if "--format" in getattr(getattr(error, "param", None), "opts", ()):
        shape = next((each for each in SHAPES if f"'{each}'" in str(error.message)), None)
        error.message = error.message if shape is None else f"--format {shape} is now --{shape}"
    old = getattr(error, "option_name", None)
    new = OPTIONS.get(command, {}).get(old) if isinstance(old, str) else None
    if new is not None:
        error.message = f"{old} is now {new}"
        error.possibilities = None
