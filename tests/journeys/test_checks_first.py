"""Mistakes in what a user wrote are told before torch is imported or a server is started, whatever the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import photometer
from photometer.errors import DefinitionError, EnvironmentSpecError, ResultsFileError, SnippetError
from photometer.session.zygote import Launch
from photometer.session.zygotes import Zygotes
from tests.repositories import make_repository

pytestmark = pytest.mark.lengthy

# Runs the command; a server that is started is an error, and the last line says whether torch was imported.
GUARDED = """
import sys
from photometer.session.zygotes import Zygotes

def refuse(self, launch):
    raise AssertionError("a server was started")

Zygotes.start = refuse
from photometer.cli import main

try:
    main(sys.argv[1:])
finally:
    print("torch is imported:", "torch" in sys.modules, file=sys.stderr)
"""
SUITE = "from photometer import TimerArgs\nBENCHMARKS = {'good': TimerArgs('1 + 1')}\n"
# Each is written to a file of that name.
FILES = {
    "good.py": SUITE,
    "empty.py": "X = 1\n",
    "syntax.py": SUITE.replace("1 + 1", "x +"),
    "results": "a file, not a folder",
}
STATEMENT = 'File "<stmt>", line 1\n    x +\n'
SETUP = 'File "<setup>", line 2\n    y = (\n'
BAD_SETUP = ("-s", "x = 1\ny = (")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repository(tmp_path, FILES)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("time", "x +"), 1, STATEMENT),
        (("time", "1", "x +"), 1, STATEMENT),
        (("time", "x", *BAD_SETUP), 1, SETUP),
        (("time", "--instructions", "x +"), 1, STATEMENT),
        (("time", "x", "@missing.py"), 2, "there is no file missing.py"),
        (("ab", "x +", "y"), 1, STATEMENT),
        (("ab", "x", "y", *BAD_SETUP), 1, SETUP),
        (("ab", "x", "y", "--setup-b", "x = 1\ny = ("), 1, SETUP),
        (("ab", "x", "x +", "--instructions", "--memory"), 1, STATEMENT),
        (("fuzz", "x +", "--fuzzer", "unary"), 1, STATEMENT),
        (("fuzz", "x", "--against", "x +", "--fuzzer", "unary"), 1, STATEMENT),
        (("flame", "x +"), 1, STATEMENT),
        (("compile-report", "x +"), 1, STATEMENT),
        (("run", "empty.py"), 1, "empty.py has no BENCHMARKS"),
        (("run", "syntax.py"), 1, "x +"),
        (("run", "good.py", "syntax.py"), 1, "x +"),
        (("run", "missing.py"), 1, "there is no file missing.py"),
        (("run", "good.py", "-k", "a and"), 1, "-k does not parse"),
        (("run", "good.py", "-k", "nobody"), 5, "nothing is selected"),
        (("run", "good.py", "-o", "results"), 1, "results: cannot be written to"),
        (("check", "empty.py"), 1, "empty.py has no BENCHMARKS"),
        (("check", "good.py", "-k", "nobody"), 5, "nothing is selected"),
        (("flame", "empty.py"), 1, "empty.py has no BENCHMARKS"),
        (("compare", "current", "current", "--suite", "empty.py"), 1, "empty.py has no BENCHMARKS"),
        (("compare", "current", "current", "--suite", "syntax.py"), 1, "x +"),
        (("compare", "current", "git:nowhere", "--suite", "good.py"), 1, "nowhere"),
        (("compare", "current", "git:nowhere", "git:HEAD", "--suite", "good.py"), 1, "nowhere"),
        (("compare", "current", "current", "--suite", "good.py", "-o", "results"), 1, "cannot be written to"),
        (("bisect", "nowhere", "HEAD", "--suite", "good.py"), 1, "nowhere"),
        (("history", "measure", "nowhere..HEAD", "--suite", "good.py", "--store", "store.db"), 1, "nowhere"),
        (("history", "measure", "HEAD..HEAD", "--suite", "empty.py", "--store", "store.db"), 1, "no BENCHMARKS"),
    ],
)
def test_mistakes_are_told_first(folder: Path, words: tuple[str, ...], status: int, said: str) -> None:
    command = [sys.executable, "-c", GUARDED, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert done.stderr.endswith("torch is imported: False\n")


def test_a_good_command_gets_as_far_as_its_server(folder: Path) -> None:
    """The guard works: what is not refused before starts a server."""
    command = [sys.executable, "-c", GUARDED, "run", "good.py", "-q"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "a server was started" in done.stderr


@pytest.fixture
def no_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Zygotes, launch: Launch) -> None:
        raise AssertionError("a server was started")

    monkeypatch.setattr(Zygotes, "start", refuse)


@pytest.mark.usefixtures("no_servers")
def test_python_entries_check_first_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(SnippetError, match="SyntaxError") as caught:
        photometer.ab("1", "x +")
    assert STATEMENT in str(caught.value)
    settings = photometer.RunSettings(options={"instructions": False})
    with pytest.raises(DefinitionError, match="no BENCHMARKS"):
        photometer.run("empty.py", output=folder / "out", instructions=False)
    with pytest.raises(ResultsFileError, match="cannot be written to"):
        photometer.run("good.py", output=folder / "results", settings=settings)
    assert photometer.run("good.py", output=folder / "out", settings=settings, expression="nobody").results is None
    assert photometer.check("good.py", expression="nobody") == []
    with pytest.raises(EnvironmentSpecError, match="nowhere"):
        photometer.compare(["current", "git:nowhere"], "good.py")


@pytest.mark.usefixtures("no_servers")
def test_another_interpreter_may_know_more_syntax() -> None:
    elsewhere = photometer.Environment("/another/python")
    with pytest.raises(AssertionError, match="a server was started"):
        photometer.ab("1", "x +", environment=elsewhere)


def test_a_loaded_suite_can_be_run(no_servers: None, tmp_path: Path) -> None:
    suite = photometer.suites.Suite.from_benchmarks({"good": photometer.TimerArgs("1 + 1")}, name="mine")
    report = photometer.run(suite, output=tmp_path / "out", instructions=False, expression="nobody")
    assert report.plan.suite == "mine"


@pytest.mark.parametrize(("words", "unused"), [(("--version",), "ab"), (("time", "--help"), "compare")])
def test_only_the_modules_of_the_command_are_imported(words: tuple[str, ...], unused: str) -> None:
    program = (
        "import sys\nfrom photometer.cli import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "finally:\n    print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    imported = set(done.stderr.split())
    assert not imported & {f"photometer.cli.{unused}", "numpy", "scipy", "torch", "rich"}


def test_a_timer_compiles_its_statement_before_torch_is_imported() -> None:
    program = (
        "import sys\nfrom photometer import Timer\n"
        "try:\n    Timer('1', 'x +')\n"
        "except SyntaxError as error:\n    print(error.filename, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["<setup>", "False"]
