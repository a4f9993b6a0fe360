"""A pytest session inside this one: tests in a folder of their own, run in this process, where torch is imported."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_serial = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class NestedOutcome:
    """Exit code, what was printed, and the outcome of each test by its name."""

    code: int
    output: str
    outcomes: dict[str, str]
    texts: dict[str, str]


class Recorder:
    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        self.texts: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.partition("::")[2]
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[name] = report.outcome
            self.texts[name] = report.longreprtext


def run_nested(folder: Path, code: str, *options: str, conftest: str = "") -> NestedOutcome:
    """Write a module of tests and run it, with the plugin and without this session's configuration."""
    module = folder / f"test_nested_{next(_serial)}.py"
    module.write_text(textwrap.dedent(code))
    (folder / "pytest.ini").write_text("[pytest]\n")
    if conftest:
        (folder / "conftest.py").write_text(textwrap.dedent(conftest))
    recorder = Recorder()
    output = io.StringIO()
    given = [
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "-p",
        "no:benchmark",
        "--capture=no",
        f"--rootdir={folder}",
        *plugin_options(),
    ]
    with _in_folder(folder), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code_number = pytest.main([*given, *options, str(module)], plugins=[recorder])
    return NestedOutcome(int(code_number), output.getvalue(), recorder.outcomes, recorder.texts)


def plugin_options() -> list[str]:
    """Return what loads the plugin if photometer was installed before it had one."""
    from importlib.metadata import entry_points

    known = any(point.name == "photometer" for point in entry_points(group="pytest11"))
    return [] if known else ["-p", "photometer.pytest_plugin"]


@contextlib.contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    before, modules, path = Path.cwd(), set(sys.modules), list(sys.path)
    variables = {name: os.environ.pop(name) for name in ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST") if name in os.environ}
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.update(variables)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if name.startswith(("test_nested_", "conftest")):
                del sys.modules[name]


def records_in(path: Path) -> list[dict[str, Any]]:
    from photometer.model.results_reader import load_results

    return [dict(record) for record in load_results(path).records]
