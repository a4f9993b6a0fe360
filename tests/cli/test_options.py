"""The options of all commands: one option means one thing everywhere, is explained, and is in the list.

tests/cli/options.txt is the table: each option, what it takes, and the commands that have it. If a change is meant,
`python -m tests.cli.test_options` writes it anew. Examples in the help are accepted by the commands they show.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from photometer.cli import build_app
from photometer.cli.help_page import EXAMPLES, EntryHelp, describe, render_help

TABLE = Path(__file__).with_name("options.txt")
# Those whose words differ from command to command; what they mean does not.
WORDS_DIFFER = {"--fail-on", "--format", "-f", "--only", "--metric", "--dtype", "--margin"}
# Results go to one file, to several, or into a folder: always to where -o says.
PLACES = {"FILE", "DIR", "PATH"}
# Private words of ours, which readers of a help text do not know.
UNWANTED = (" told", "answers", " luck", "; else ", " so many", " a benchmark.", "Else")


def all_commands() -> Iterator[tuple[str, Any]]:
    for name, command in typer.main.get_command(build_app()).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        if inner is None:
            yield name, command
        else:
            yield from ((f"{name} {word}", each) for word, each in inner.items())


COMMANDS = dict(all_commands())


def taken(entry: EntryHelp, name: str) -> str:
    """Return what an option takes: its metavar, or nothing if it is a flag."""
    last = entry.names.rpartition(" ")[2]
    return "" if last.startswith("-") or " / " in entry.names else last


def options() -> dict[str, dict[str, list[str]]]:
    """Return option to what it takes to commands."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, command in COMMANDS.items():
        for entry in describe(command, f"photometer {name}").all_options:
            for option in (word.strip(",") for word in entry.names.split() if word.startswith("-")):
                found.setdefault(option, {}).setdefault(taken(entry, option), []).append(name)
    return found


def table() -> str:
    lines = [
        f"{option} {kind}".ljust(44) + ", ".join(sorted(commands))
        for option, kinds in sorted(options().items(), key=lambda item: item[0].lstrip("-").lower() + item[0])
        for kind, commands in sorted(kinds.items())
        if option not in ("-h", "--help")
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def test_options_are_those_of_the_table() -> None:
    assert table() == TABLE.read_text(), "if this is meant: python -m tests.cli.test_options"


def test_one_option_is_one_thing() -> None:
    differ = {option: kinds for option, kinds in options().items() if len(kinds) > 1 and not set(kinds) <= PLACES}
    assert set(differ) <= WORDS_DIFFER, differ


def test_every_command_that_uses_a_suite_has_the_option() -> None:
    with_suites = {name for name, command in COMMANDS.items() if "SUITE" in describe(command, name).usage}
    assert with_suites >= {"run", "check", "list", "flame"}
    assert with_suites <= set(options()["--suite"]["SUITE"])


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_plain(name: str) -> None:
    about = describe(COMMANDS[name], f"photometer {name}")
    assert about.summary.endswith(("?", "."))
    for entry in (*about.arguments, *about.all_options):
        assert entry.text[:1].isupper() or entry.text[:1] in "@", f"{entry.names}: {entry.text}"
        assert entry.text.endswith("."), f"{entry.names}: {entry.text}"
        assert not [word for word in UNWANTED if word in entry.text], f"{entry.names}: {entry.text}"
    text = render_help(about, 80)
    assert "<" not in text.partition("Arguments:")[0]
    assert "{" not in about.usage
    # Only words that cannot be broken, such as an example or the choices of a format, are wider.
    assert not [line for line in text.partition("Examples:")[0].splitlines() if len(line) > 80 and "|" not in line]


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_accepted(name: str) -> None:
    assert EXAMPLES.get(name), f"photometer {name} has no example: photometer/cli/help_page.py"
    for example in EXAMPLES[name]:
        program, *words = shlex.split(example)
        assert program == "photometer"
        assert words[: len(name.split())] == name.split()
        # Parsed, not run: an unknown option or a value out of range raises here.
        COMMANDS[name].make_context(name, words[len(name.split()) :])


def test_there_are_no_examples_of_commands_that_are_gone() -> None:
    assert set(EXAMPLES) <= set(COMMANDS)


if __name__ == "__main__":
    TABLE.write_text(table())
