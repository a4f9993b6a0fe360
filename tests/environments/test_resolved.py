"""From a spec to an environment: paths first, settings kept, and the user's install command in a fresh venv."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from photometer.environments.kept import KeptEnvironments
from photometer.environments.resolved import Making, install_words, resolve_environment, resolve_environments
from photometer.environments.spec import parse_environment
from photometer.environments.worktree import Worktrees, branch_of
from photometer.errors import EnvironmentSpecError, LimitReached
from photometer.git import git_text
from tests.repositories import make_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository", {"src/package/__init__.py": ""})


def test_settings_need_no_checkout() -> None:
    with Worktrees() as worktrees:
        side = resolve_environment(parse_environment("env:A=1"), worktrees)
    assert side.environment.python == sys.executable
    assert side.environment.variables == (("A", "1"),)
    assert side.name == "env:A=1"
    assert side.identity()["commit"] is None


def test_the_users_own_way_of_waiting_stands() -> None:
    with Worktrees() as worktrees:
        side = resolve_environment(parse_environment("env:OMP_WAIT_POLICY=active"), worktrees)
    assert side.environment.variables == (("OMP_WAIT_POLICY", "active"),)


def test_extra_paths_of_any_length_look_alike(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "longer-name").mkdir()
    with Worktrees() as worktrees:
        paths = [
            resolve_environment(parse_environment(f"path:{name}", tmp_path), worktrees).environment.path[0]
            for name in ("a", "longer-name")
        ]
    assert len(paths[0]) == len(paths[1])
    assert [Path(path).resolve().name for path in paths] == ["a", "longer-name"]


def test_a_revision_comes_first_on_the_path(repository: Path) -> None:
    with Worktrees() as worktrees:
        side = resolve_environment(parse_environment("git:HEAD", repository), worktrees)
        assert side.checkout is not None
        assert side.environment.path[0] == str(side.checkout.folder / "src")
        assert side.imports_checkout
        assert side.name == f"git:HEAD ({side.checkout.commit[:10]})"
        # Two runs of the same comparison agree on what is compared, whatever the temporary folders are called.
        again = resolve_environment(parse_environment("git:HEAD", repository), worktrees)
        assert again.identity() == side.identity()


def test_a_working_tree_is_called_by_its_branch(repository: Path) -> None:
    git_text(repository, "checkout", "--quiet", "-b", "faster-gate")
    with Worktrees() as worktrees:
        side = resolve_environment(parse_environment("git:WORKTREE", repository), worktrees)
        assert side.checkout is not None
        assert side.name == f"faster-gate ({side.checkout.name})"
        assert side.identity()["spec"] == "git:WORKTREE"
    git_text(repository, "checkout", "--quiet", "--detach")
    assert branch_of(repository, {}) == ""
    assert branch_of(repository, {"GITHUB_HEAD_REF": "of-a-fork"}) == "of-a-fork"


def test_results_cannot_be_started(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("{}")
    with Worktrees() as worktrees, pytest.raises(EnvironmentSpecError, match="cannot be started"):
        resolve_environment(parse_environment("old.json", tmp_path), worktrees)


SLEEPS = 'python -c "import time; print(1, flush=True); time.sleep(600)"'


def left_behind() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob(f"photometer-{os.getpid():010d}-*"))


def test_making_can_be_interrupted_and_leaves_nothing(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    before = left_behind()

    def interrupted(text: str) -> None:
        assert text == "making git:HEAD"
        raise KeyboardInterrupt

    specs = [parse_environment("git:HEAD", repository)] * 2
    with Worktrees() as worktrees, pytest.raises(KeyboardInterrupt):
        resolve_environments(specs, worktrees, install=SLEEPS, making=Making(interrupted))
    # What an earlier test has left to a process that is ending may go meanwhile.
    assert left_behind() <= before
    assert KeptEnvironments().present() == []
    assert not [entry for entry in KeptEnvironments().folder.iterdir() if entry.name != "locks"]


def test_the_limit_bounds_making_and_names_what_took_the_time(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    told: list[str] = []
    making = Making(told.append, seconds_left=lambda: 1.0 if not told else 0.0)
    with Worktrees() as worktrees, pytest.raises(LimitReached, match="of making git:HEAD; nothing was measured"):
        resolve_environments([parse_environment("git:HEAD", repository)], worktrees, install=SLEEPS, making=making)
    assert told == ["making git:HEAD"]
    assert KeptEnvironments().present() == []


@pytest.mark.parametrize(("command", "told"), [("'", "quot"), ("", "is empty")])
def test_install_commands_that_cannot_be(repository: Path, command: str, told: str) -> None:
    with Worktrees() as worktrees, pytest.raises(EnvironmentSpecError, match=told):
        resolve_environment(parse_environment("git:HEAD", repository), worktrees, install=command)


@pytest.mark.parametrize(
    "command",
    [
        "echo oops; exit 7",
        "make && make install",
        "make | tee log",
        "pip install . > log",
        "pip install $X",
        "echo `x`",
        'echo "$X"',
        "sleep 1 &",
        "python <in",
        "make\nexit 7",
    ],
)
def test_what_only_a_shell_understands_is_refused_with_a_remedy(repository: Path, command: str) -> None:
    with Worktrees() as worktrees, pytest.raises(EnvironmentSpecError, match="only a shell understands") as refused:
        resolve_environment(parse_environment("git:HEAD", repository), worktrees, install=command)
    assert "bash install.sh" in str(refused.value)


def test_quoted_text_is_no_business_of_a_shell() -> None:
    assert install_words("python -c \"import sys; print('a|b')\"")[2] == "import sys; print('a|b')"
    assert install_words("python -c 'print(\"$x; `\")'")[2] == 'print("$x; `")'
    assert install_words("touch a\\;b") == ["touch", "a;b"]
