"""Locked clocks, with a program in the place of nvidia-smi that writes down how it is called."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from photometer.errors import ToolMissing
from photometer.instruments.device.clock_lock import locked_clocks, steady_clocks
from tests.photometer_command import photometer
from tests.waiting import wait_until

SCRIPT = """#!/bin/sh
case "$*" in
*--query-gpu*) printf '0, 1590, 1980\\n1, [N/A], 2000\\n';;
*) echo "$*" >> {calls};;
esac
exit {status}
"""
LOCKED = ["-i 0 --lock-gpu-clocks=1590,1590", "-i 1 --lock-gpu-clocks=1500,1500"]
UNLOCKED = ["-i 0 --reset-gpu-clocks", "-i 1 --reset-gpu-clocks"]


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls"


def made(folder: Path, calls: Path, status: int = 0) -> str:
    program = folder / "nvidia-smi"
    program.write_text(SCRIPT.format(calls=calls, status=status))
    program.chmod(0o755)
    return str(program)


def test_the_usual_clock_is_locked_during_the_block_and_no_longer(tmp_path: Path, calls: Path) -> None:
    with locked_clocks(made(tmp_path, calls)) as clocks:
        assert clocks == {"0": 1590, "1": 1500}
        assert calls.read_text().splitlines() == LOCKED
    assert calls.read_text().splitlines() == [*LOCKED, *UNLOCKED]


def test_an_error_unlocks_too(tmp_path: Path, calls: Path) -> None:
    with pytest.raises(KeyboardInterrupt), locked_clocks(made(tmp_path, calls)):
        raise KeyboardInterrupt
    assert calls.read_text().splitlines()[-2:] == UNLOCKED


def test_a_command_that_is_killed_leaves_no_clock_locked(tmp_path: Path, calls: Path) -> None:
    code = (
        "import sys, time\nfrom photometer.instruments.device.clock_lock import locked_clocks\n"
        "with locked_clocks(sys.argv[1]): print('locked', flush=True); time.sleep(3600)"
    )
    command = subprocess.Popen([sys.executable, "-c", code, made(tmp_path, calls)], stdout=subprocess.PIPE)
    assert command.stdout is not None
    assert command.stdout.readline() == b"locked\n"
    os.kill(command.pid, signal.SIGKILL)
    command.wait()
    command.stdout.close()
    wait_until(lambda: calls.read_text().splitlines() == [*LOCKED, *UNLOCKED])


def test_without_the_right_or_the_program_the_error_says_so(tmp_path: Path, calls: Path) -> None:
    with pytest.raises(ToolMissing, match="cannot be locked") as refused:
        steady_clocks(made(tmp_path, calls, status=4))
    assert "root" in str(refused.value.remedy)
    with pytest.raises(ToolMissing, match="cannot be locked"), locked_clocks(str(tmp_path / "no-program")):
        pass


@pytest.mark.lengthy
def test_the_option_locks_for_the_time_of_the_command(tmp_path: Path, calls: Path) -> None:
    made(tmp_path, calls)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = photometer("time", "pass", "--lock-clocks", "--min-run-time", "0.01", PATH=path)
    assert done.returncode == 0, done.stderr
    assert calls.read_text().splitlines() == [*LOCKED, *UNLOCKED]
