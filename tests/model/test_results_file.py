"""Writing results files: valid after every append, repaired after a crash, safe between processes."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
from pathlib import Path

import jsonschema
import pytest

import photometer.model
from photometer.errors import ResultsFileError
from photometer.model.device_measurement import DeviceMeasurement, DeviceMode
from photometer.model.diagnosis import Conditions
from photometer.model.machine import Machine, TorchBuild
from photometer.model.measurement import Measurement
from photometer.model.results_file import ResultsFile
from photometer.model.results_reader import load_results
from photometer.model.task import TaskSpec
from photometer.results import results_schema
from tests.model.test_device_measurement import measurement as device_measurement

SCHEMA = json.loads((Path(photometer.model.__file__).parent / "results.schema.json").read_text(encoding="utf-8"))
MACHINE = Machine(
    cpu_model="Test CPU", logical_cores=2, stolen_share=0.25, torch=TorchBuild(version="2.13.0", debug=False)
)


def measurement(stmt: str = "x + 1", **fields: object) -> Measurement:
    spec = TaskSpec(stmt, "x = 1", **fields)  # type: ignore[arg-type]
    return Measurement(10, [1e-5, 1.1e-5, 1.2e-5], spec, {"note": "mine"}, Conditions(warmup_runs=3, warmed_up=True))


def test_saved_measurements_come_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    originals = [
        measurement(),
        measurement("y", label="l", sub_label="s\n|", description="ü\u2028", env="e", num_threads=4),
    ]
    ResultsFile.create(path, records=originals, machine=MACHINE, overwrite=True)
    assert load_results(path).measurements == originals
    assert load_results(path).machine == MACHINE


def test_file_meets_its_schema_and_has_one_record_per_line(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    file = ResultsFile.create(path, {"suite": "standard"}, machine=MACHINE)
    file.append(measurement())
    file.append({"kind": "failure", "message": "it broke"})
    file.append(device_measurement())
    jsonschema.validate(json.loads(path.read_text()), SCHEMA)
    lines = path.read_text().splitlines()
    assert len(lines) == 5
    assert lines[0].endswith('"records": [')
    assert lines[-1] == "]}"
    assert load_results(path).header["suite"] == "standard"


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("task_spec", TaskSpec),
        ("conditions", Conditions),
        ("machine", Machine),
        ("device_measurement", DeviceMeasurement),
        ("device_mode", DeviceMode),
    ],
    ids=str,
)
def test_schema_names_every_field(name: str, cls: type) -> None:
    named = {field.name for field in dataclasses.fields(cls)}
    assert set(SCHEMA["$defs"][name]["properties"]) - {"kind"} == named


def test_schema_is_what_the_types_say() -> None:
    assert results_schema() == SCHEMA, "write it again with scripts/write-schema"


@pytest.mark.parametrize("record", [{"kind": "measurement", "raw_times": []}, {"kind": "device_measurement"}])
def test_schema_can_fail(record: dict[str, object]) -> None:
    bad = {"format": "photometer-results", "version": 1, "records": [record]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(bad, SCHEMA)


def test_every_append_leaves_valid_json(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    file = ResultsFile.create(path)
    assert json.loads(path.read_text())["records"] == []
    for count in range(1, 5):
        file.append({"kind": "failure", "n": count})
        assert [r["n"] for r in json.loads(path.read_text())["records"]] == list(range(1, count + 1))


def test_a_tear_at_any_byte_loses_no_finished_record(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    file = ResultsFile.create(path)
    file.append({"kind": "failure", "n": 1})
    file.append({"kind": "failure", "n": 2})
    before = path.read_bytes()
    file.append({"kind": "failure", "n": 3, "text": "x" * 40})
    after = path.read_bytes()
    # The new bytes begin where the old closing line did: a crash leaves any prefix of them.
    for size in range(len(before) - len(b"\n]}\n"), len(after)):
        path.write_bytes(after[:size])
        recovered = [r["n"] for r in load_results(path, recover=True).records]
        ResultsFile(path).append({"kind": "failure", "n": 4})
        kept = [r["n"] for r in load_results(path).records]
        assert kept[:2] == [1, 2]
        assert kept == [*recovered, 4]


def test_an_append_of_which_only_a_part_reached_the_disk_loses_nothing(tmp_path: Path) -> None:
    """The new bytes are written over the closing line: what was not written of them is still the old."""
    path = tmp_path / "r.json"
    file = ResultsFile.create(path, records=[{"kind": "failure", "n": 1}, {"kind": "failure", "n": [2]}])
    before = path.read_bytes()
    file.append({"kind": "failure", "n": 3})
    after = path.read_bytes()
    for size in range(len(before) - len(b"\n]}\n"), len(after)):
        path.write_bytes(after[:size] + before[size:])
        recovered = [r["n"] for r in load_results(path, recover=True).records]
        assert recovered[:2] == [1, [2]]
        ResultsFile(path).append({"kind": "failure", "n": 4})
        assert [r["n"] for r in load_results(path).records] == [*recovered, 4]


def test_repair_keeps_records_behind_damage_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    ResultsFile.create(path, records=[{"kind": "failure", "n": n} for n in range(3)])
    lines = path.read_bytes().split(b"\n")
    lines[2] = b'{"kind": "fai\0\0'
    path.write_bytes(b"\n".join(lines[:-2]))
    ResultsFile(path).append({"kind": "failure", "n": 9})
    assert [r["n"] for r in load_results(path, recover=True).records] == [0, 2, 9]


@pytest.mark.parametrize("left", [b"", b",", b",,", b", \n\n", b",\r"])
def test_appending_where_the_last_record_was_removed_by_hand(tmp_path: Path, left: bytes) -> None:
    path = tmp_path / "r.json"
    ResultsFile.create(path, records=[{"kind": "failure", "n": 1}])
    path.write_bytes(path.read_bytes().replace(b"}\n]}\n", b"}" + left + b"\n]}\n"))
    ResultsFile(path).append({"kind": "failure", "n": 2})
    assert [r["n"] for r in load_results(path).records] == [1, 2]


def test_first_append_after_a_torn_first_record(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    ResultsFile.create(path)
    path.write_bytes(path.read_bytes().removesuffix(b"\n]}\n") + b'\n{"kind": "failu')
    ResultsFile(path).append({"kind": "failure", "n": 1})
    assert [r["n"] for r in load_results(path).records] == [1]


def _append_many(path: Path, who: int) -> None:
    file = ResultsFile(path)
    for n in range(20):
        file.append({"kind": "failure", "who": who, "n": n})


def test_processes_appending_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    ResultsFile.create(path)
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_append_many, args=(path, who)) for who in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    found = sorted((r["who"], r["n"]) for r in load_results(path).records)
    assert found == [(who, n) for who in range(3) for n in range(20)]


def test_create_refuses_to_replace_and_leaves_no_scraps(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    ResultsFile.create(path, records=[{"kind": "failure"}])
    with pytest.raises(ResultsFileError, match="exists already"):
        ResultsFile.create(path)
    assert len(load_results(path).records) == 1
    ResultsFile.create(path, overwrite=True)
    assert load_results(path).records == ()
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_open_or_create(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    ResultsFile.open_or_create(path).append({"kind": "failure"})
    ResultsFile.open_or_create(path).append({"kind": "failure"})
    assert load_results(path).kinds == {"failure": 2}


def test_a_record_that_is_no_json_is_refused_and_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    file = ResultsFile.create(path)
    spec = TaskSpec("pass", "pass")
    for metadata in ({"tensor": object()}, {("a", 1): 2}, {"x": float("nan")}):
        with pytest.raises(ResultsFileError, match="cannot be written as JSON"):
            file.append(Measurement(1, [1.0], spec, metadata))
    for seconds in (object(), float("inf")):
        with pytest.raises(ResultsFileError, match="cannot be written as JSON"):
            file.append(Measurement(1, [seconds], spec))  # type: ignore[list-item]
    with pytest.raises(ResultsFileError, match="kind"):
        file.append({"n": 1})
    assert load_results(path).records == ()


def test_header_names_of_ours_cannot_be_taken(tmp_path: Path) -> None:
    with pytest.raises(ResultsFileError, match="version"):
        ResultsFile.create(tmp_path / "r.json", {"version": 9})


def test_appending_to_what_is_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    with pytest.raises(ResultsFileError, match=r"r\.json: cannot be appended to"):
        ResultsFile(path)
    path.write_text('{"a": 1}\n')
    with pytest.raises(ResultsFileError, match="not the head of a photometer results file"):
        ResultsFile(path)
    path.write_text('{"format": "photometer-results", "version": 2, "records": [\n]}\n')
    with pytest.raises(ResultsFileError, match="version 2"):
        ResultsFile(path)
    ResultsFile.create(path, records=[measurement()], overwrite=True)
    path.write_text(json.dumps(json.loads(path.read_text())))
    with pytest.raises(ResultsFileError, match="with one record per line"):
        ResultsFile(path)


def test_saving_into_a_missing_folder_names_it(tmp_path: Path) -> None:
    with pytest.raises(ResultsFileError, match="nowhere"):
        ResultsFile.create(tmp_path / "nowhere" / "r.json")


def test_an_append_follows_a_file_that_was_replaced_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    file = ResultsFile.create(path)
    ResultsFile.create(path, records=[measurement()], overwrite=True)
    file.append({"kind": "failure"})
    assert load_results(path).kinds == {"measurement": 1, "failure": 1}
    assert path.stat().st_nlink == 1
