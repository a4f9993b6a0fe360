"""The exit statuses of the command, by which a script can tell "slower" from "broken".

After a signal the status is 128 plus the signal's number, as in shells: 130 for Ctrl-C, 143 for SIGTERM, 129 for
SIGHUP.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


class ExitCode(enum.IntEnum):
    FINE = 0
    FAILED = 1
    USAGE = 2
    SLOWER = 3
    UNDECIDED = 4
    NOTHING_RAN = 5


_USUAL: Mapping[ExitCode, str] = {
    ExitCode.FINE: "fine",
    ExitCode.FAILED: "something failed",
    ExitCode.USAGE: "usage",
}
_NOTHING: Mapping[ExitCode, str] = {ExitCode.NOTHING_RAN: "nothing was selected"}
# By command: what a code means there, if it is more than the usual.
OF_COMMANDS: Mapping[str, Mapping[ExitCode, str]] = {
    "ab": {
        ExitCode.SLOWER: "a rule of --fail-on is broken",
        ExitCode.UNDECIDED: "undecided (with --fail-on undecided)",
    },
    "run": {ExitCode.FAILED: "a benchmark failed", ExitCode.SLOWER: "a rule of --fail-on is broken", **_NOTHING},
    "compare": {
        ExitCode.FINE: "nothing is slower, except what is accepted",
        ExitCode.SLOWER: "slower, or another rule of --fail-on is broken",
        ExitCode.UNDECIDED: "undecided (with --fail-on undecided)",
        ExitCode.NOTHING_RAN: "nothing ran",
    },
    "compile-report": {ExitCode.SLOWER: "a rule of --fail-on is broken"},
    "bisect": {
        ExitCode.FINE: "found",
        ExitCode.UNDECIDED: "only narrowed down",
        ExitCode.NOTHING_RAN: "the two revisions do not differ",
    },
    "flame": _NOTHING,
    "fuzz": {ExitCode.NOTHING_RAN: "nothing could be measured"},
    "list": _NOTHING,
    "check": {ExitCode.FAILED: "a variant failed, or results differ", **_NOTHING},
    "doctor": {ExitCode.FAILED: "something disturbs measurements"},
    "history runs": {ExitCode.NOTHING_RAN: "the store has no such runs"},
    "history curves": {ExitCode.NOTHING_RAN: "no benchmark was selected"},
    "history diff": {ExitCode.NOTHING_RAN: "nothing was measured at both commits"},
    "history verify": {ExitCode.FAILED: "the store has problems"},
    "comment": {ExitCode.FAILED: "GitHub refused the comment, or cannot be reached"},
    "init": {ExitCode.NOTHING_RAN: "there is nothing to write"},
}


def exit_words(command: str) -> str:
    """Return the line on exit codes for a command's help."""
    codes = {**_USUAL, **OF_COMMANDS.get(command, {})}
    return "Exit status: " + ", ".join(f"{code:d} {codes[code]}" for code in sorted(codes)) + "."


def add_exit_words(app: typer.Typer, group: str = "") -> None:
    """Add the line below the help of every command that has none."""
    for command in app.registered_commands:
        if not isinstance(command.epilog, str):
            command.epilog = exit_words(f"{group}{command.name}")
    for below in app.registered_groups:
        if below.typer_instance is not None:
            add_exit_words(below.typer_instance, f"{group}{below.typer_instance.info.name} ")
