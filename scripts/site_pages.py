"""Pages of the documentation site that are made while it is built: a hook of mkdocs (see mkdocs.yml).

The start page, the changelog and the rules for contributors are files of the repository's root. The reference of
commands is made from the command itself, that of Python from the public names. Pages that no part of the navigation
names, such as those that somebody else is writing, are put under "Guides".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FROM_ROOT = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
}

FIGURES = ROOT / "docs" / "figures"
# The comment before a table that tests/guards/test_figures.py asks for; readers see it as a line.
SOURCE_OF_TABLE = re.compile(r"^<!-- (measured|printed|figures): ([^#\n]+?)(?:#\w+)? -->\n(?=\|)", re.MULTILINE)

# Which public names stand together, by the module that they live in; the first that fits.
PARTS = (
    (
        "Timing",
        ("photometer.timing", "photometer.model.measurement", "photometer.model.task", "photometer.instruments.clock"),
    ),
    ("Tables", ("photometer.tables", "photometer.analysis.table", "photometer.model.units")),
    (
        "Comparing",
        (
            "photometer.comparing",
            "photometer.analysis.verdict",
            "photometer.analysis.ranking",
            "photometer.analysis.comparison",
        ),
    ),
    ("Suites", ("photometer.definition", "photometer.plan", "photometer.pipeline", "photometer.execution")),
    (
        "Instruction counts",
        (
            "photometer.instruments.callgrind",
            "photometer.model.callgrind",
            "photometer.model.instruction_counts",
            "photometer.model.instruction",
            "photometer.model.copy_if",
            "photometer.instruments.processor",
            "photometer.model.processor",
            "photometer.session.layout",
        ),
    ),
    ("Devices and memory", ("photometer.model.device", "photometer.model.memory", "photometer.report.device")),
    ("C++", ("photometer.instruments.cpp", "photometer.worker.native_loop", "photometer.model.task")),
    (
        "Fuzzing",
        (
            "photometer.fuzz",
            "photometer.op_fuzzers",
            "photometer.analysis.fuzz",
            "photometer.report.fuzz",
            "photometer.report.page",
        ),
    ),
    ("Flame graphs", ("photometer.report.flame", "photometer.analysis.flame")),
    ("Results and history", ("photometer.results", "photometer.model.results", "photometer.history")),
    ("Environments", ("photometer.model.machine", "photometer.worker.threads")),
    ("Errors", ("photometer.errors",)),
    ("Others", ("photometer",)),
)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made here."""
    from mkdocs.structure.files import File

    made = {page: _from_root(ROOT / source) for page, source in FROM_ROOT.items()}
    made["reference/commands.md"] = commands_page()
    made["reference/api.md"] = api_page()
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    _complete_navigation(config, files)
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Take off the mark of blocks that tests do not run, and say above each table of figures where it is from."""
    plain = re.sub(r"^( *```\w+) no-run$", r"\1", markdown, flags=re.MULTILINE)
    return SOURCE_OF_TABLE.sub(lambda found: f"*{source_text(found[1], found[2])}*\n\n", plain)


def source_text(kind: str, named: str) -> str:
    """Return where the figures of the table below a comment are from: script and day, and what else was kept."""
    if kind == "measured":
        return f"Measured by {named}." if named.startswith("by hand") else f"Measured by `{named.replace(', ', '`, ')}."
    if kind == "printed":
        command, about, *_ = (FIGURES / f"{named}.txt").read_text(encoding="utf-8").splitlines()
        if not (command.startswith("$ ") and about.startswith("# ")):
            return f"Printed by a script; kept in docs/figures/{named}.txt."
        return f"Printed by `{command[2:]}`: {about[2:]}."
    kept = json.loads((FIGURES / f"{named}.json").read_text(encoding="utf-8"))
    return f"Measured by `{kept['script']}`, {kept['taken']}: {kept['machine']}."


def _from_root(path: Path) -> str:
    """Return a file of the repository's root with its links as seen from docs/."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"(\]\(|src=\")docs/", r"\1", text)
    for page, source in FROM_ROOT.items():
        text = text.replace(f"]({source}", f"]({page}")
    return text.replace("](LICENSE)", "](contributing.md)")


def _complete_navigation(config: Any, files: Any) -> None:
    known = set(_pages_in(config.nav))
    new = [file.src_uri for file in files.documentation_pages() if file.src_uri not in known]
    guides = next((part["Guides"] for part in config.nav if "Guides" in part), None)
    if guides is not None:
        guides.extend(sorted(new))


def _pages_in(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for value in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _pages_in(value)


def commands_page() -> str:
    """Return every command with its arguments, options, defaults and examples, as Markdown."""
    import typer.main

    from photometer.cli import build_app
    from photometer.cli.help_page import CommandHelp, describe

    def entries(title: str, about: CommandHelp) -> Iterator[str]:
        rows = about.arguments if title == "Argument" else about.all_options
        if rows:
            yield f"\n| {title} | |\n| --- | --- |"
            for row in rows:
                names = row.names.replace("|", "\\|")
                yield f"| `{names}` | {_cell(row.text)} |"

    def section(command: Any, path: str) -> Iterator[str]:
        about = describe(command, path)
        yield f"\n## {path}\n\n{about.summary}\n\n```text\n{about.usage}\n```"
        yield from entries("Argument", about)
        yield from entries("Option", about)
        if about.examples:
            lines = "\n".join(f"$ {example}" for example in about.examples)
            yield f"\n```console\n{lines}\n```"
        if about.exit_status:
            yield f"\n{about.exit_status}"

    lines = ["# Commands\n\nMade from the command itself: `photometer COMMAND --help` shows the same."]
    for name, command in typer.main.get_command(build_app()).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        if inner is None:
            lines += section(command, f"photometer {name}")
        else:
            for word, each in inner.items():
                lines += section(each, f"photometer {name} {word}")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("{", "&#123;")


def api_page() -> str:
    """Return the public names by part, as instructions for mkdocstrings."""
    import photometer

    lines = [
        "# Python API\n\nWhat is used most is imported from `photometer`: `from photometer import Timer`. The rest is "
        "in modules by subject: `from photometer.callgrind import count_many`."
    ]
    left = dict(photometer._HOME)
    for title, modules in PARTS:
        names = sorted((n for n in left if left[n].startswith(modules)), key=_classes_first)
        if names:
            lines.append(f"\n## {title}\n")
        lines += [_entry(name, left.pop(name)) for name in names]
    for module in photometer.MODULES:
        place = f"photometer.{module}"
        lines.append(f"\n## {place}\n")
        lines += [_entry(name, place) for name in sorted(_names_in(place), key=_classes_first)]
    return "\n".join(lines)


def _entry(name: str, home: str) -> str:
    place = _defined_in(name, home)
    # Some are other names of a class's own functions.
    return f"::: {place}\n" if place.endswith(f".{name}") else f"### {name}\n\n::: {place}\n"


def _classes_first(name: str) -> tuple[bool, str]:
    return (not name[0].isupper(), name)


def _names_in(module: str) -> list[str]:
    import importlib

    import photometer

    there = importlib.import_module(module)
    own = [name for name, value in vars(there).items() if getattr(value, "__module__", "") == module]
    return [n for n in getattr(there, "__all__", own) if n[0] != "_" and n not in photometer._HOME]


def _defined_in(name: str, home: str) -> str:
    """Return where a name is defined: mkdocstrings reads files and does not follow a package's imports."""
    import importlib

    value = getattr(importlib.import_module(home), name)
    module = getattr(value, "__module__", home)
    return f"{module if module.startswith('photometer') else home}.{getattr(value, '__qualname__', name)}"
