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
        ([*TWO, "--on", "ray", "--flame", "all"], 2, "--flame all cannot be used with --on"),
        ([*TWO, "--on", "10.0.0.1:6379"], 1, "is not a cluster"),
        (["current", "git:WORKTREE", "--suite", "standard", "--on", "ray"], 1, "a working tree cannot be sent"),
        (["results.json", "current", "--suite", "standard", "--on", "ray"], 1, "cannot be compared on a cluster"),
        ([*THREE, "--on", "10.0.0.1:6379"], 1, "is not a cluster"),
        ([*THREE, "--flame", "all"], 2, "--flame all is for two sides"),
        ([*THREE, "--resume"], 2, "give that folder"),
        ([*THREE, "--store", "nowhere.sqlite"], 1, "nowhere.sqlite: there is no history store"),
        ([*THREE, "--fail-on", "slower:5"], 2, "Write 5% for per cent"),
        (THREE[:3], 1, "no suite is given"),
        (["results.json", *THREE[:2]], 1, "only two results files can be compared at a time"),
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
