"""What comparisons on a cluster, and of many sides, do not have: an error that says so, before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.cli import main

TWO = ["current", "current", "--suite", "standard"]
THREE = ["current", "env:A=1", "env:A=2", "--suite", "standard"]


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ([*TWO, "--nodes", "2"], 2, "--nodes needs --on"),
        ([*TWO, "--on", "ray", "--flame", "all"], 2, "--flame all does not go with --on"),
        (["current", "--suite", "standard", "--calibrate", "--on", "ray"], 2, "--calibrate does not go with --on"),
        ([*TWO, "--on", "10.0.0.1:6379"], 1, "is not a cluster"),
        (["current", "git:WORKTREE", "--suite", "standard", "--on", "ray"], 1, "a working tree cannot be sent"),
        (["results.json", "current", "--suite", "standard", "--on", "ray"], 1, "cannot be compared on a cluster"),
        ([*THREE, "--on", "ray"], 2, "--on is for two sides"),
        ([*THREE, "--resume", "-o", "out"], 2, "--resume is for two sides"),
        ([*THREE, "--store", "history.db"], 2, "--store is for two sides"),
        ([*THREE, "--junit", "junit.xml"], 2, "--junit is for two sides"),
        (THREE[:3], 2, "more than two sides need --suite"),
    ],
)
def test_what_is_refused(
    arguments: list[str],
    status: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results.json").write_text("{}")
    with pytest.raises(SystemExit) as ended:
        main(["compare", *arguments])
    printed = capsys.readouterr()
    assert ended.value.code == status, printed.err
    # The frame of a usage error breaks lines.
    words = " ".join((printed.out + printed.err).replace("│", " ").split())
    assert told in words
