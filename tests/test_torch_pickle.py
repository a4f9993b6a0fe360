"""Pickles of torch's results are read without running anything in them."""

from __future__ import annotations

import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.utils.benchmark as torch_benchmark

from photometer import torch_pickle
from photometer.cli import main
from photometer.errors import ResultsFileError
from photometer.model.instruction_counts import CallgrindStats
from photometer.model.measurement import Measurement
from photometer.results import load
from photometer.torch_pickle import load_torch_pickle
from tests.analysis.measurements import made
from tests.test_results import torchs

ONE, TWO = made(1e-6, "a"), made(2e-6, "b", num_threads=2)


def written(path: Path, *objects: Any, protocol: int | None = None) -> Path:
    with path.open("wb") as file:
        for each in objects:
            pickle.dump(each, file, protocol=protocol)
    return path


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_lists_dicts_and_pickles_one_after_another(protocol: int, tmp_path: Path) -> None:
    path = written(tmp_path / "r.pkl", [torchs(ONE)], {"b": (torchs(TWO),)}, torchs(ONE), protocol=protocol)
    assert load_torch_pickle(path) == [ONE, TWO, ONE]


def test_what_a_measurement_has_computed_and_its_metadata(tmp_path: Path) -> None:
    theirs = torchs(ONE)
    theirs.metadata = {"note": "x"}
    _ = theirs.median
    [found] = load_torch_pickle(written(tmp_path / "r.pkl", theirs))
    assert isinstance(found, Measurement)
    assert found.metadata == {"note": "x"}
    assert found.median == theirs.median


def test_counts_and_files_of_torch_save(tmp_path: Path) -> None:
    functions = torch_benchmark.FunctionCounts((torch_benchmark.FunctionCount(9, "a.c:f"),), inclusive=False)
    spec = torch_benchmark.TaskSpec("f(x)", "pass")
    stats = torch_benchmark.CallgrindStats(spec, 10, True, functions, functions, functions, functions, None)
    [found] = load_torch_pickle(written(tmp_path / "r.pkl", stats))
    assert isinstance(found, CallgrindStats)
    assert found.counts() == 9
    torch.save([torchs(TWO)], tmp_path / "r.pt")
    assert load_torch_pickle(tmp_path / "r.pt") == [TWO]


class Calls:
    """Pickled, it is a call of a function with these arguments."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


def test_other_names_are_refused_and_nothing_runs(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    for number, call in enumerate(
        [
            Calls(os.system, f"touch {victim}"),
            Calls(subprocess.run, ["touch", str(victim)]),
            Calls(eval, f"open({str(victim)!r}, 'w')"),
            Calls(getattr, torch_benchmark.Measurement, "merge"),
        ]
    ):
        path = written(tmp_path / f"{number}.pkl", [torchs(ONE), call])
        with pytest.raises(ResultsFileError, match="none of its code was run"):
            load_torch_pickle(path)
    assert not victim.exists()
    torch.save([torch.ones(2), torchs(ONE)], tmp_path / "r.pt")
    with pytest.raises(ResultsFileError, match="none of its code was run"):
        load_torch_pickle(tmp_path / "r.pt")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"no pickle", "cannot be read as a pickle"),
        (pickle.dumps([1, 2]), "holds no measurements"),
        (pickle.dumps(torchs(ONE))[:-40], "cannot be read as a pickle"),
    ],
    ids=["empty", "text", "numbers", "torn"],
)
def test_what_is_no_pickle_of_results(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "r.pkl").write_bytes(content)
    with pytest.raises(ResultsFileError, match=words):
        load_torch_pickle(tmp_path / "r.pkl")


@pytest.mark.parametrize(
    "change", [{"number_per_run": 0}, {"raw_times": ["x"]}, {"raw_times": [-1.0]}, {"metadata": 3}]
)
def test_fields_that_cannot_be(change: dict[str, Any], tmp_path: Path) -> None:
    theirs = torchs(ONE)
    vars(theirs).update(change)
    with pytest.raises(ResultsFileError, match=str(tmp_path)):
        load_torch_pickle(written(tmp_path / "r.pkl", theirs))


def test_the_command_warns_converts_and_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "r.pkl", [torchs(ONE), torchs(TWO)])
    with pytest.raises(SystemExit) as end:
        main(["convert", str(path), "-o", str(tmp_path / "out")])
    assert not end.value.code
    said = capsys.readouterr()
    assert "a pickle can run any code" in said.err
    assert "results.json: 2 results" in said.out
    assert load(tmp_path / "out" / "results.json") == [ONE, TWO]
    with pytest.raises(SystemExit):
        main(["convert", str(path)])
    assert "2 threads" in capsys.readouterr().out


def doubled(kind: str, depth: int = 60) -> bytes:
    """Return a pickle of containers, each holding the one before twice."""
    lists = b"".join(b"](h" + bytes([n]) + b"h" + bytes([n]) + b"eq" + bytes([n + 1]) for n in range(depth))
    tuples = b"".join(b"h" + bytes([n]) + b"h" + bytes([n]) + b"\x86q" + bytes([n + 1]) for n in range(depth))
    # The outermost is in the list of the inner ones before they have anything in them.
    late = b"".join(b"]q" + bytes([n]) for n in range(depth))
    late += b"".join(
        b"h" + bytes([n]) + b"(h" + bytes([n + 1]) + b"h" + bytes([n + 1]) + b"e" for n in range(depth - 1)
    )
    made = {
        "lists": b"]q\x00" + lists + b".",
        "a tuple as a key": b")q\x00" + tuples + b"}h" + bytes([depth]) + b"Ns.",
        "filled later": late + b"h\x00.",
        "a list in itself": b"]q\x00h\x00a.",
    }
    return b"\x80\x02" + made[kind]


@pytest.mark.parametrize("kind", ["lists", "a tuple as a key", "filled later", "a list in itself"])
def test_what_grows_without_end_is_refused_before_it_is_read(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_pickle._Reader, "load", lambda self: pytest.fail("it was read"))
    (tmp_path / "r.pkl").write_bytes(doubled(kind))
    with pytest.raises(ResultsFileError, match="parts"):
        load_torch_pickle(tmp_path / "r.pkl")


@pytest.mark.parametrize("put", [b"r" + (60_000_000).to_bytes(4, "little"), b"p60000000\n"])
def test_a_memo_with_holes_is_refused_before_it_is_read(
    put: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_pickle._Reader, "load", lambda self: pytest.fail("it was read"))
    (tmp_path / "r.pkl").write_bytes(b"\x80\x02N" + put + b".")
    with pytest.raises(ResultsFileError, match="60,000,000"):
        load_torch_pickle(tmp_path / "r.pkl")


def test_results_that_share_lists_are_read(tmp_path: Path) -> None:
    shared = [torchs(ONE)] * 3
    assert load_torch_pickle(written(tmp_path / "r.pkl", [shared, shared])) == [ONE] * 6
