"""The wheel and the source distribution: what is in them, and that they work in a clean environment.

No clone, no compiler, no Valgrind there. What works works, and what does not names the remedy. Nightly: a build and an
environment take half a minute, and the one with its own packages needs an index that pip can reach.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import photometer
from tests.package.built import TREE, Installed, build

pytestmark = pytest.mark.nightly

# CONTRIBUTING states it.
LARGEST_WHEEL_BYTES = 2_000_000


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("build"))


@pytest.fixture(scope="module")
def environment(distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """With torch and the other packages of the interpreter that runs the tests."""
    return Installed(tmp_path_factory.mktemp("environment"), distributions[0], shares_packages=True)


def test_the_wheel_has_all_that_the_package_needs(distributions: tuple[Path, Path]) -> None:
    wheel, _ = distributions
    source = wheel.parents[1] / TREE / "src"
    files = [path for path in source.rglob("*") if path.is_file() and "egg-info" not in str(path)]
    wanted = {str(path.relative_to(source)) for path in files}
    with zipfile.ZipFile(wheel) as content:
        present = set(content.namelist())
    assert not wanted - present
    assert {"photometer/worker/__main__.py", "photometer/model/results.schema.json", "photometer/py.typed"} <= present
    assert any(name.endswith(".html.jinja") for name in present)
    assert not [name for name in present if not name.startswith(("photometer/", "photometer-"))]
    assert wheel.name.startswith(f"photometer-{photometer.__version__}-py3-none-any")
    assert wheel.stat().st_size < LARGEST_WHEEL_BYTES


def test_the_source_distribution_has_docs_and_examples(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[1]) as content:
        names = {name.partition("/")[2] for name in content.getnames()}
    assert {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "docs/timer.md", "examples/compare.py"} <= names
    assert {"scripts/test", "tests/conftest.py", "benchmarks/figures.py", "action.yml"} <= names, "it tests itself"


def test_it_is_the_wheel_that_is_imported(environment: Installed, tmp_path: Path) -> None:
    code = "import photometer; print(photometer.__file__, photometer.__version__)"
    done = subprocess.run([environment.python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert str(environment.packages) in done.stdout
    assert photometer.__version__ in done.stdout
    module = subprocess.run(
        [environment.python, "-m", "photometer", "--version"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert module.stdout.strip() == photometer.__version__


def test_measuring_and_reporting_work(environment: Installed, tmp_path: Path) -> None:
    suite = tmp_path / "suite.py"
    suite.write_text(
        "from photometer import TimerArgs\nBENCHMARKS = {'add': TimerArgs('x + 1', 'x = torch.ones(4)')}\n"
    )
    quick = ("--min-run-time", "0.02")
    for words in (
        ["time", "x + 1", "-s", "x = torch.ones(4)", *quick],
        ["ab", "x + 1", "x + x + 1", "-s", "x = torch.ones(4)", "--budget", "1"],
        ["run", "suite.py", "-o", "results", *quick],
        ["report", "results"],
        ["show", "results/results.json"],
        ["compare", "current", "env:EXAMPLE=1", "--suite", "suite.py", "--budget", "1", "--fail-on", "never"],
        ["list", "standard"],
    ):
        done = environment.run(*words, cwd=tmp_path)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
    assert (tmp_path / "results" / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["time", "1", "--instructions"], "package manager"),
        (["run", "standard", "-k", "nowhere", "--no-wall"], "package manager"),
        (["time", "auto x = 1;", "--cpp"], "apt install g++"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(
    environment: Installed, tmp_path: Path, words: list[str], remedy: str
) -> None:
    done = environment.run(*words, cwd=tmp_path)
    assert done.returncode == 1
    assert remedy in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def alone(distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """With what pip installs for the wheel, and nothing else: no torch, no extras."""
    try:
        return Installed(tmp_path_factory.mktemp("alone"), distributions[0], shares_packages=False)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"pip reaches no index: {error.stderr[-200:]}")


def test_without_torch_what_needs_none_works(alone: Installed, tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    code = f"import photometer; photometer.save({str(results)!r}, [photometer.Timer('1').timeit(10)])"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=tmp_path)
    for words in (["--help"], ["--version"], ["list", "standard"], ["show", str(results)], ["report", str(results)]):
        done = alone.run(*words, cwd=tmp_path)
        assert done.returncode == 0, f"{words}: {done.stderr}"
    for words in (["time", "1"], ["ab", "1", "2", "--budget", "1"]):
        done = alone.run(*words, cwd=tmp_path)
        assert done.returncode in (0, 4), done.stderr
    done = alone.run("time", "torch.ones(1)", cwd=tmp_path)
    assert done.returncode == 1, done.stdout
    assert "torch.ones needs torch" in done.stderr
    assert "pip install torch" in done.stderr
    for words, extra in (
        (["history", "runs", "--store", "x.sqlite"], "photometer[history]"),
        (["flame", "1"], "py-spy"),
    ):
        done = alone.run(*words, cwd=tmp_path)
        assert done.returncode == 1, done.stdout
        assert extra in done.stderr
        assert "Traceback" not in done.stderr, done.stderr
