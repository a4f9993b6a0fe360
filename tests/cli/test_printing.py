"""What is printed is harmless to look at, whoever wrote it, and streams that fail end in words. Real commands."""

from __future__ import annotations

import ast
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import photometer.cli
from photometer.cli.ending import FEWEST_OPEN_FILES, lacking_words
from photometer.cli.printing import on_screen, show_rendered, show_text
from photometer.model.results_file import ResultsFile
from photometer.model.visible_text import visible_line
from tests.analysis.measurements import made
from tests.guards.sources import none_of, parsed, place

CLI = Path(photometer.cli.__file__).parent
HOSTILE = "a\x1b[31m\x00\x9bb", "sur\ud800rogate é", "two\nlines", "\u202eturned"


def run(*words: str, shell_words: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command; `shell_words` are what a shell adds: a redirection, a pipe."""
    script = f'"$0" -m photometer "$@" {shell_words}; exit "${{PIPESTATUS[0]}}"'
    return subprocess.run(
        ["bash", "-c", script, sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )


@pytest.fixture
def suite(tmp_path: Path) -> str:
    path = tmp_path / "hostile.py"
    labels = ", ".join(f"{label!r}: TimerArgs('1')" for label in HOSTILE)
    path.write_text(f"from photometer.definition import TimerArgs\nBENCHMARKS = {{{labels}}}\n")
    return str(path)


@pytest.fixture
def results(tmp_path: Path) -> str:
    path = tmp_path / "results.json"
    ResultsFile.create(path, records=[made(1e-6, label, "x") for label in HOSTILE], overwrite=True)
    return str(path)


@pytest.mark.lengthy
@pytest.mark.parametrize("variables", [{}, {"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}])
def test_hostile_labels_are_shown_escaped(suite: str, results: str, variables: dict[str, str]) -> None:
    for words in (["list", suite], ["list", suite, "--variants"], ["list", suite, "--json"], ["show", results]):
        done = run(*words, **variables)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert not [c for c in done.stdout if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c == "\u202e")]
    listed = run("list", suite, **variables).stdout
    # A label with a line break is one line.
    assert len(listed.splitlines()) == 1 + len(HOSTILE)
    assert r"a\x1b[31m\x00\x9bb" in listed
    assert r"sur\ud800rogate" in listed
    assert r"two\nlines" in listed


def test_a_mistake_on_an_ascii_terminal_is_shown() -> None:
    done = run("list", "nowhere-é-\x1b", PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert "there is no suite called" in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.lengthy
def test_a_reader_that_has_gone_changes_nothing() -> None:
    # More than a pipe holds, so that it breaks while it is written to.
    done = run("list", "standard", "--json", shell_words="| head -1")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1
    done = run("list", "standard", "-k", "nowhere", shell_words="| true")
    assert done.returncode == 5


@pytest.mark.lengthy
def test_a_full_disk_is_said_once(results: str) -> None:
    for words in (["show", results], ["list", "standard", "--json"], ["--help"], ["--version"]):
        done = run(*words, shell_words="> /dev/full")
        assert done.returncode == 1
        assert done.stderr.splitlines()[0] == "photometer: the output cannot be written: No space left on device"
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr


@pytest.mark.lengthy
def test_closed_streams_are_as_good_as_none(results: str, tmp_path: Path) -> None:
    for closed in (">&-", "2>&-", "<&-", "<&- >&- 2>&-", "2>/dev/full"):
        target = tmp_path / "table.md"
        done = run("show", results, "--markdown", str(target), shell_words=closed)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        # No file of ours takes the number of a closed stream.
        assert target.read_text().startswith("### L"), target.read_text()
        target.unlink()
    done = run("show", results, shell_words=">&-")
    assert (done.returncode, done.stderr) == (0, "")


def test_too_few_open_files_are_said_with_a_remedy(results: str) -> None:
    for words in (["show", results], ["run", "standard"]):
        done = subprocess.run(
            ["bash", "-c", 'ulimit -n 16; "$0" -m photometer "$@"', sys.executable, *words],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert "only 16 files may be open" in done.stderr
        assert "ulimit -n" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_low_limit_is_raised_if_it_may_be(results: str) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FEWEST_OPEN_FILES:
        pytest.skip("the hard limit is as low")
    script = 'ulimit -S -n 16; "$0" -m photometer show "$1"'
    done = subprocess.run(["bash", "-c", script, sys.executable, results], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("command", "kilobytes"), [("time 1", 300_000), ("time 1", 450_000), ("ab 1 2", 300_000)])
def test_too_little_memory_is_said_with_the_limit(command: str, kilobytes: int) -> None:
    script = f'ulimit -v {kilobytes}; "$0" -m photometer {command}'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert "ulimit -v" in done.stderr
    # The child's own is shown.
    assert "photometer/cli" not in done.stderr


@pytest.mark.lengthy
def test_the_password_of_a_url_is_never_repeated() -> None:
    url = "postgresql://ada:hunter2@host/db?sslpassword=hunter2&x=1"
    for words in (
        ["run", url],
        ["compare", url, "current"],
        ["comment", url],
        ["report", url],
        ["time", "1", "-z", url],
    ):
        done = run(*words)
        assert done.returncode in (1, 2)
        assert "hunter2" not in done.stdout + done.stderr
    assert on_screen("https://host/a:b@c git@host:x") == "https://host/a:b@c git@host:x"


@pytest.mark.lengthy
def test_mistakes_of_usage_repeat_nothing_that_acts() -> None:
    for words in (["init", "\u202ereversed"], ["time", "1", "--n\x1b[31m"], ["\x9bx"], ["run", "--seed", "\x07"]):
        done = run(*words)
        assert done.returncode == 2
        assert "Error: " in done.stderr
        assert not {"\u202e", "\x1b", "\x9b", "\x07"}.intersection(done.stderr)


def test_a_name_that_is_too_long_is_said_in_words() -> None:
    for words in (["show", "x" * 300], ["report", "x" * 300]):
        done = run(*words)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "name" in done.stderr


def test_a_package_that_is_not_installed_is_named_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # None in the list of modules is how an import is forbidden.
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SystemExit) as ended:
        photometer.cli.main(["ab", "--device", "x", "y"])
    assert ended.value.code == 1
    error = capsys.readouterr().err
    assert error.startswith("photometer: this needs torch, which")
    assert error.endswith("pip install torch\n")


def test_what_is_lacking_names_the_file() -> None:
    assert "/scratch/x: No space left" in str(lacking_words(OSError(28, "No space left on device", "/scratch/x")))
    assert "ulimit" in str(lacking_words(OSError(24, "Too many open files")))
    assert "ulimit -v" in str(lacking_words(OSError(12, "Cannot allocate memory")))
    assert lacking_words(FileNotFoundError(2, "No such file")) is None


def test_text_and_what_is_rendered(capsys: pytest.CaptureFixture[str]) -> None:
    show_text("a\x1b\ud800")
    show_rendered("\x1b[1mbold\x1b[0m")
    assert capsys.readouterr().out == "a\\x1b\\ud800\n\x1b[1mbold\x1b[0m"
    assert on_screen("a\tb\x07") == "a    b\\x07"
    assert visible_line("a\r\nb\x00") == "a\\nb\\x00"


def test_nothing_is_printed_by_another_door() -> None:
    none_of(
        place(path, node.lineno)
        for path in sorted(CLI.glob("*.py"))
        if path.name != "printing.py"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and prints(node)
    )


def prints(call: ast.Call) -> bool:
    called = ast.unparse(call.func)
    # rich draws bars; a line that it prints shows text of users only by `on_screen`.
    if called.endswith("console.print"):
        return "on_screen" not in ast.unparse(call)
    return called in ("print", "typer.echo", "typer.secho", "typer.style") or called.endswith(
        ("stdout.write", "stderr.write", "os.write")
    )
