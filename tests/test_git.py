"""The one runner of git: what it passes on, what it keeps away, and what its errors carry."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

import photometer
from photometer.errors import EnvironmentSpecError
from photometer.git import git_text, run_git
from tests.guards.sources import parsed

SOURCE = Path(photometer.__file__).parent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run_git(tmp_path, "init", "-q")
    return tmp_path


def test_what_is_given_arrives_and_comes_back_as_bytes_or_text(folder: Path) -> None:
    name = run_git(folder, "hash-object", "-w", "--stdin", given=b"\xff text\n").decode().strip()
    assert run_git(folder, "cat-file", "blob", name) == b"\xff text\n"
    assert git_text(folder, "cat-file", "blob", name) == "\udcff text"
    assert git_text(folder, "cat-file", "blob", name, errors="replace") == "\ufffd text"


def test_an_error_has_the_command_its_status_and_what_git_said(folder: Path) -> None:
    with pytest.raises(EnvironmentSpecError) as caught:
        run_git(folder, "cat-file", "-e", "nothing^{commit}", failed="it is not there", remedy="Look elsewhere.")
    error = caught.value
    assert (error.message, error.remedy) == ("it is not there", "Look elsewhere.")
    assert error.command is not None
    assert error.command[-3:] == ("cat-file", "-e", "nothing^{commit}")
    assert error.exit_status == 128
    assert "fatal" in str(error.log)


def test_a_missing_and_a_slow_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(EnvironmentSpecError, match="not installed"):
        run_git(folder, "status")
    program = folder / "git"
    program.write_text("#!/bin/sh\nexec /bin/sleep 30\n")
    with pytest.raises(EnvironmentSpecError, match="could not be run"):
        run_git(folder, "status")
    program.chmod(0o755)
    with pytest.raises(EnvironmentSpecError, match=r"within 0\.2 s"):
        run_git(folder, "status", seconds=0.2)


def test_the_users_settings_change_nothing_and_run_no_program(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those who check signatures by default saw no authors and no messages in their history."""
    header = run_git(folder, "mktree").decode().strip()
    person = "Zoë <z@example.org> 1700000000 +0000"
    text = f"tree {header}\nauthor {person}\ncommitter {person}\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n"
    text += " -----END PGP SIGNATURE-----\n\nmessage é\n"
    commit = run_git(folder, "hash-object", "-w", "-t", "commit", "--stdin", given=text.encode()).decode().strip()
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/has-run\necho Signature made >&2\n")
    program.chmod(0o755)
    (tmp_path / ".gitconfig").write_text(
        f"[log]\nshowSignature = true\n[gpg]\nprogram = {program}\n[core]\nfsmonitor = {program}\n"
        "[i18n]\nlogOutputEncoding = latin1\n[color]\nui = always\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    assert git_text(folder, "log", "-1", "--format=%an %s", commit) == "Zoë message é"
    git_text(folder, "status", "--porcelain")
    assert not (tmp_path / "has-run").exists()


def test_the_variables_of_a_hook_do_not_lead_elsewhere(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other")
    run_git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert Path(git_text(folder, "rev-parse", "--show-toplevel")) == folder.resolve()


def test_hooks_of_the_user_do_not_run(folder: Path) -> None:
    hook = folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    (folder / "file").write_text("1")
    run_git(folder, "add", "file")
    tree = git_text(folder, "write-tree")
    names = {f"GIT_{who}_{what}": "n" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    commit = git_text(folder, "commit-tree", tree, "-m", "one", variables=names)
    run_git(folder, "checkout", "--quiet", commit)
    assert not (folder / "ran").exists()
    subprocess.run(["git", "-C", str(folder), "checkout", "--quiet", commit], check=True)
    assert (folder / "ran").exists(), "the hook is one that git would run"


def test_nothing_else_runs_git() -> None:
    def names_git(node: ast.AST) -> bool:
        first = node.elts[0] if isinstance(node, ast.List | ast.Tuple) and node.elts else None
        return isinstance(first, ast.Constant) and first.value == "git"

    found = [p for p in SOURCE.rglob("*.py") if any(map(names_git, ast.walk(parsed(p))))]
    assert [path.relative_to(SOURCE).as_posix() for path in found] == ["git.py"]
