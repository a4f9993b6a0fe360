"""What is found on made-up machines: each fact, its state, and its advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.doctor import examine
from photometer.doctor.examine import (
    TorchReport,
    judge_torch,
    kernel_findings,
    noise_findings,
    quick_look,
    summary_line,
)
from photometer.doctor.finding import Examination, Finding, State
from photometer.doctor.noise_test import NoiseTest, Visit, Work
from photometer.doctor.processor import Look, SystemFiles, neighbour_findings, processor_findings
from photometer.instruments.noise_watch import Ticks
from photometer.session import cores as session_cores
from photometer.session.layout import Freezing
from tests.doctor.fake_machine import cores, fake_machine, proc_stat


def by_topic(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.topic: finding for finding in findings}


def test_a_governor_that_follows_the_load_is_a_problem(tmp_path: Path) -> None:
    found = by_topic(processor_findings(fake_machine(tmp_path, cores(2, governor="powersave")), [0, 1]))
    assert found["governor"].state is State.FIX
    assert found["governor"].fact == "powersave on 2"
    assert "--tune" in found["governor"].advice


def test_a_steady_governor_is_good_and_an_invisible_one_is_said(tmp_path: Path) -> None:
    steady = by_topic(processor_findings(fake_machine(tmp_path / "a", cores(2, governor="performance")), [0, 1]))
    unknown = by_topic(processor_findings(fake_machine(tmp_path / "b", cores(2)), [0, 1]))
    assert steady["governor"].state is State.GOOD
    assert unknown["governor"].state is State.NOTE


def test_hardware_threads_of_one_core_are_distinct(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_cores, "allowed_cores", lambda: [0, 1, 2, 3])
    found = by_topic(processor_findings(fake_machine(tmp_path, cores(8, siblings=2)), [0, 1, 2, 3]))
    assert found["cores"].fact == "2 cores with 4 hardware threads, of 8 processors"
    assert found["cores"].state is State.NOTE


@pytest.mark.parametrize(
    ("name", "text", "fact"),
    [
        ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0", "on"),
        ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1", "off"),
        ("/sys/devices/system/cpu/cpufreq/boost", "1", "on"),
        ("/sys/devices/system/cpu/cpufreq/boost", "0", "off"),
    ],
)
def test_turbo_of_both_makers(tmp_path: Path, name: str, text: str, fact: str) -> None:
    found = by_topic(processor_findings(fake_machine(tmp_path, {**cores(2), name: text}), [0, 1]))
    assert found["turbo"].fact == fact


def test_a_busy_neighbour_is_named(tmp_path: Path) -> None:
    files = fake_machine(tmp_path, {"/proc/77/comm": "cc1plus\n"})
    before = Look(_ticks(tmp_path, (100, 900), (100, 900)), {77: 10})
    after = Look(_ticks(tmp_path, (190, 910), (100, 1000)), {77: 100})
    found = by_topic(neighbour_findings(before, after, files))
    assert found["neighbours"].state is State.FIX
    assert "90 %" in found["neighbours"].fact
    assert "cc1plus (process 77)" in found["neighbours"].fact
    assert found["steal time"].state is State.GOOD


def test_a_quiet_machine_has_no_neighbours(tmp_path: Path) -> None:
    before = Look(_ticks(tmp_path, (100, 900)), {})
    after = Look(_ticks(tmp_path, (101, 999)), {})
    assert by_topic(neighbour_findings(before, after, SystemFiles(tmp_path)))["neighbours"].state is State.GOOD


def test_stolen_time_is_a_problem(tmp_path: Path) -> None:
    before = Look(_ticks(tmp_path, (0, 900)), {})
    after = Look(_ticks(tmp_path, (0, 990), stolen=10), {})
    assert by_topic(neighbour_findings(before, after, SystemFiles(tmp_path)))["steal time"].state is State.FIX


def _ticks(root: Path, *busy_and_idle: tuple[int, int], stolen: int = 0) -> dict[int, Ticks]:
    files = fake_machine(root, {"/proc/stat": proc_stat(*busy_and_idle, stolen=stolen)})
    return dict(Look.now(files).cores)


def test_a_container_with_a_quota_is_a_problem(tmp_path: Path) -> None:
    files = {"/sys/fs/cgroup/cpu.max": "150000 100000", "/sys/fs/cgroup/cpu.stat": "nr_periods 9\nnr_throttled 1234"}
    found = by_topic(kernel_findings(fake_machine(tmp_path, files)))["container limits"]
    assert found.fact == "1.5 cores' worth of time per period; stopped 1,234 times so far"
    assert "--cpuset-cpus" in found.advice


def test_a_quota_of_the_older_kind(tmp_path: Path) -> None:
    folder = "/sys/fs/cgroup/cpu"
    files = {f"{folder}/cpu.cfs_quota_us": "200000", f"{folder}/cpu.cfs_period_us": "100000"}
    assert "container limits" in by_topic(kernel_findings(fake_machine(tmp_path, files)))
    none = {f"{folder}/cpu.cfs_quota_us": "-1", f"{folder}/cpu.cfs_period_us": "100000"}
    assert "container limits" not in by_topic(kernel_findings(fake_machine(tmp_path, none)))


def test_little_memory_and_swap_in_use(tmp_path: Path) -> None:
    meminfo = "MemTotal: 8000000 kB\nMemAvailable: 1000000 kB\nSwapTotal: 4000000 kB\nSwapFree: 1000000 kB\n"
    found = by_topic(kernel_findings(fake_machine(tmp_path, {"/proc/meminfo": meminfo})))
    assert found["memory"].state is State.FIX
    assert found["swap"].state is State.NOTE


def test_memory_of_a_container_counts(tmp_path: Path) -> None:
    files = {
        "/proc/meminfo": "MemAvailable: 64000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
        "/sys/fs/cgroup/memory.max": str(2 * 2**30),
        "/sys/fs/cgroup/memory.current": str(2**30),
    }
    found = by_topic(kernel_findings(fake_machine(tmp_path, files)))
    assert found["memory"].fact == "1.0 GiB free, limited to 2.0 GiB here"
    assert found["swap"].fact == "none"


def test_a_layout_that_cannot_be_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "freezing", lambda: Freezing((), "setarch -R is refused here"))
    assert by_topic(kernel_findings(SystemFiles(tmp_path)))["address layout"].state is State.FIX


def test_a_debug_build_of_torch_and_too_many_threads() -> None:
    found = by_topic(judge_torch(TorchReport("2.13.0", True, "", 8), cores=2))
    assert found["torch"].state is State.FIX
    assert found["torch's threads"].state is State.NOTE
    good = by_topic(judge_torch(TorchReport("2.13.0", False, "- CPU capability usage: AVX512\n", 2), cores=2))
    assert good["torch"].fact == "2.13.0, uses AVX512"
    assert good["torch's threads"].state is State.GOOD


def test_noise_is_judged_by_the_share_of_its_best_state() -> None:
    def noise(slow: int) -> NoiseTest:
        return NoiseTest(
            10.0,
            tuple(Visit(i / 10, 0, work, 1.3 if i < slow else 1.0, 0.0) for i in range(100) for work in Work),
        )

    assert [noise_findings(noise(slow))[0].state for slow in (0, 10, 60)] == [State.GOOD, State.NOTE, State.FIX]
    assert "30 % slower for 60 %" in noise_findings(noise(60))[0].fact


def test_the_summary_names_the_first_problems() -> None:
    good = Examination((Finding("cores", State.GOOD, "2 cores"), Finding("swap", State.GOOD, "none")))
    assert summary_line(good) == "machine: 2 cores. No problems found."
    bad = Examination(tuple(Finding(f"t{i}", State.FIX, f"f{i}", "do") for i in range(4)))
    assert summary_line(bad) == "machine: t0: f0; t1: f1 and 2 more. `photometer doctor` says what to do."


def test_a_quick_look_at_this_machine_has_facts() -> None:
    assert {"cores", "governor", "neighbours"} <= set(by_topic(list(quick_look().findings)))
