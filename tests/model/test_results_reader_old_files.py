"""Files that 0.1 wrote (tests/model/data/0.1) still load, and what is written of them says the same."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from photometer.model.records import from_record
from photometer.model.results_file import ResultsFile
from photometer.model.results_reader import Results, load_results
from photometer.results import record_types, results_schema

FILES = sorted((Path(__file__).parent / "data" / "0.1").glob("*.json"))
TYPES = record_types()
KINDS_OF_0_1 = {
    "measurement",
    "instruction_counts",
    "device_measurement",
    "comparison",
    "comparison_replicate",
    "comparison_stacks",
    "comparison_failure",
    "fuzz_trial",
    "ladder_step",
}


def nouns(results: Results) -> list[object]:
    return [from_record(TYPES[record["kind"]], record) for record in results.records if record["kind"] in TYPES]


def test_every_kind_of_record_has_a_sample() -> None:
    kinds: Counter[str] = Counter()
    for path in FILES:
        kinds += load_results(path).kinds
    assert set(kinds) == {*KINDS_OF_0_1, "failure", "hologram"}
    assert set(TYPES) >= KINDS_OF_0_1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_they_load_and_survive_being_written_again(path: Path, tmp_path: Path) -> None:
    old = load_results(path)
    found = nouns(old)
    assert found
    again = ResultsFile.create(tmp_path / "again.json", machine=old.machine, records=found).path  # type: ignore[arg-type]
    assert nouns(load_results(again)) == found
    assert load_results(again).machine == old.machine


@pytest.mark.lengthy
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_they_and_what_is_written_now_meet_the_schema(path: Path, tmp_path: Path) -> None:
    jsonschema.validate(json.loads(path.read_text()), results_schema())
    again = ResultsFile.create(tmp_path / "again.json", records=nouns(load_results(path))).path  # type: ignore[arg-type]
    jsonschema.validate(json.loads(again.read_text()), results_schema())
