"""BenchmarkJson: what a session measured in the file format of pytest-benchmark, for the tools that read it.

In: records as the reports of tests carry them. Out: the file of `--benchmark-json`, and those of `--benchmark-save` and
`--benchmark-autosave` in the folder in which pytest-benchmark's own command looks for them.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from photometer.git import git_text
from photometer.instruments.machine_facts import gather_machine, git_commit
from photometer.model.measurement import Measurement
from photometer.model.records import from_record
from photometer.model.whole_file import write_text_whole
from photometer.pytest_plugin.fixtures import Stats

# The version of pytest-benchmark whose files these are like: its readers look at it.
VERSION = "5.1.0"
DEFAULT_STORAGE = ".benchmarks"
_NUMBERED = re.compile(r"(\d{4})_")


@dataclasses.dataclass(frozen=True)
class BenchmarkJson:
    """`file` is as given; `save` is the name under which the session is kept, if it is."""

    file: str | None
    save: str | None
    storage: Path
    with_data: bool

    @classmethod
    def of(cls, config: pytest.Config) -> BenchmarkJson | None:
        """Return the writer for the options; None if they name no file."""
        given = vars(config.option)
        save = given.get("benchmark_save")
        now = datetime.datetime.now(datetime.timezone.utc)
        if save is None and given.get("benchmark_autosave"):
            save = f"autosave_{now:%Y%m%d_%H%M%S}"
        if not given.get("benchmark_json") and save is None:
            return None
        storage = Path(str(given.get("benchmark_storage") or DEFAULT_STORAGE).removeprefix("file://"))
        return cls(given.get("benchmark_json"), save, config.rootpath / storage, bool(given.get("benchmark_save_data")))

    def write(self, records: Sequence[Mapping[str, Any]], params: Mapping[str, Any], root: Path) -> list[Path]:
        """Write the files, and return them. `params` are those of each test, by its id."""
        written = []
        if self.file:
            # With all rounds, as pytest-benchmark writes it.
            written.append(Path(self.file))
            write_text_whole(written[-1], _text(document(records, params, root, with_data=True)))
        if self.save is not None:
            folder = self.storage / machine_id()
            folder.mkdir(parents=True, exist_ok=True)
            numbers = [int(found.group(1)) for each in folder.glob("*.json") if (found := _NUMBERED.match(each.name))]
            name = re.sub(r"[^\w.-]", "_", self.save)
            written.append(folder / f"{max(numbers, default=0) + 1:04d}_{name}.json")
            write_text_whole(written[-1], _text(document(records, params, root, with_data=self.with_data)))
        return written


def document(
    records: Sequence[Mapping[str, Any]], params: Mapping[str, Any], root: Path, *, with_data: bool
) -> dict[str, Any]:
    """Return the content of the file. Times of accelerators have no place in it."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "machine_info": machine_info(),
        "commit_info": commit_info(root),
        "benchmarks": [
            _benchmark(record, params.get(record["test"]), with_data=with_data)
            for record in records
            if record["kind"] == Measurement.KIND
        ],
        "datetime": now.isoformat(),
        "version": VERSION,
    }


def _benchmark(record: Mapping[str, Any], params: Any, *, with_data: bool) -> dict[str, Any]:
    taken = from_record(Measurement, dict(record))
    stats = Stats(taken.times, taken.number_per_run)
    file, _, name = record["test"].partition("::")
    label = record["task_spec"]["label"]
    parameter = re.search(r"\[(.*)\]$", record["test"])
    return {
        "group": None if label == file else label,
        "name": name.rpartition("::")[2],
        "fullname": record["test"],
        "params": params,
        "param": None if parameter is None else parameter.group(1),
        "extra_info": dict(record.get("metadata") or {}),
        # photometer chooses how often a statement runs from the time that it is given.
        "options": {
            "disable_gc": False,
            "timer": "perf_counter",
            "min_rounds": stats.rounds,
            "max_time": stats.total * stats.iterations,
            "min_time": stats.min * stats.iterations,
            "warmup": True,
        },
        "stats": {**stats.as_dict(), **({"data": stats.data} if with_data else {})},
    }


def machine_id() -> str:
    """Return the folder in which pytest-benchmark keeps the files of machines like this one."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"{platform.system()}-{platform.python_implementation()}-{version}-{platform.architecture()[0]}"


def machine_info() -> dict[str, Any]:
    machine = gather_machine()
    return {
        "node": platform.node(),
        "processor": platform.processor(),
        "machine": platform.machine(),
        "python_compiler": platform.python_compiler(),
        "python_implementation": platform.python_implementation(),
        "python_implementation_version": platform.python_version(),
        "python_version": platform.python_version(),
        "python_build": list(platform.python_build()),
        "release": platform.release(),
        "system": platform.system(),
        "cpu": {"brand_raw": machine.cpu_model, "count": machine.logical_cores, "arch": platform.machine()},
    }


def commit_info(root: Path) -> dict[str, Any]:
    """Return the commit of a folder; of one that is not in a repository, what pytest-benchmark writes then."""
    commit, is_changed, _ = git_commit(root)
    if commit is None:
        return {"id": "unversioned", "time": None, "author_time": None, "dirty": False, "project": root.name}
    committed, authored = git_text(root, "log", "-1", "--format=%cI %aI").split()
    branch = git_text(root, "rev-parse", "--abbrev-ref", "HEAD")
    return {
        "id": commit,
        "time": committed,
        "author_time": authored,
        "dirty": bool(is_changed),
        "project": root.name,
        "branch": branch if branch != "HEAD" else "(detached head)",
    }


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=4) + "\n"
