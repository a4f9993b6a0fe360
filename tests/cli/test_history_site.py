"""`photometer history publish` and `photometer history serve` as a user runs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from photometer.cli import main
from photometer.history.store import open_store
from tests.history.site.made_history import fill_store, some_benchmarks
from tests.history.site.read_site import site_data


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "history.sqlite"
    with open_store(path, create=True) as store:
        fill_store(store, some_benchmarks(20), 20)
    return path


def test_publish_says_what_it_wrote_and_where(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTOMETER_STORE", str(place))
    with pytest.raises(SystemExit) as ended:
        main(["history", "publish", str(tmp_path / "a" / "site"), "--commit-url", "https://forge.example/c/{sha}"])
    assert ended.value.code == 0
    said = capsys.readouterr()
    assert said.out == f"{tmp_path}/a/site/index.html\n"
    assert said.err.startswith("4 benchmarks, 20 commits, 5 changes: 29 files, ")
    index = site_data(tmp_path / "a" / "site" / "index.html", "index")
    assert index["title"] == "forge.example/torch"
    assert index["commit_url"] == "https://forge.example/c/{sha}"


def test_a_bad_pattern_or_store_is_an_error_with_a_remedy(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for options, words in (
        (["--store", str(place), "--commit-url", "file:///{sha}"], "must begin with https"),
        (["--store", str(tmp_path / "none.sqlite")], "there is no history store"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["history", "publish", str(tmp_path / "site"), *options])
        assert ended.value.code == 1
        assert words in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_a_folder_that_cannot_be_made_is_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["history", "publish", str(place / "site"), "--store", str(place)])
    assert ended.value.code == 1
    assert "cannot be written to" in capsys.readouterr().err


@pytest.mark.slow
def test_serve_says_its_address_and_ends_on_ctrl_c(place: Path) -> None:
    command = [sys.executable, "-m", "photometer", "history", "serve", "--store", str(place), "--port", "0"]
    served = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        assert served.stdout is not None
        address = served.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{address}data/index.js", timeout=60) as reply:
            assert reply.read().startswith(b'photometerData("index"')
    finally:
        served.send_signal(signal.SIGINT)
        _, said = served.communicate(timeout=60)
    assert served.returncode == 0, said
    assert "Traceback" not in said
