"""Folders that code is loaded from: private when made, refused if others may have written to them."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from photometer.errors import CacheError, EnvironmentSpecError
from photometer.model.code_folder import code_folder_locked, filling, make_code_folder

NOBODY = 65534


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0o000)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_every_folder_that_is_made_is_private(tmp_path: Path) -> None:
    folder = make_code_folder(tmp_path / "home" / "cache" / "models" / "2.9", below=tmp_path / "home" / "cache")
    for made in (folder, *folder.parents[:3]):
        assert made.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("part", ["models", "models/2.9"])
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path, part: str, mode: int) -> None:
    folder = make_code_folder(tmp_path / "models" / "2.9", below=tmp_path)
    (tmp_path / part).chmod(mode)
    with pytest.raises(CacheError, match=rf"others may write to the cache folder \S+{part};(.|\n)*chmod 700"):
        make_code_folder(folder, below=tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("part", ["models", "models/2.9"])
def test_a_folder_of_another_user_is_refused(tmp_path: Path, part: str) -> None:
    folder = make_code_folder(tmp_path / "models" / "2.9", below=tmp_path)
    os.chown(tmp_path / part, NOBODY, -1)
    with pytest.raises(CacheError, match=rf"{part} belongs to another user \(uid {NOBODY}\)"):
        make_code_folder(folder, below=tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_shared_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    # Sticky or not: its owner may put another folder in the place of ours.
    shared.chmod(0o1755)
    os.chown(shared, NOBODY, -1)
    with pytest.raises(CacheError, match=rf"shared belongs to another user \(uid {NOBODY}\)"):
        make_code_folder(shared / "cpp")


def test_a_folder_that_all_share_must_be_sticky(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(CacheError, match=r"all users may replace what is in (.|\n)*chmod \+t"):
        make_code_folder(shared / "cpp")
    shared.chmod(0o1777)
    assert make_code_folder(shared / "cpp").is_dir()


def test_without_locks_it_is_said_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.warns(UserWarning, match="cannot be locked"), code_folder_locked(tmp_path) as locked:
        assert not locked


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
        EnvironmentSpecError(
            "it cannot be installed", log="error: failed to write: No space left on device (os error 28)"
        ),
    ],
    ids=["disk", "quota", "installer"],
)
def test_a_full_cache_is_named_with_its_remedy(error: Exception, tmp_path: Path) -> None:
    named = pytest.raises(CacheError, match=rf"no space left for the cache folder {tmp_path}(.|\n)*PHOTOMETER_CACHE")
    with named, filling(tmp_path), filling(tmp_path / "within"):
        raise error


@pytest.mark.parametrize(
    "error", [FileNotFoundError(2, "No such file"), EnvironmentSpecError("there is no such package")]
)
def test_other_errors_stay(error: Exception, tmp_path: Path) -> None:
    with pytest.raises(type(error)) as same, filling(tmp_path):
        raise error
    assert same.value is error
