from __future__ import annotations

import json

import pytest

from photometer.errors import ResultsFileError
from photometer.model.machine import Machine, TorchBuild, torch_names
from photometer.model.records import from_record, to_record

FULL = Machine(
    cpu_model="Test CPU",
    logical_cores=8,
    usable_cores=4,
    governor="performance",
    memory_bytes=2**34,
    kernel="Linux 6",
    hypervisor="KVM",
    stolen_share=0.01,
    python="3.11",
    torch=TorchBuild("2.13.0", "abc", False, None, None, "AVX2", "-O2"),
    photometer="1.0.0",
    commit="0123456789abcdef",
    commit_is_dirty=True,
    date="2026-01-01T00:00:00+00:00",
)


@pytest.mark.parametrize("machine", [FULL, Machine(), Machine(commit_unknown_because="no git")])
def test_json_round_trip(machine: Machine) -> None:
    assert from_record(Machine, json.loads(json.dumps(to_record(machine)))) == machine


def test_unknown_facts_are_left_out_and_newer_ones_ignored() -> None:
    assert to_record(Machine()) == {}
    assert from_record(Machine, {"moon": "full", "torch": {"new": 1}}) == Machine(torch=TorchBuild())


@pytest.mark.parametrize(
    "record", [{"logical_cores": "8"}, {"torch": 3}, {"torch": {"debug": "no"}}, {"cpu_model": ["x"]}]
)
def test_wrong_types_are_named(record: dict[str, object]) -> None:
    with pytest.raises(ResultsFileError, match=r"machine\."):
        from_record(Machine, record)


def test_summary_is_one_line_of_what_is_known() -> None:
    text = FULL.summary()
    for part in ("Test CPU", "8 cores", "performance", "torch 2.13.0", "Python 3.11", "commit 0123456789 (changed)"):
        assert part in text
    assert Machine().summary() == "unknown machine"


def machine(version: str, python: str = "3.11.7", git: str = "a" * 40) -> Machine:
    return Machine(python=python, torch=TorchBuild(version=version, git_version=git))


def test_one_build_has_no_name() -> None:
    assert torch_names([machine("2.12.1"), machine("2.12.1"), None]) == [None, None, None]
    assert torch_names([]) == []


def test_versions_are_enough_if_they_differ() -> None:
    assert torch_names([machine("2.12.1"), None, machine("2.13.0")]) == ["torch 2.12.1", None, "torch 2.13.0"]


def test_equal_versions_are_told_apart_by_python_or_commit() -> None:
    assert torch_names([machine("2.12.1"), machine("2.12.1", "3.12.1")]) == [
        "torch 2.12.1, Python 3.11.7",
        "torch 2.12.1, Python 3.12.1",
    ]
    one, two = torch_names([machine("2.12.1"), machine("2.12.1", git="b" * 40)])
    assert one != two
