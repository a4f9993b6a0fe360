from __future__ import annotations

from pathlib import Path

from photometer.model.results_reader import load_results
from photometer.results import load, save
from tests.analysis.measurements import made


def test_save_load_and_append(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    one, two = made(1, "a"), made(2, "b")
    save(path, one)
    assert load(path) == [one]
    save(str(path), [two], append=True)
    assert load(path) == [one, two]
    save(path, [two])
    assert load(path) == [two]


def test_append_makes_the_file_and_the_machine_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    save(path, [made(1)], append=True)
    machine = load_results(path).machine
    assert machine is not None
    assert machine.python is not None
    assert len(load(path)) == 1


def test_recover(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    save(path, [made(1, "a"), made(2, "b")])
    path.write_bytes(path.read_bytes()[:-50])
    assert load(path, recover=True) == [made(1, "a")]
