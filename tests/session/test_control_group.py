"""Limits of control groups, of both versions, at the top of a container and deep inside a machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.session import cores
from photometer.session.control_group import MemoryLimit, ProcessorLimit, memory_limit, processor_limit
from photometer.session.cores import usable_cores
from tests.doctor.fake_machine import cores as core_files, fake_machine

GIB = 2**30
TOP = "/sys/fs/cgroup"


def test_a_container_whose_page_cache_is_full_has_memory_left(tmp_path: Path) -> None:
    files = {
        f"{TOP}/memory.max": f"{4 * GIB}\n",
        f"{TOP}/memory.current": f"{4 * GIB}\n",
        f"{TOP}/memory.stat": f"anon {GIB}\nfile {3 * GIB}\ninactive_file {3 * GIB}\n",
    }
    assert memory_limit(fake_machine(tmp_path, files).root) == MemoryLimit(4 * GIB, 3 * GIB)


def test_the_tightest_group_above_counts(tmp_path: Path) -> None:
    """As in a job of a cluster, or a service of systemd: neither the top nor the innermost group has the limit."""
    files = {
        "/proc/self/cgroup": "0::/system.slice/job_7/step_0\n",
        f"{TOP}/system.slice/memory.max": "max\n",
        f"{TOP}/system.slice/job_7/memory.max": f"{2 * GIB}\n",
        f"{TOP}/system.slice/job_7/memory.current": f"{GIB}\n",
        f"{TOP}/system.slice/job_7/cpu.max": "150000 100000\n",
        f"{TOP}/system.slice/job_7/cpu.stat": "nr_periods 9\nnr_throttled 4\n",
        f"{TOP}/system.slice/job_7/step_0/memory.max": "max\n",
        f"{TOP}/system.slice/job_7/step_0/cpu.max": "max 100000\n",
    }
    root = fake_machine(tmp_path, files).root
    assert memory_limit(root) == MemoryLimit(2 * GIB, GIB)
    assert processor_limit(root) == ProcessorLimit(1.5, 4)


@pytest.mark.parametrize("folder", [f"{TOP}/memory", f"{TOP}/memory/docker/abc"])
def test_version_1_in_a_container_and_on_its_host(tmp_path: Path, folder: str) -> None:
    files = {
        "/proc/self/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n",
        f"{folder}/memory.limit_in_bytes": f"{GIB}\n",
        f"{folder}/memory.usage_in_bytes": f"{GIB // 2}\n",
        f"{TOP}/cpu/cpu.cfs_quota_us": "50000\n",
        f"{TOP}/cpu/cpu.cfs_period_us": "100000\n",
    }
    root = fake_machine(tmp_path, files).root
    assert memory_limit(root) == MemoryLimit(GIB, GIB // 2)
    assert processor_limit(root) == ProcessorLimit(0.5, 0)


def test_without_limits_or_files_there_is_none(tmp_path: Path) -> None:
    assert memory_limit(tmp_path) is None
    assert processor_limit(tmp_path) is None
    none = {
        f"{TOP}/memory/memory.limit_in_bytes": "9223372036854771712\n",
        f"{TOP}/memory/memory.usage_in_bytes": "1\n",
        f"{TOP}/cpu/cpu.cfs_quota_us": "-1\n",
        f"{TOP}/cpu/cpu.cfs_period_us": "100000\n",
        f"{TOP}/cpu.max": "max 100000\n",
        "/proc/self/cgroup": "nonsense\n::\n0::/../..\n",
    }
    root = fake_machine(tmp_path, none).root
    assert memory_limit(root) is None
    assert processor_limit(root) is None


def test_no_more_cores_are_used_than_there_is_time_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On 128 processors, two to a core."""
    topology = fake_machine(tmp_path, core_files(128, siblings=2)).path("/sys/devices/system/cpu")
    monkeypatch.setattr(cores, "allowed_cores", lambda: list(range(128)))
    for limit, count in ((None, 64), (6.5, 6), (0.5, 1), (200.0, 64)):
        made = None if limit is None else ProcessorLimit(limit, 0)
        monkeypatch.setattr(cores, "processor_limit", lambda made=made: made)
        used = usable_cores(topology=topology)
        assert len(used) == count
        assert all(core % 2 == 0 for core in used)
    assert usable_cores((3, 4, 5), topology) == (3, 4, 5)
