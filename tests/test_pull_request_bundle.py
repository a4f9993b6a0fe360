from __future__ import annotations

import errno
import os
import zipfile
from pathlib import Path

import pytest

from photometer.errors import ResultsFileError
from photometer.pull_request import write_bundle


def test_files_and_texts_go_in_sorted_and_the_bytes_are_the_same_each_time(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_bytes(b"<svg/>")
    members: dict[str, Path | str] = {"z/ä.svg": tmp_path / "a.svg", "README.txt": "hällo\n"}
    first = write_bundle(tmp_path / "new" / "bundle.zip", members).read_bytes()
    (tmp_path / "a.svg").touch()
    assert write_bundle(tmp_path / "new" / "bundle.zip", dict(reversed(members.items()))).read_bytes() == first
    with zipfile.ZipFile(tmp_path / "new" / "bundle.zip") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["README.txt", "z/ä.svg"]
        assert archive.read("README.txt").decode() == "hällo\n"
        assert archive.read("z/ä.svg") == b"<svg/>"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["bundle.zip"]


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "", "C:x", "a\\b"])
def test_no_member_unpacks_elsewhere(name: str, tmp_path: Path) -> None:
    with pytest.raises(ResultsFileError, match="cannot be a name"):
        write_bundle(tmp_path / "bundle.zip", {name: "x"})


def test_an_old_bundle_stays_where_a_new_one_fails(tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "bundle.zip", {"a": "1"})
    before = path.read_bytes()
    with pytest.raises(ResultsFileError, match="cannot be written"):
        write_bundle(path, {"a": tmp_path / "missing"})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_named_with_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_bundle(tmp_path / "bundle.zip", {"a": "1"})
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(ResultsFileError, match=rf"no space left on /\S*; the files for it are in {tmp_path}\n"):
        write_bundle(path, {"a": "2"})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
