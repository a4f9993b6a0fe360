"""Temporary folders: named after their owner, gone with it, and removed by a later photometer if it was killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from photometer.session.left_behind import namespace_mark, private_folder, remove_left_behind, remove_own

STALE_FOLDERS = 3000
STARTS = 4


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    remove_left_behind.cache_clear()
    return folder


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_private_folder_is_named_after_its_owner_and_gone_at_the_end(temporary: Path) -> None:
    with private_folder("py-spy") as folder:
        (folder / "file").write_text("x")
        assert folder.parent == temporary
        assert folder.name.startswith(f"photometer-{os.getpid():010d}-{namespace_mark()}py-spy-")
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(("mine", "theirs"), [("", "n1a2b-"), ("n1a2b-", ""), ("n1a2b-", "n1a2c-")])
def test_what_others_with_other_pids_have_is_left(
    mine: str, theirs: str, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container and its machine may share the folder for temporary files; a pid of one is nobody's in the other."""
    monkeypatch.setattr("photometer.session.left_behind.namespace_mark", lambda: mine)
    for pid in (dead_pid(), os.getpid()):
        for mark in (mine, theirs):
            (temporary / f"photometer-{pid:010d}-{mark}check-abcd1234").mkdir()
    assert remove_left_behind() == 1
    remove_own()
    assert len([*temporary.iterdir()]) == 2
    assert all(f"-{theirs}check-" in folder.name for folder in temporary.iterdir())


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root of Linux can make a PID namespace")
def test_a_photometer_in_a_container_leaves_the_folders_of_the_machine(temporary: Path) -> None:
    if subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], check=False).returncode != 0:
        pytest.skip("no PID namespace can be made here")
    script = "from photometer.session.left_behind import make_folder; print(make_folder().name)"
    with private_folder() as folder:
        done = subprocess.run(
            ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", script],
            env={**os.environ, "TMPDIR": str(temporary)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert folder.is_dir()
        assert done.stdout.strip() in [each.name for each in temporary.iterdir()]
        assert len(done.stdout.strip()) == len(folder.name) - len(namespace_mark()) + len("n0000-")


def test_what_an_ending_process_still_puts_there_is_removed(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remove, late = shutil.rmtree, [True, True]

    def remove_and_write(folder: Path, **options: Any) -> None:
        remove(folder, **options)
        if late:
            folder.mkdir()
            (folder / "log").touch()
            late.pop()

    monkeypatch.setattr(shutil, "rmtree", remove_and_write)
    with private_folder():
        pass
    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_nothing_else(temporary: Path) -> None:
    script = (
        "import os, signal\nfrom photometer.session.left_behind import private_folder\n"
        "held = [private_folder(purpose) for purpose in ('py-spy', 'check', 'probes', 'browser', 'scripting')]\n"
        "for each in held:\n    each.__enter__()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(temporary)}, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(temporary.iterdir())) == 5
    (temporary / "photometer-notes").mkdir()
    (temporary / f"photometer-{os.getpid():010d}-check-mine").mkdir()
    (temporary / "photometer-link").symlink_to(temporary)
    assert remove_left_behind() == 5
    assert len(list(temporary.iterdir())) == 3


@pytest.mark.lengthy
def test_starts_at_once_with_many_stale_folders(temporary: Path) -> None:
    pid = dead_pid()
    for number in range(STALE_FOLDERS):
        folder = temporary / f"photometer-{pid:010d}-{namespace_mark()}probes-{number:04d}"
        folder.mkdir()
        (folder / "file").touch()
    # All wait for a line, so that they begin together.
    script = (
        "import sys\nfrom photometer.session.left_behind import private_folder\nsys.stdin.readline()\n"
        "with private_folder('check') as folder:\n    assert folder.is_dir()\n"
    )
    environment = {**os.environ, "TMPDIR": str(temporary)}
    starts = [
        subprocess.Popen([sys.executable, "-c", script], env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(STARTS)
    ]
    for start in starts:
        assert start.stdin is not None
        start.stdin.write(b"\n")
        start.stdin.flush()
    said = [start.communicate()[1] for start in starts]
    assert [start.returncode for start in starts] == [0] * STARTS, said
    assert list(temporary.iterdir()) == []
