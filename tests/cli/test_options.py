"""The options of all commands: one option means one thing everywhere, is explained, and is in the list.

docs/options.md has the table, made from the commands themselves. If a change is meant, `python -m
tests.cli.test_options` writes it anew. Examples in the help are accepted by the commands they show.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import typer.main

from photometer.cli import build_app
from photometer.cli.help_page import (
    EXAMPLES,
    FOR_EXPERTS,
    OTHER_OPTIONS,
    SECTIONS,
    EntryHelp,
    describe,
    render_help,
)
from tests.guards.sources import ROOT, check_each

PAGE = ROOT / "docs" / "options.md"
# Those whose words in the help differ from command to command, and the one thing that they mean in all of them.
MEANINGS = {
    "--budget": "Maximum seconds to measure; a default depends on what is compared.",
    "--cold": "Measure with caches that are cold: the device's with --device, otherwise the processor's.",
    "--commit": "The commit that results are of.",
    "--device": "Use the accelerator that is there, or the one you name: cuda, cuda:1, xpu, mps.",
    "--dry-run": "Show what would be done, and do nothing.",
    "--dtype": "Element type, such as float32.",
    "--fail-on": "What makes the command fail: slower, slower:5%, probable, undecided, instructions:1%, "
    "memory:0, memory:64KiB; of compiled statements recompile, graph-break; or never. Several with commas.",
    "--format": "Print figures for a service; github writes a job summary and annotations.",
    "--instructions": "Count instructions (needs Valgrind).",
    "--margin": "Relative change that does not matter, such as 1% or 0.01; compare takes one per tag, too.",
    "--memory": "Measure what one run allocates.",
    "--metric": "Only this metric, such as time or instructions.",
    "--min-run-time": "Seconds to measure each statement, variant or input.",
    "--output": "Folder for what the command writes.",
    "--project": "The project that results are of.",
    "--quiet": "Show less: no progress, no table.",
    "--ranks": "Run in groups of N processes, joined by torch.distributed.",
    "--resume": "Continue what was stopped in -o DIR.",
    "--rows": "Rows of a list to show.",
    "--seed": "Seed of what is random: data, or the inputs of a fuzzer.",
    "--store": "History store: a path or a URL; none writes to none.",
    "--suite": "Suite: a file with BENCHMARKS, module:NAME, or the name of a built-in one "
    "(default: the project's own).",
    "--threads": "Size of torch's thread pool.",
    "--timeout": "Give up on a benchmark after this many seconds.",
    "--title": "Title of the page or site.",
    "--variants": "A line per variant.",
    "--yes": "Do it without asking.",
}
BAR = "\\|"
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


def spellings() -> dict[str, dict[str, dict[str, str]]]:
    """Return, by an option's first long name, what it takes, to the commands that have it and their help."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for name, command in COMMANDS.items():
        for entry in describe(command, f"photometer {name}").all_options:
            names = [word.strip(",") for word in entry.names.split() if word.startswith("-")]
            if "--help" not in names:
                first = next((word for word in names if word.startswith("--")), names[0])
                found.setdefault(first, {}).setdefault(entry.names, {})[name] = entry.text
    return found


def meaning_of(option: str) -> str:
    texts = {text for commands in spellings()[option].values() for text in commands.values()}
    return MEANINGS[option] if option in MEANINGS else min(texts)


def table() -> str:
    found = spellings()
    lines = ["| option | what it means | commands |", "| --- | --- | --- |"]
    for option in sorted(found, key=lambda name: (name.lstrip("-").lower(), name)):
        names = ", ".join(f"`{each}`" for each in sorted(found[option]))
        commands = ", ".join(sorted({name for each in found[option].values() for name in each}))
        lines.append(f"| {names.replace('|', BAR)} | {meaning_of(option).replace('|', BAR)} | {commands} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    return PAGE.read_text(encoding="utf-8").partition("\n| option |")[0] + "\n" + table()


def test_options_are_those_of_the_page() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), "if this is meant: python -m tests.cli.test_options"


def test_no_option_has_two_meanings() -> None:
    """Where help texts differ, somebody has looked and written down what they have in common."""
    found = spellings()
    differ = {name for name, kinds in found.items() if len({t for each in kinds.values() for t in each.values()}) > 1}
    assert differ == set(MEANINGS), differ ^ set(MEANINGS)


def test_no_short_name_is_of_two_options() -> None:
    owners: dict[str, set[str]] = {}
    for option, kinds in spellings().items():
        for names in kinds:
            for word in re.findall(r"(?<![\w-])-[A-Za-z](?![\w-])", names):
                owners.setdefault(word, set()).add(option)
    assert not {short: of for short, of in owners.items() if len(of) > 1}


def test_every_command_that_uses_a_suite_has_the_option() -> None:
    with_suites = {name for name, command in COMMANDS.items() if "SUITE" in describe(command, name).usage}
    assert with_suites >= {"run", "check", "list", "flame"}
    assert with_suites <= set(options()["--suite"]["SUITE"])


def test_help_is_plain() -> None:
    check_each(COMMANDS, check_help)


def check_help(name: str) -> None:
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


def test_help_with_many_options_is_in_sections() -> None:
    with_sections = {}
    for name, command in COMMANDS.items():
        about = describe(command, f"photometer {name}")
        titles = [title for title, _ in about.more_options]
        # Of a short help, only a command's own sections stand apart, such as what is for experts.
        assert bool(about.options) == (OTHER_OPTIONS not in titles)
        if not about.options:
            with_sections[name] = titles
            sections = dict(about.more_options)
            assert [entry.names for entry in sections[OTHER_OPTIONS]] == ["-h, --help"], f"{name}: add it to SECTIONS"
            assert titles[-1] == FOR_EXPERTS
    assert with_sections.keys() >= {"time", "ab", "run", "compare"}
    named = [name for names in SECTIONS.values() for name in names.split()]
    assert len(named) == len({*named})
    assert {*named} <= {name for command in COMMANDS.values() for each in command.params for name in each.opts}


def test_examples_are_accepted() -> None:
    check_each(COMMANDS, check_examples)


def check_examples(name: str) -> None:
    assert EXAMPLES.get(name), f"photometer {name} has no example: photometer/cli/help_page.py"
    for example in EXAMPLES[name]:
        program, *words = shlex.split(example)
        assert program == "photometer"
        assert words[: len(name.split())] == name.split()
        # Parsed, not run: an unknown option or a value out of range raises here, with its own words.
        COMMANDS[name].make_context(name, words[len(name.split()) :])


def test_there_are_no_examples_of_commands_that_are_gone() -> None:
    assert set(EXAMPLES) <= set(COMMANDS)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
