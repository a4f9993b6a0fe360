"""The file of a comparison: new, taken up, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from photometer.comparing.comparison_file import FILE_NAME, open_comparison
from photometer.errors import ResultsFileError
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.results_file import ResultsFile
from tests.analysis.verdicts import result

DESCRIPTION: dict[str, Any] = {
    "base": {"spec": "git:a", "commit": "1"},
    "branch": {"spec": "git:b", "commit": "2"},
    "suite": "s",
    "fingerprint": "f",
    "margin": 0.003,
}
REPLICATE = ComparisonReplicate("id", 100, (5, 6), (5, 7), 0.15, 0.2)


def test_without_a_folder_nothing_is_kept() -> None:
    file = open_comparison(None, DESCRIPTION, resume=False)
    file.keep(REPLICATE)
    assert file.file is None
    assert file.replicates == ()


def test_what_was_kept_is_taken_up(tmp_path: Path) -> None:
    first = open_comparison(tmp_path / "new" / "folder", DESCRIPTION, resume=True)
    first.keep_all([REPLICATE, result("undecided"), result("slower", 1.1)])
    again = open_comparison(tmp_path / "new" / "folder", {**DESCRIPTION, "margin": 0.01}, resume=True)
    assert again.replicates == (REPLICATE,)
    # Of two results of one benchmark the later one holds.
    assert {name: found.verdict for name, found in again.results.items()} == {"id of add": "slower"}


def test_a_torn_end_loses_only_itself(tmp_path: Path) -> None:
    open_comparison(tmp_path, DESCRIPTION, resume=False).keep(REPLICATE)
    path = tmp_path / FILE_NAME
    path.write_bytes(path.read_bytes()[:-4] + b',\n{"kind": "comparison_repl')
    taken_up = open_comparison(tmp_path, DESCRIPTION, resume=True)
    assert taken_up.replicates == (REPLICATE,)
    taken_up.keep(REPLICATE)
    assert len(open_comparison(tmp_path, DESCRIPTION, resume=True).replicates) == 2


def test_an_existing_one_is_not_overwritten(tmp_path: Path) -> None:
    open_comparison(tmp_path, DESCRIPTION, resume=False)
    with pytest.raises(ResultsFileError, match="already exists") as error:
        open_comparison(tmp_path, DESCRIPTION, resume=False)
    assert "--resume" in str(error.value)


@pytest.mark.parametrize("name", ["base", "branch", "suite", "fingerprint"])
def test_another_comparison_is_refused(tmp_path: Path, name: str) -> None:
    open_comparison(tmp_path, DESCRIPTION, resume=False)
    with pytest.raises(ResultsFileError, match=f"its {name} is different"):
        open_comparison(tmp_path, {**DESCRIPTION, name: "other"}, resume=True)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    ResultsFile.create(tmp_path / FILE_NAME)
    with pytest.raises(ResultsFileError, match="is not a comparison"):
        open_comparison(tmp_path, DESCRIPTION, resume=True)
