"""Files of different builds of torch are told apart by as little as does it."""

from __future__ import annotations

from photometer.analysis.torch_builds import torch_names
from photometer.model.machine import Machine, TorchBuild


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
