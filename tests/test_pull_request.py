"""Two revisions of torch-function code, one of them slower in one rung: from `photometer compare` to the bundle."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from photometer.errors import ResultsFileError
from photometer.instruments.browser import VARIABLE, png_size, svg_size
from photometer.model.results_reader import load_results
from photometer.pull_request import write_bundle
from tests.instruments.png_pixels import colours_of
from tests.photometer_command import photometer
from tests.repositories import make_repository

pytestmark = pytest.mark.warm

SVG = "{http://www.w3.org/2000/svg}"
TENSORS = """\
import torch


class SubTensor(torch.Tensor):
    pass


class SubWithTorchFunction(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs)


def plain_of(values):
    return [value.plain for value in values]


class WithTorchFunction:
    def __init__(self, plain):
        self.plain = plain

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return cls(func(*plain_of(args), **(kwargs or {})))
"""
GUILTY = """\
def look_at_every_type(types):
    return all(issubclass(each, WithTorchFunction) for each in types for _ in range(200))


class WithTorchFunction:"""
SUITE = """\
import dataclasses
from photometer.suites.overrides import CALLS, RUNGS, ladder

OWN = ("SubTensor", "WithTorchFunction", "SubWithTorchFunction")
BENCHMARKS = ladder(
    [
        dataclasses.replace(rung, definitions=f"from my_tensors import {rung.name}") if rung.name in OWN else rung
        for rung in RUNGS
    ],
    CALLS[:1],
)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    slower = TENSORS.replace("class WithTorchFunction:", GUILTY)
    slower = slower.replace("        return cls(func(", "        look_at_every_type(types)\n        return cls(func(")
    (tmp_path / "suite.py").write_text(SUITE)
    return make_repository(tmp_path / "repository", {"my_tensors.py": TENSORS}, {"my_tensors.py": slower})


def compare(repository: Path, *more: str, browser: str | None = None) -> subprocess.CompletedProcess[str]:
    sides = ("git:HEAD~1", "git:HEAD", "--suite", "../suite.py")
    options = ("--no-instructions", "--no-memory", "--layouts", "1", "--margin", "0.5", "-o", "../out", *more)
    variables = {} if browser is None else {VARIABLE: browser}
    return photometer("compare", *sides, *options, cwd=repository, **variables)


@pytest.mark.pyspy
@pytest.mark.browser
@pytest.mark.slow
def test_the_bundle_names_the_slower_rung_and_shows_the_guilty_function(repository: Path) -> None:
    done = compare(repository, "-k", "classic", "--budget", "120")
    assert done.returncode == 3, done.stdout + done.stderr
    out = repository.parent / "out"
    with zipfile.ZipFile(out / "bundle.zip") as archive:
        assert archive.testzip() is None
        names = set(archive.namelist())
        graphs = {
            f"flame-graphs/{side}-overridden.{kind}"
            for side in ("base", "branch", "changed")
            for kind in ("svg", "png")
        }
        assert {name for name in names if name.startswith("flame-graphs/")} == graphs
        assert names - graphs == {
            *("README.txt", "report.md", "report.html", "comparison.json", "base.json", "branch.json", "machine.json")
        }
        texts = {name: archive.read(name).decode() for name in names if not name.endswith(".png")}

    verdicts = {
        record["title"]: record["verdict"]["verdict"]
        for record in load_results(out / "comparison.json").records
        if record["kind"] == "comparison"
    }
    assert len(verdicts) == 4
    slower = [title for title, verdict in verdicts.items() if verdict == "slower"]
    assert len(slower) == 1
    assert "WithTorchFunction" in slower[0]
    assert "SubWithTorchFunction" not in slower[0]
    assert "faster" not in verdicts.values()

    assert added_frames(texts["flame-graphs/changed-overridden.svg"]) >= {"look_at_every_type (my_tensors.py)"}
    assert "look_at_every_type" in texts["flame-graphs/branch-overridden.svg"]
    assert "look_at_every_type" not in texts["flame-graphs/base-overridden.svg"]
    for name in graphs:
        if name.endswith(".png"):
            picture = out / name
            assert png_size(picture) == svg_size(picture.with_suffix(".svg"))
            colours = colours_of(picture)
            # Not blank, and not the white page with a title alone.
            assert len(colours) > 20
            assert colours[(255, 255, 255)] < 0.9 * colours.total()

    assert "photometer compare 'git:HEAD~1' git:HEAD --suite" in texts["README.txt"]
    assert "1 slower of 4" in texts["README.txt"]
    assert json.loads(texts["machine.json"])["logical_cores"] >= 1
    for side in ("base", "branch"):
        measured = load_results(out / f"{side}.json")
        assert {record["order"]["label"][-1] for record in measured.records} == {
            *("Tensor", "SubTensor", "WithTorchFunction", "SubWithTorchFunction")
        }


@pytest.mark.pyspy
@pytest.mark.nightly
def test_without_a_browser_there_is_all_but_the_pictures(repository: Path) -> None:
    done = compare(
        repository,
        *("-k", "classic and (SubTensor or WithTorchFunction) and not SubWith", "--budget", "120", "--flame", "all"),
        browser="/nowhere/browser",
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "PHOTOMETER_BROWSER names /nowhere/browser" in done.stderr
    with zipfile.ZipFile(io.BytesIO((repository.parent / "out" / "bundle.zip").read_bytes())) as archive:
        graphs = {name for name in archive.namelist() if name.startswith("flame-graphs/")}
        names = ("subtensor", "overridden")
        assert graphs == {f"flame-graphs/{side}-{name}.svg" for side in ("base", "branch", "changed") for name in names}
        assert "What is missing" in archive.read("README.txt").decode()


def added_frames(text: str) -> set[str]:
    """The names of the frames that only the branch has."""
    groups = ElementTree.fromstring(text).iter(f"{SVG}g")
    return {str(g.findtext(f"{SVG}title")).split("\n")[0] for g in groups if g.get("class") == "frame new"}


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
