"""What pages refer to is there: files and headings of internal links, options, and the modules that docstrings name."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

from photometer.ci.project import ProjectSettings
from photometer.model.diagnosis import SuspicionKind
from tests.cli.test_options import COMMANDS, options
from tests.guards.sources import ROOT, SOURCES, none_of, parsed, place

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s:]*?)(?:#([^)\s]*))?\)")
_CODE = re.compile(r"`([^`\n]+)`")
_CONSOLE = re.compile(r"^```console[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"photometer ((?:history )?[a-z][a-z-]*)\b")
_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]+)")
# Options of other programs, and of our worker, that pages name by themselves.
_OF_PIP = {"--no-index", "--pre", "--no-build-isolation", "--extra-index-url", "--find-links"}
_OF_OTHERS = {*_OF_PIP, "--adapter", "--dist", "--vgdb", "--cap-add", "--fresh"}
_OF_PYTEST = re.compile(r"--(?:photometer|benchmark|codspeed)(?:-[a-z-]+)?")
# It also names what was there once.
_HISTORICAL = {"CHANGELOG.md"}


def _slug(heading: str) -> str:
    """Return the anchor of a heading, as mkdocs makes it; GitHub's differs in dashes alone."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    plain = re.sub(r"[^\w\s-]", "", plain.replace("`", "")).strip().lower()
    return re.sub(r"[-\s]+", "-", plain)


def _anchors(page: Path) -> set[str]:
    text = _FENCE.sub("", page.read_text())
    return {_slug(heading) for heading in _HEADING.findall(text)} | set(re.findall(r'(?:id|name)="([^"]+)"', text))


def _broken_links() -> Iterator[str]:
    for page in PAGES:
        for target, anchor in _LINK.findall(_FENCE.sub("", page.read_text())):
            file = page if not target else (page.parent / target)
            if not file.exists():
                yield f"{place(page)} links to {target}, which is not there"
            elif anchor and file.suffix == ".md" and anchor not in _anchors(file):
                yield f"{place(page)} links to #{anchor}, a heading that {place(file)} does not have"


def _mentions(page: Path) -> Iterator[str]:
    """Yield each piece of code on a page that may name an option: `code` in a line, and lines of a terminal."""
    text = page.read_text()
    for block in _CONSOLE.findall(text):
        yield from (line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ "))
    yield from _CODE.findall(_FENCE.sub("", text))


def _of_scripts() -> set[str]:
    """Return the options of our own scripts, which pages name with their figures."""
    scripts = [*(ROOT / "benchmarks").glob("*.py"), *(file for file in (ROOT / "scripts").iterdir() if file.is_file())]
    return {option for script in scripts for option in _OPTION.findall(script.read_text())}


def _unknown_options() -> Iterator[str]:
    known = options()
    elsewhere = _of_scripts() | _OF_OTHERS
    for page in PAGES:
        if page.name in _HISTORICAL:
            continue
        for text in _mentions(page):
            named = [option for option in _OPTION.findall(text) if not _OF_PYTEST.fullmatch(option)]
            command = _COMMAND.match(text)
            if command is not None:
                yield from (f"{place(page)}: {problem}" for problem in _wrong_for(command, named, known))
            elif text.startswith("--"):
                unknown = [option for option in named if option not in known and option not in elsewhere]
                yield from (f"{place(page)}: no command has {option}" for option in unknown)


def _wrong_for(command: re.Match[str], named: list[str], known: dict[str, dict[str, list[str]]]) -> Iterator[str]:
    name = command[1] if command[1] in COMMANDS else command[1].split()[0]
    if name in COMMANDS:
        own = {option for option, kinds in known.items() for names in kinds.values() if name in names}
        yield from (f"`photometer {name}` has no {option}" for option in named if option not in own)
    elif not any(each.startswith(f"{name} ") for each in COMMANDS):
        yield f"there is no command `photometer {name}`"


# Files whose names stand for any, and those of others' projects that loaders read.
_NAMED_FOR_ANY = re.compile(r"(?:^|[/_])(?:[A-Z]+|ASPECT)\.py$")
_OF_USERS = {"script.py", "bench.py", "pt/add_test.py", "benchmarks/suite.py"}


def _named_files(text: str) -> Iterator[str]:
    return (name.lstrip("/") for name in re.findall(r"(?<![\w*])[\w/]*\w\.py\b", text))


def _missing_files() -> Iterator[str]:
    """Yield each Python file that the pages for contributors or a module's docstring name, and that is not there."""
    tree = [path for folder in ("src", "tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
    ends = {path.relative_to(ROOT).parts for path in tree}
    known = {"/".join(parts[at:]) for parts in ends for at in range(len(parts))}
    texts = {page: page.read_text() for page in (ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md")}
    texts |= {path: ast.get_docstring(parsed(path)) or "" for path in SOURCES}
    for source, text in texts.items():
        for name in _named_files(text):
            if name not in known and name not in _OF_USERS and not _NAMED_FOR_ANY.search(name):
                yield f"{place(source)} names {name}, which is not there"


def test_files_that_contributors_are_shown_are_there() -> None:
    none_of(_missing_files())


def test_links_lead_to_files_and_headings() -> None:
    none_of(_broken_links())


def test_options_that_pages_name_are_those_of_the_commands() -> None:
    none_of(_unknown_options())


def test_every_key_of_the_settings_is_on_the_page_of_the_configuration() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text()
    keys = {field.name for field in dataclasses.fields(ProjectSettings)} - {"file", "rules"} | {"fail-on"}
    none_of(f"{key} is not in configuration.md" for key in sorted(keys) if f"| `{key}` |" not in page)


def test_every_warning_about_a_time_has_its_answer() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    none_of(f"{kind.value} is not in troubleshooting.md" for kind in SuspicionKind if f"| {kind.value} |" not in page)


def test_messages_that_have_an_answer_are_those_of_the_program() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text().partition("## Warnings of a comparison")[2]
    program = "\n".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))
    messages = [text for row in re.findall(r"^\| (`.*?) \| ", page, re.MULTILINE) for text in _CODE.findall(row)]
    assert len(messages) > 20
    none_of(f"{message!r} is on the page, and nothing prints it" for message in messages if message not in program)
