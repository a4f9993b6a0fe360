"""Commands that make environments: what they print, how they fail, and that nothing of them is left."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from photometer.environments.command import run_command, stop_commands
from photometer.errors import EnvironmentSpecError
from tests.waiting import PATIENCE_SECONDS, wait_until, wait_until_gone

# Starts another process, as a build does, and tells who it is.
BUILD = """
import pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).write_text(str(child.pid) + " ")
child.wait()
"""


def test_its_output_is_returned() -> None:
    assert run_command([sys.executable, "-c", "print(1)"]) == "1\n"


def test_a_failure_tells_command_status_and_log() -> None:
    with pytest.raises(EnvironmentSpecError, match="it broke") as told:
        run_command([sys.executable, "-c", "import sys; print('why'); sys.exit(7)"], what="it broke", remedy="Mend it.")
    assert told.value.exit_status == 7
    assert told.value.log == "why\n"
    assert told.value.remedy == "Mend it."


def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(EnvironmentSpecError, match="No such file"):
        run_command(["/no/such/program"])


def test_stopping_ends_everything_that_was_started(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    errors = []

    def build() -> None:
        try:
            run_command([sys.executable, "-c", BUILD, str(started)])
        except EnvironmentSpecError as error:
            errors.append(error)

    thread = threading.Thread(target=build)
    thread.start()
    wait_until(lambda: started.exists() and started.read_text().endswith(" "))
    stop_commands()
    thread.join(PATIENCE_SECONDS)
    assert len(errors) == 1
    wait_until_gone([int(started.read_text())])
