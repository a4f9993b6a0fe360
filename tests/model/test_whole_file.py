"""Files on a disk that is full: nothing that was there is lost, and the error says what is the matter."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from photometer.errors import ResultsFileError
from photometer.model.results_file import ResultsFile
from photometer.model.results_reader import load_results
from photometer.model.whole_file import not_written, write_text_whole

TMPFS_BYTES = 64 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 64 KB."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={TMPFS_BYTES}", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


class FillingDisk:
    """Stands for os.write: takes so many bytes more, a part of a write at the end, then says that it is full."""

    def __init__(self, room: int, number: int) -> None:
        self._room = room
        self._number = number
        self._write = os.write

    def __call__(self, descriptor: int, content: bytes | memoryview) -> int:
        part = bytes(content)[: self._room]
        if not part:
            raise OSError(self._number, os.strerror(self._number))
        self._room -= len(part)
        return self._write(descriptor, part)


def record(number: int) -> dict[str, object]:
    return {"kind": "failure", "n": number, "text": "x" * 500}


def numbers(path: Path) -> list[int]:
    return [each["n"] for each in load_results(path).records]


def test_appending_until_the_disk_is_full(small_disk: Path) -> None:
    path = small_disk / "r.json"
    file = ResultsFile.create(path)
    kept = 0

    def append_for_ever() -> None:
        nonlocal kept
        while True:
            file.append(record(kept))
            kept += 1

    with pytest.raises(ResultsFileError) as caught:
        append_for_ever()
    assert f"no space left on {small_disk}; all {kept} records before this one can be read" in caught.value.message
    assert numbers(path) == list(range(kept))
    # The file is whole, and goes on as soon as there is room.
    path.write_bytes(b"\n".join(path.read_bytes().split(b"\n")[:3]))
    file.append(record(99))
    assert numbers(path) == [0, 1, 99]


def test_a_file_that_has_no_room_is_not_made_and_the_former_stays(small_disk: Path) -> None:
    path = small_disk / "r.json"
    ResultsFile.create(path, records=[record(1)])
    many = [record(number) for number in range(200)]
    with pytest.raises(ResultsFileError, match=rf"no space left on {small_disk}; what was there before is kept"):
        ResultsFile.create(path, records=many, overwrite=True)
    with pytest.raises(ResultsFileError, match=rf"no space left on {small_disk}\n"):
        ResultsFile.create(small_disk / "new.json", records=many)
    assert numbers(path) == [1]
    assert [entry.name for entry in small_disk.iterdir()] == ["r.json"]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "no space left on /"),
        (errno.EDQUOT, "your quota is used up on /"),
        (errno.EIO, "cannot be written to: Input/output error"),
    ],
)
@pytest.mark.parametrize("room", [0, 1, 5, 100, 530])
def test_a_write_that_breaks_off_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, number: int, words: str
) -> None:
    path = tmp_path / "r.json"
    file = ResultsFile.create(path, records=[record(1), record(2)])
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", FillingDisk(room, number))
        with pytest.raises(ResultsFileError) as caught:
            file.append(record(3))
    assert words in caught.value.message
    assert "all 2 records before this one can be read" in caught.value.message
    assert caught.value.remedy
    assert [each["n"] for each in load_results(path, recover=True).records] == [1, 2]
    file.append(record(4))
    assert numbers(path) == [1, 2, 4]


def test_a_limit_of_the_system(tmp_path: Path) -> None:
    """A real write that is cut short: the kernel takes what fits below the limit, then refuses."""
    path = tmp_path / "r.json"
    ResultsFile.create(path, records=[record(1)])
    script = (
        "import resource, sys\nfrom photometer.model.results_file import ResultsFile\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({path.stat().st_size + 50}, {resource.RLIM_INFINITY}))\n"
        "ResultsFile(sys.argv[1]).append({'kind': 'failure', 'n': 2, 'text': 'x' * 500})\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert "ResultsFileError" in done.stderr
    assert "cannot be written to: File too large; the one record before this one can be read" in done.stderr
    assert numbers(path) == [1]


def test_a_report_on_a_full_disk_leaves_the_former(small_disk: Path) -> None:
    path = small_disk / "report.html"
    write_text_whole(path, "first")
    with pytest.raises(ResultsFileError, match=rf"report.html: no space left on {small_disk}; all is in r.json"):
        write_text_whole(path, "x" * 2 * TMPFS_BYTES, kept="all is in r.json")
    assert path.read_text() == "first"
    assert list(small_disk.iterdir()) == [path]


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("there is no /dev/full")
    with pytest.raises(ResultsFileError, match="/dev/full: no space left on /dev"):
        write_text_whole(full, "text")
    with pytest.raises(ResultsFileError, match="/dev/full: is not a file"):
        ResultsFile.create(full, overwrite=True)
    with pytest.raises(ResultsFileError, match=r"/dev/full: cannot be appended to: it is not a file"):
        ResultsFile(full)
    assert full.is_char_device()


def test_what_a_link_points_to_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "file")
    write_text_whole(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_another_reason_is_given_as_it_is(tmp_path: Path) -> None:
    error = not_written(tmp_path / "x", OSError(errno.EROFS, "Read-only file system"), remedy="Name another.")
    assert "x: cannot be written to: Read-only file system" in error.message
    assert error.remedy == "Name another."


def test_text_that_is_no_unicode_is_escaped(tmp_path: Path) -> None:
    write_text_whole(tmp_path / "x", "a\ud800\r\n")
    assert (tmp_path / "x").read_bytes() == b"a\\ud800\r\n"
