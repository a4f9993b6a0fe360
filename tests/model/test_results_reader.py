"""Reading results files from strangers: every bad file is an error that names file and place; nothing is executed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from photometer.errors import ResultsFileError
from photometer.model.measurement import Measurement
from photometer.model.records import from_record
from photometer.model.results_file import ResultsFile
from photometer.model.results_reader import Results, load_results
from photometer.model.task import TaskSpec
from photometer.results import record_types, results_schema

HEADER = '{"format": "photometer-results", "version": 1, "records": [\n'
WHOLE = '{"kind": "failure", "n": 1}'


def load_text(tmp_path: Path, text: str | bytes, **options: object) -> Results:
    path = tmp_path / "file.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_results(path, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (b"\x00" * 100, "line 1"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        ("hello", "line 1, column 1"),
        ("[1, 2]", "not a photometer results file"),
        ('{"format": "other", "version": 1, "records": []}', "not a photometer results file"),
        ('{"format": "photometer-results", "records": []}', "no version number"),
        ('{"format": "photometer-results", "version": true, "records": []}', "no version number"),
        ('{"format": "photometer-results", "version": 2, "records": []}', "version 2.*reads up to 1.*\n.*Upgrade"),
        ('{"format": "photometer-results", "version": 1}', '"records" should be a list'),
        ('{"format": "photometer-results", "version": 1, "records": [3]}', "record 1"),
        (HEADER + WHOLE + ',\n{"n": 2}\n]}\n', "record 2"),
        (HEADER + WHOLE + ',\n{"kind": "failure", "n": NaN}\n]}\n', "line 3, NaN"),
        (HEADER + WHOLE + ',\n{"kind": "failure", "n": -Infinity}\n]}\n', "line 3, -Infinity"),
        (HEADER + WHOLE + ',\n{"kind": "failure", "n": 1e999}\n]}\n', "line 3, 1e999"),
        (HEADER + '{"kind": "failure", "n": ' + "9" * 5000 + "}\n]}\n", "line 2"),
        (HEADER + '{"kind": "f", "n": ' + "[" * 100_000 + "]" * 100_000 + "}\n]}\n", "line 2.*nested too deeply"),
        (HEADER + WHOLE + ',\n{"kind": "fai', "line 3.*torn"),
        (HEADER + WHOLE + "\n", "torn"),
        (HEADER + '{"kind": "x" "y"},\n' + WHOLE + "\n]}\n", "line 2, column 14.*damaged"),
        (HEADER.encode() + b'{"kind": "\xff"}\n]}\n', "line 2, is not UTF-8"),
    ],
)
def test_bad_files_name_file_and_place(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(ResultsFileError, match=r"(?s)file\.json.*" + message):
        load_text(tmp_path, text)


def test_missing_file_folder_and_too_large(tmp_path: Path) -> None:
    with pytest.raises(ResultsFileError, match="no such file"):
        load_results(tmp_path / "none.json")
    with pytest.raises(ResultsFileError, match="is a folder"):
        load_results(tmp_path)
    with pytest.raises(ResultsFileError, match="larger than 50 bytes"):
        load_text(tmp_path, HEADER + WHOLE + "\n]}\n", largest_bytes=50)


def test_torn_file_says_how_many_records_can_be_had(tmp_path: Path) -> None:
    torn = HEADER + WHOLE + ",\n" + WHOLE + ',\n{"kind'
    with pytest.raises(ResultsFileError, match="2 whole records"):
        load_text(tmp_path, torn)
    results = load_results(tmp_path / "file.json", recover=True)
    assert results.kinds == {"failure": 2}
    assert results.damage == ("line 4 is not a whole record", "the closing line is missing")


def test_recovering_a_whole_file_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    ResultsFile.create(path, records=[Measurement(1, [1.0], TaskSpec("a", "b"))], overwrite=True)
    assert load_results(path, recover=True) == load_results(path)


def test_a_torn_header_cannot_be_recovered(tmp_path: Path) -> None:
    with pytest.raises(ResultsFileError, match=r"file\.json"):
        load_text(tmp_path, '{"format": "photometer-results", "vers', recover=True)


def test_unknown_kinds_and_fields_are_kept(tmp_path: Path) -> None:
    text = HEADER + '{"kind": "hologram", "depth": [1, 2]},\n' + WHOLE + "\n]}\n"
    results = load_text(tmp_path, text)
    assert results.records[0] == {"kind": "hologram", "depth": [1, 2]}
    assert results.measurements == []


def test_a_file_reformatted_by_another_program_still_loads(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    saved = [Measurement(1, [1.0, 2.0], TaskSpec("a", "b"))]
    ResultsFile.create(path, records=saved, overwrite=True)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2), encoding="utf-8-sig")
    assert load_results(path).measurements == saved


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("number_per_run", 0, "number_per_run"),
        ("number_per_run", "many", "number_per_run"),
        ("raw_times", None, "raw_times"),
        ("raw_times", [1, "2"], "raw_times"),
        ("raw_times", [1, -2], "negative"),
        ("raw_times", [10**400], r"raw_times\[0\].*out of range"),
        ("task_spec", [], "task_spec"),
        ("task_spec", {"stmt": 3}, "task_spec.stmt"),
        ("task_spec", {"setup": "x"}, "no stmt"),
        ("metadata", 1, "metadata"),
        ("conditions", {"wall_seconds": "x"}, "conditions.wall_seconds"),
    ],
)
def test_damaged_measurement_names_record(tmp_path: Path, field: str, value: object, message: str) -> None:
    good = {"kind": "measurement", "number_per_run": 1, "raw_times": [1.0], "task_spec": {"stmt": "a", "setup": "b"}}
    text = HEADER + json.dumps(good) + ",\n" + json.dumps({**good, field: value}) + "\n]}\n"
    results = load_text(tmp_path, text)
    with pytest.raises(ResultsFileError, match=rf"file\.json, record 2.*{message}"):
        _ = results.measurements


def test_damaged_machine_facts_name_the_header(tmp_path: Path) -> None:
    text = HEADER.replace('"records"', '"machine": {"logical_cores": "two"}, "records"') + "]}\n"
    results = load_text(tmp_path, text)
    with pytest.raises(ResultsFileError, match=r"file\.json, header: machine\.logical_cores"):
        _ = results.machine


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_bytes_changed_at_random_never_raise_anything_else(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray((HEADER + WHOLE + ",\n" + WHOLE + "\n]}\n").encode())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    for recover in (False, True):
        try:
            results = load_text(tmp_path, bytes(content), recover=recover)
        except ResultsFileError:
            continue
        assert all(isinstance(r["kind"], str) for r in results.records)


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
