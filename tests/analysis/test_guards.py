"""What makes two sides not comparable is said; where all is well nothing is."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from photometer.analysis.guards import (
    ProbeResult,
    checkout_warning,
    environment_warnings,
    machine_warnings,
    noise_warnings,
    order_warnings,
    results_difference,
    thread_warnings,
)
from photometer.model.machine import Machine, MachineNoise
from photometer.worker.messages import TorchFacts

FACTS = TorchFacts(
    python="3.11.2",
    executable="/usr/bin/python",
    torch="2.13.0",
    torch_folder="/torch",
    git_version="abc",
    debug=False,
    cuda=None,
    build="CPU capability usage: AVX2\nBuild settings: CXX_FLAGS= -O2 -Wall -march=haswell, LAPACK=x",
    parallel="ATen parallel backend: OpenMP\n",
    cxx11_abi=True,
    num_threads=1,
    devices=["cpu"],
)


def test_equal_environments_are_fine() -> None:
    assert environment_warnings(FACTS, dataclasses.replace(FACTS)) == ()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("python", "3.12.1", "Python differs: 3.11.2 on the base side, 3.12.1"),
        ("torch", "2.12.0", "torch differs"),
        ("cuda", "12.4", "CUDA of torch differs: None"),
        ("build", "CPU capability usage: AVX512\nCXX_FLAGS= -O2 -march=haswell, X=y", "CPU capability"),
        ("build", "CPU capability usage: AVX2\nCXX_FLAGS= -O0 -march=haswell, X=y", "flags of torch differs: -O2"),
        ("parallel", "ATen parallel backend: native thread pool", "parallel backend"),
        ("cxx11_abi", False, "C++ ABI"),
        ("debug", True, "the branch side is a debug build"),
    ],
)
def test_differences_are_told(name: str, value: Any, told: str) -> None:
    assert any(told in warning for warning in environment_warnings(FACTS, dataclasses.replace(FACTS, **{name: value})))


def test_warnings_of_compilers_are_no_difference() -> None:
    assert environment_warnings(FACTS, dataclasses.replace(FACTS, build=FACTS.build.replace("-Wall", "-Wextra"))) == ()


def value(*values: float, shape: list[int] | None = None) -> list[dict[str, Any]]:
    return [{"shape": [len(values)] if shape is None else shape, "values": list(values)}]


@pytest.mark.parametrize(
    ("base", "branch", "told"),
    [
        ({"y": value(1.0, 2.0)}, {"y": value(1.0, 2.0)}, None),
        ({"y": value(1.0, 2.0)}, {"y": value(1.0, 2.0 + 1e-6)}, None),
        ({"y": value(float("nan"), float("inf"))}, {"y": value(float("nan"), float("inf"))}, None),
        ({"y": value(1.0)}, None, None),
        ({"y": value(1.0, 2.0)}, {"y": value(1.0, 2.1)}, "the values of y differ"),
        ({"y": value(1.0)}, {"y": value(float("nan"))}, "the values of y differ"),
        ({"y": value(0.0)}, {"y": value(1e-30)}, "the values of y differ"),
        ({"y": value(1.0, 2.0)}, {"y": value(1.0, 2.0, shape=[2, 1])}, "y has shape [2] on the base side, [2, 1]"),
        ({"y": value(1.0)}, {"y": []}, "y has other parts"),
        ({"y": value(1.0)}, {}, "y has other parts"),
    ],
)
def test_results(base: Any, branch: Any, told: str | None) -> None:
    found = results_difference(base, branch)
    assert found is None if told is None else found is not None and found.startswith(told)


def test_surroundings() -> None:
    base = ProbeResult({"y": value(1.0)}, (), 1, False)
    assert order_warnings(base, base) == ()
    told = order_warnings(base, ProbeResult({"y": value(2.0)}, (), 2, True))
    assert told == (
        "torch has 1 threads on the base side, 2 on the branch",
        "only the branch side flushes denormals to zero",
        "the two sides compute different results: the values of y differ",
    )


def test_threads_on_a_busy_machine() -> None:
    assert thread_warnings(1, 9.0) == ()
    assert thread_warnings(2, 0.5) == ()
    assert "load average of 9.0" in thread_warnings(2, 9.0)[0]


def test_checkouts_that_nothing_imports() -> None:
    assert checkout_warning([ProbeResult()], [ProbeResult()])
    assert not checkout_warning([ProbeResult()], [ProbeResult(modules=("package",))])


def test_machines_of_two_files() -> None:
    machine = Machine(cpu_model="one", logical_cores=2)
    assert machine_warnings(machine, machine) == ()
    assert machine_warnings(machine, Machine(cpu_model="two", logical_cores=2)) == (
        "cpu model differs: one on the base side, two on the branch side",
    )
    assert "does not say" in machine_warnings(None, machine)[0]


def test_noise() -> None:
    assert noise_warnings(MachineNoise(0.1, 0.0, 3000.0, 3100.0)) == ()
    assert noise_warnings(MachineNoise()) == ()
    told = noise_warnings(MachineNoise(0.9, 0.05, 2000.0, 3000.0))
    assert [warning.split()[0] for warning in told] == ["another", "the", "the"]


def test_results_that_could_not_be_compared_are_told() -> None:
    told = order_warnings(ProbeResult(not_compared_because="the probe died"), ProbeResult())
    assert told == ("the results of the two sides were not compared: the probe died",)
