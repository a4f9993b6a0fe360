"""Options and marks: what the command line, the configuration file and the marks of a test request.

Standard library and pytest only. If pytest-benchmark is not installed, its options are accepted, too, so that the
configuration of an existing suite still works; those without effect here are named in the header.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..worker.seeds import LARGEST_SEED

# The same as in `photometer run` and `Timer.blocked_autorange`.
DEFAULT_MIN_TIME_SECONDS = 0.2
FIXTURES = ("photometer", "benchmark")

# Arguments of pytest-benchmark's mark that apply here, with their names here: its `max_time` is how long a test is
# repeated, its `min_time` the length of a round, which photometer chooses itself.
FOREIGN_NAMES = {"group": "group", "max_time": "min_time", "timer": "timer", "cprofile": "cprofile"}
CPROFILE_COLUMNS = ("ncalls", "ncalls_recursion", "tottime", "tottime_per", "cumtime", "cumtime_per", "function_name")
LEAST_SECONDS = 1e-3

MARK = (
    "photometer(group='', threads=1, device='', margin=None, min_time=None, instructions=None): how to measure a "
    "benchmark: its table, size of torch's thread pool, accelerator, relative change that does not matter, seconds to "
    "measure, and whether to count its instructions."
)
BENCHMARK_MARK = "benchmark(group=None, max_time=None, timer=None, …): settings of pytest-benchmark, if they apply."
# pytest-benchmark's options that have no effect here: with a value, without one, and with an optional one.
IGNORED_WITH_VALUE = (
    "min-time",
    "min-rounds",
    "precision",
    "confidence",
    "timer",
    "calibration-precision",
    "warmup-iterations",
    "sort",
    "group-by",
    "columns",
    "name",
    "time-unit",
    "cprofile-loops",
)
IGNORED_FLAGS = ("disable-gc", "verbose", "quiet")
IGNORED_EITHER = ("warmup", "histogram", "netrc", "cprofile-dump")
# Gates of pytest-benchmark on times that were measured at another time: refused, so that none is green for ever.
REFUSED = ("compare", "compare-fail")
# What asks for a file in pytest-benchmark's format.
FILES = ("json", "save", "autosave")
# Set if pytest-benchmark is installed and has no part in this session.
REPLACED = pytest.StashKey[bool]()


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("photometer", "benchmarks with photometer")
    add = group.addoption
    add("--photometer-only", action="store_true", help="Run benchmarks only; other tests are skipped.")
    add("--photometer-skip", action="store_true", help="Skip benchmarks.")
    add("--photometer-off", action="store_true", help="Run benchmarks once without measuring them.")
    add("--photometer-json", metavar="FILE", help="Write a results file.")
    add("--photometer-store", metavar="PLACE", help="Write to this history store, a path or URL.")
    add(
        "--photometer-benchmark",
        action="store_true",
        help="Provide the fixture `benchmark` even if pytest-benchmark is installed.",
    )
    add(
        "--photometer-min-time",
        metavar="SECONDS",
        type=seconds,
        help=f"Seconds to measure each benchmark (default: {DEFAULT_MIN_TIME_SECONDS:g}).",
    )
    add(
        "--photometer-compare",
        metavar="BASE",
        help="Run each benchmark in BASE and here at once, and fail those that are slower: git:REV, "
        "git:merge-base:BRANCH, an interpreter, pip:PACKAGES, env:NAME=VALUE.",
    )
    add(
        "--photometer-branch",
        metavar="BRANCH",
        action="append",
        help="With --photometer-compare: the other side (default: the working tree); repeat it for more sides.",
    )
    add(
        "--photometer-install",
        metavar="COMMAND",
        help="With --photometer-compare: command that installs a git revision into a fresh environment, such as "
        "'pip install .' (default: install in [tool.photometer]).",
    )
    add(
        "--photometer-margin",
        metavar="SHARE",
        type=share,
        help="With --photometer-compare: change that does not matter (default: 0.003; 0.02 with several threads).",
    )
    add(
        "--photometer-budget",
        metavar="SECONDS",
        type=seconds,
        help="With --photometer-compare: maximum seconds to measure per benchmark (default: 10).",
    )
    add(
        "--photometer-seed",
        metavar="N",
        type=seed,
        help="With --photometer-compare: seed of random data on both sides (default: a fixed one for each test and "
        "for counts, another for each replicate of times).",
    )
    add(
        "--photometer-no-instructions",
        action="store_true",
        help="With --photometer-compare: time only, without Valgrind.",
    )
    if importlib.util.find_spec("pytest_benchmark") is None:
        _add_foreign_options(parser)


def _add_foreign_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("benchmark", "options of pytest-benchmark that photometer supports")
    group.addoption("--benchmark-only", action="store_true", help="Same as --photometer-only.")
    group.addoption("--benchmark-skip", action="store_true", help="Same as --photometer-skip.")
    group.addoption("--benchmark-disable", action="store_true", help="Same as --photometer-off.")
    group.addoption("--benchmark-enable", action="store_true", help="Measure despite --benchmark-disable.")
    group.addoption("--benchmark-max-time", type=seconds, help="Same as --photometer-min-time.")
    group.addoption(
        "--benchmark-cprofile",
        metavar="COLUMN",
        choices=CPROFILE_COLUMNS,
        help="Run each benchmark once more under cProfile, and show its functions by this column.",
    )
    group.addoption("--benchmark-cprofile-top", metavar="COUNT", type=int, default=25, help=argparse.SUPPRESS)
    group.addoption("--benchmark-json", metavar="FILE", help="Write a file in pytest-benchmark's format.")
    group.addoption("--benchmark-save", metavar="NAME", help="Keep such a file in .benchmarks, under this name.")
    group.addoption("--benchmark-autosave", action="store_true", help="Keep such a file, named by the time.")
    group.addoption("--benchmark-save-data", action="store_true", help="Include all rounds in kept files.")
    group.addoption("--benchmark-storage", metavar="FOLDER", help="Folder of kept files (default: .benchmarks).")
    group.addoption("--benchmark-compare", nargs="?", default=None, const="", help=argparse.SUPPRESS)
    group.addoption("--benchmark-compare-fail", action="append", help=argparse.SUPPRESS)
    for name in IGNORED_WITH_VALUE:
        group.addoption(f"--benchmark-{name}", default=None, help=argparse.SUPPRESS)
    for name in IGNORED_FLAGS:
        group.addoption(f"--benchmark-{name}", action="store_true", default=None, help=argparse.SUPPRESS)
    for name in IGNORED_EITHER:
        group.addoption(f"--benchmark-{name}", nargs="?", default=None, const="", help=argparse.SUPPRESS)


def ignored_options(config: pytest.Config) -> list[str]:
    """Return the given options of pytest-benchmark that have no effect here."""
    names = (*IGNORED_WITH_VALUE, *IGNORED_FLAGS, *IGNORED_EITHER)
    if has_pytest_benchmark(config):
        return []
    given = vars(config.option)
    return [f"--benchmark-{name}" for name in names if given.get(f"benchmark_{name.replace('-', '_')}") is not None]


def refuse_gates(config: pytest.Config) -> None:
    """Raise a usage error for options of pytest-benchmark that photometer cannot do, and must not ignore."""
    given = vars(config.option)

    def asked(names: tuple[str, ...]) -> list[str]:
        values = {name: given.get(f"benchmark_{name.replace('-', '_')}") for name in names}
        return [f"--benchmark-{name}" for name, value in values.items() if value or value == ""]

    if has_pytest_benchmark(config):
        replaced = given["photometer_benchmark"] or given["photometer_compare"]
        if replaced and (wrong := asked((*REFUSED, *FILES))):
            raise pytest.UsageError(
                f"{', '.join(wrong)}: pytest-benchmark measures nothing with --photometer-benchmark and "
                "--photometer-compare. Uninstall it, or use --photometer-json and --photometer-compare BASE."
            )
        return
    if wrong := asked(REFUSED):
        raise pytest.UsageError(
            f"{', '.join(wrong)}: photometer does not compare with times of an earlier run, which another load of the "
            "machine changes. Use --photometer-compare BASE, such as git:merge-base:main: it measures both at once, "
            "and fails tests that are slower."
        )
    if given["photometer_compare"] and (wrong := asked(FILES)):
        raise pytest.UsageError(
            f"{', '.join(wrong)}: a comparison has no place in that format. Use --photometer-json FILE."
        )


def add_hooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let a conftest.py implement pytest-benchmark's hooks, although nothing calls them."""
    if importlib.util.find_spec("pytest_benchmark") is None:
        from . import benchmark_hooks

        pluginmanager.add_hookspecs(benchmark_hooks)


def register_marks(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARK)
    if not has_pytest_benchmark(config):
        config.addinivalue_line("markers", BENCHMARK_MARK)


def has_pytest_benchmark(config: pytest.Config) -> bool:
    """Return whether the options and marks of pytest-benchmark are its own."""
    return config.pluginmanager.hasplugin("benchmark") or config.stash.get(REPLACED, False)


def replace_pytest_benchmark(config: pytest.Config) -> None:
    """Take pytest-benchmark out of this session, if it is installed: it refuses a fixture `benchmark` of others."""
    if config.pluginmanager.hasplugin("benchmark"):
        config.stash[REPLACED] = True
        config.pluginmanager.unregister(name="benchmark")


def is_given(config: pytest.Config, name: str) -> bool:
    """Return whether `--photometer-NAME`, or pytest-benchmark's equivalent option, was given."""
    foreign = {"off": "disable"}.get(name, name)
    given = vars(config.option)
    if name == "off" and given.get("benchmark_enable"):
        return bool(given["photometer_off"])
    return bool(given.get(f"photometer_{name}") or given.get(f"benchmark_{foreign}"))


def check_results_files(config: pytest.Config) -> None:
    """Raise a usage error if a requested file or store cannot be written, before anything is measured."""
    if hasattr(config, "workerinput"):
        return
    files = {"--photometer-json": config.option.photometer_json}
    if not has_pytest_benchmark(config):
        files["--benchmark-json"] = config.option.benchmark_json
    for option, given in files.items():
        cause = _why_not_written(Path(given)) if given else ""
        if cause:
            raise pytest.UsageError(f"{option}={given}: {cause}. Make the folder, or name a file that can be written.")
    if config.option.photometer_store:
        from photometer.ci.project_store import place_to_write
        from photometer.errors import PhotometerError

        try:
            place_to_write(config.option.photometer_store, warn=lambda text: None)
        except PhotometerError as error:
            raise pytest.UsageError(f"--photometer-store: {error}") from None


def _why_not_written(path: Path) -> str:
    try:
        if path.is_dir():
            return "is a folder, not a file"
        if not path.parent.is_dir():
            return f"there is no folder {path.parent}"
        return "" if os.access(path if path.exists() else path.parent, os.W_OK) else "you may not write there"
    except (OSError, ValueError) as error:
        return str(error)


def is_benchmark(item: pytest.Item) -> bool:
    return any(name in FIXTURES for name in getattr(item, "fixturenames", ()))


def asks_for_instructions(item: pytest.Item) -> bool:
    """Return whether an ordinary run counts this test's instructions, too: only if its nearest mark says so."""
    values = [mark.kwargs["instructions"] for mark in item.iter_markers("photometer") if "instructions" in mark.kwargs]
    return bool(values) and values[0] is True


def own_id(item: pytest.Item) -> str:
    """Return the test's id without the group names that xdist appends in its workers."""
    place = item.nodeid.rfind("@")
    grouped = getattr(item.config.option, "loadgroup", False) and place > item.nodeid.rfind("]")
    return item.nodeid[:place] if grouped else item.nodeid


def seconds(text: str) -> float:
    value = _number(text)
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds: give a number above 0")
    return value


def seed(text: str) -> int:
    if not text.isdecimal() or int(text) > LARGEST_SEED:
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed: give a whole number from 0 to 2**32 - 1")
    return int(text)


def share(text: str) -> float:
    """Return `0.01` or `1%` as a share."""
    value = _number(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share: give 0.01 or 1% for one per cent")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


@dataclasses.dataclass(frozen=True)
class Asked:
    """The requests of a test's marks."""

    group: str = ""
    threads: int = 1
    device: str = ""
    margin: float | None = None
    min_time: float | None = None
    # Counted in a comparison unless it is False; in a run only if it is True.
    instructions: bool | None = None
    timer: Callable[[], float] | None = None
    cprofile: bool = False

    def __post_init__(self) -> None:
        problem = ""
        if not isinstance(self.threads, int) or self.threads < 1:
            problem = f"threads is {self.threads!r}; give a whole number from 1 up"
        elif self.margin is not None and not 0.0 <= self.margin < 1.0:
            problem = f"margin is {self.margin!r}; give a share such as 0.01 for one per cent"
        elif self.min_time is not None and not 0.0 < self.min_time < math.inf:
            problem = f"min_time is {self.min_time!r}; give seconds above 0"
        elif not isinstance(self.group, str) or not isinstance(self.device, str):
            problem = "group and device must be strings"
        if problem:
            raise ValueError(f"mark photometer: {problem}")
        if self.device.split(":")[0] == "cpu":
            # Measured by the host's clock, as without a device.
            object.__setattr__(self, "device", "")


def asked_of(item: pytest.Item) -> Asked:
    """Return the requests of the marks of a test, its class and its module; the nearest one wins."""
    foreign_values: dict[str, Any] = {}
    known = {field.name for field in dataclasses.fields(Asked)}
    for mark in item.iter_markers("benchmark"):
        for foreign, name in FOREIGN_NAMES.items():
            if mark.kwargs.get(foreign) is not None:
                foreign_values.setdefault(name, mark.kwargs[foreign])
    if "min_time" in foreign_values:
        # For pytest-benchmark, 0 means as few rounds as possible.
        foreign_values["min_time"] = max(foreign_values["min_time"], LEAST_SECONDS)
    own: dict[str, Any] = {}
    for mark in item.iter_markers("photometer"):
        unknown = sorted(set(mark.kwargs) - known)
        if unknown or mark.args:
            wrong = ", ".join([*map(repr, mark.args), *unknown])
            raise ValueError(f"mark photometer: {wrong} is unknown; give {', '.join(sorted(known))} by keyword")
        own = {**mark.kwargs, **own}
    return Asked(**{**foreign_values, **own})
