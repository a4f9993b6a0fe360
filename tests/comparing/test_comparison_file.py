"""The file of a comparison: new, taken up, or refused."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from photometer.comparing.comparison_file import FILE_NAME, ComparisonFile, Destination
from photometer.errors import ResultsFileError
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.results_file import ResultsFile
from photometer.model.results_reader import load_results
from tests.analysis.verdicts import result

DESCRIPTION: dict[str, Any] = {
    "base": {"spec": "git:a", "commit": "1"},
    "branch": {"spec": "git:b", "commit": "2"},
    "suite": "s",
    "fingerprint": "f",
    "margin": 0.003,
}
REPLICATE = ComparisonReplicate("id", 100, (5, 6), (5, 7), 0.15, 0.2)


def opened(folder: Path | None, description: dict[str, Any], *, resume: bool) -> ComparisonFile:
    """Return the file, without the lock of its folder."""
    with contextlib.ExitStack() as stack:
        return Destination(folder, resume).open({"comparison": description}, stack)


def test_without_a_folder_nothing_is_kept() -> None:
    file = opened(None, DESCRIPTION, resume=False)
    file.keep(REPLICATE)
    assert file.file is None
    assert file.replicates == ()


def test_what_was_kept_is_taken_up(tmp_path: Path) -> None:
    first = opened(tmp_path / "new" / "folder", DESCRIPTION, resume=True)
    first.keep_all([REPLICATE, result("undecided"), result("slower", 1.1)])
    again = opened(tmp_path / "new" / "folder", {**DESCRIPTION, "margin": 0.01}, resume=True)
    assert again.replicates == (REPLICATE,)
    # Of two results of one benchmark the later one holds (analysis/comparison_reader.py).
    assert [found.verdict for found in again.results] == ["undecided", "slower"]


def test_a_torn_end_loses_only_itself(tmp_path: Path) -> None:
    opened(tmp_path, DESCRIPTION, resume=False).keep(REPLICATE)
    path = tmp_path / FILE_NAME
    path.write_bytes(path.read_bytes()[:-4] + b',\n{"kind": "comparison_repl')
    taken_up = opened(tmp_path, DESCRIPTION, resume=True)
    assert taken_up.replicates == (REPLICATE,)
    taken_up.keep(REPLICATE)
    assert len(opened(tmp_path, DESCRIPTION, resume=True).replicates) == 2


def test_an_existing_one_is_not_overwritten(tmp_path: Path) -> None:
    opened(tmp_path, DESCRIPTION, resume=False)
    with pytest.raises(ResultsFileError, match="already exists") as error:
        opened(tmp_path, DESCRIPTION, resume=False)
    assert "--resume" in str(error.value)


@pytest.mark.parametrize("name", ["base", "branch", "suite", "fingerprint"])
def test_another_comparison_is_refused(tmp_path: Path, name: str) -> None:
    opened(tmp_path, DESCRIPTION, resume=False)
    with pytest.raises(ResultsFileError, match=f"its {name} is different"):
        opened(tmp_path, {**DESCRIPTION, name: "other"}, resume=True)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    ResultsFile.create(tmp_path / FILE_NAME)
    with pytest.raises(ResultsFileError, match="is not a comparison"):
        opened(tmp_path, DESCRIPTION, resume=True)


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "ab.json"
    for _ in range(2):
        with contextlib.ExitStack() as stack:
            kept = Destination(file=path).open({"ab": {"id": "1"}}, stack)
            kept.keep(result("slower", 1.1))
    assert load_results(path).kinds == {"comparison": 1}
    assert load_results(path).header["ab"] == {"id": "1"}
