from __future__ import annotations

import errno
import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from photometer.errors import ResultsFileError
from photometer.model.results_folder import LOCK_NAME, hold_folder, make_results_folder
from tests.repositories import git, make_repository


def test_git_does_not_see_results(tmp_path: Path) -> None:
    make_repository(tmp_path)
    make_results_folder(tmp_path / "photometer-results" / "standard")
    (tmp_path / "photometer-results" / "standard" / "results.json").write_text("{}")
    make_results_folder(tmp_path / "photometer-results" / "other")
    (tmp_path / "photometer-results" / "other" / "results.json").write_text("{}")
    assert git(tmp_path, "status", "--porcelain") == ""


def test_a_folder_of_the_user_is_left_alone(tmp_path: Path) -> None:
    make_results_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []


HOLDER = """
import sys
from pathlib import Path
from photometer.model.results_folder import hold_folder
with hold_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the folder until its standard input is closed."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_folder_is_made_and_the_lock_file_is_gone_at_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    with hold_folder(folder):
        assert (folder / LOCK_NAME).exists()
    assert list(folder.iterdir()) == []


def test_the_second_is_told_who_holds_it_and_since_when(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    said = rf"process {holder.pid}, since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d, is writing its results here"
    with pytest.raises(ResultsFileError, match=re.escape(str(tmp_path)) + ": " + said) as caught, hold_folder(tmp_path):
        pass
    assert "name another folder" in str(caught.value)
    # Being refused takes nothing from the owner.
    assert (tmp_path / LOCK_NAME).exists()


def test_when_the_first_has_ended_the_second_may(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    assert holder.stdin is not None
    holder.stdin.close()
    holder.wait()
    with hold_folder(tmp_path):
        pass


def test_a_killed_run_holds_nothing(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / LOCK_NAME).exists()
    with hold_folder(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"\xff\0", b"[]", b'{"pid": "x"}', b"[" * 4000])
def test_an_owner_that_cannot_be_read_is_another_process(tmp_path: Path, content: bytes) -> None:
    with hold_folder(tmp_path):
        (tmp_path / LOCK_NAME).write_bytes(content)
        with pytest.raises(ResultsFileError, match="another process is writing"), hold_folder(tmp_path):
            pass


def test_one_of_many_threads_at_a_time(tmp_path: Path) -> None:
    """Takers that come while the owner removes its file must not hold a removed one."""
    inside, most, refused = 0, 0, 0

    def take() -> None:
        nonlocal inside, most, refused
        for _ in range(200):
            try:
                with hold_folder(tmp_path):
                    inside += 1
                    most = max(most, inside)
                    inside -= 1
            except ResultsFileError:
                refused += 1

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_locks_it_is_said_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.warns(UserWarning, match=rf"cannot be locked \({os.strerror(number)}\)"), hold_folder(tmp_path):
        (tmp_path / "results.json").touch()
    assert [entry.name for entry in tmp_path.iterdir()] == ["results.json"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ResultsFileError, match=r"cannot be written to(.|\n)*Name another folder"):
        hold_folder(tmp_path / "file").__enter__()


def test_a_full_disk_is_named_and_no_lock_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(ResultsFileError, match=f"^{tmp_path}: no space left on /"):
            hold_folder(tmp_path).__enter__()
    assert list(tmp_path.iterdir()) == []
    with hold_folder(tmp_path):
        pass
