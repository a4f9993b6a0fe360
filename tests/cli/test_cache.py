"""`photometer cache`: what it says, and that it clears."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from photometer.cli import cache as command
from photometer.environments.kept import KeptEnvironments, key_of
from photometer.instruments.cpp.cache import SnippetCache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SnippetCache:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path))
    cache = SnippetCache()
    with cache.scratch() as scratch:
        (scratch / "snippets.so").write_bytes(b"x" * 2 * 1024 * 1024)
        cache.publish(scratch / "snippets.so", {"0" * 32: (), "1" * 32: ()})
    return cache


def run(*arguments: str) -> str:
    app = typer.Typer()
    command.register(app)
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


def test_it_shows_where_and_how_much(cache: SnippetCache) -> None:
    output = run()
    assert output.splitlines()[0] == str(cache.folder)
    assert "2 snippets in 1 libraries, 2.0 MiB of at most 512 MiB" in output


def test_it_clears(cache: SnippetCache) -> None:
    assert "removed 2 snippets" in run("--clear")
    assert cache.usage().snippets == 0
    assert "0 snippets in 0 libraries" in run()


def test_environments_are_listed_and_removed(cache: SnippetCache, tmp_path: Path) -> None:
    kept = KeptEnvironments()
    keys = [key_of(name) for name in ("one", "two")]
    for key in keys:
        with kept.use(key, f"pip:torch {key[:2]}\x1b[31m", lambda folder: folder.mkdir(), [("made by", "uv")]):
            pass
    output = run("--only", "environments")
    assert "2 environments, 0.0 GiB of at most 40 GiB" in output
    assert all(key in output for key in keys)
    assert "\x1b" not in output
    assert "snippets" not in output
    output = run("--remove", keys[0][:6])
    assert "removed 1 environments" in output
    assert "uv cache prune" in output
    assert [each.key for each in kept.present()] == [keys[1]]
    assert "removed 0 environments" in run("--unused", "1")
    assert "removed 1 environments" in run("--unused", "0")


def test_a_name_that_fits_none_is_a_mistake(cache: SnippetCache) -> None:
    app = typer.Typer()
    command.register(app)
    assert CliRunner().invoke(app, ["--remove", "abc"]).exit_code == 2


def test_what_is_in_use_stays_and_is_named(cache: SnippetCache) -> None:
    kept = KeptEnvironments()
    with kept.use(key_of("one"), "pip:torch", lambda folder: folder.mkdir()):
        assert "in use" in run("--clear", "--only", "environments")
        assert len(kept.present()) == 1
    assert cache.usage().snippets == 2


def test_clearing_removes_what_is_remembered_of_compilers(cache: SnippetCache) -> None:
    own = [cache.folder / f"compiler-{'c' * 32}", cache.folder / f"compiler-{'c' * 32}.77"]
    for path in own:
        path.write_text("g++ 13")
    assert "was left" not in run("--clear")
    assert not any(path.exists() for path in own)


def test_clearing_leaves_the_files_of_others_and_names_them(cache: SnippetCache, tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    counts.mkdir(mode=0o700)
    kept = counts / f"{'a' * 40}.json"
    kept.write_text("{}")
    theirs = [
        cache.folder / "notes.txt",
        cache.folder / "sub" / "x.so",
        cache.folder / "build-mine" / "y",
        counts / "n.json",
    ]
    for path in theirs:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    output = run("--clear")
    assert all(path.read_text() == "mine" for path in theirs)
    assert all(
        name in output for name in (f"{path} was not removed" for path in ("notes.txt", "sub", "build-mine", "n.json"))
    )
    assert cache.usage().snippets == 0
    assert not kept.exists()


@pytest.mark.parametrize("part", ["cpp", "counts"])
def test_clearing_goes_through_no_link(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    behind = tmp_path / "behind"
    behind.mkdir(mode=0o700)
    files = [behind / f"{'0' * 32}.so", behind / f"{'0' * 40}.json", behind / "notes.txt"]
    for file in files:
        file.write_text("mine")
    root = tmp_path / "cache"
    root.mkdir(mode=0o700)
    (root / part).symlink_to(behind)
    monkeypatch.setenv("PHOTOMETER_CACHE", str(root))
    assert f"{root / part} was not removed: it is a link" in run("--clear")
    assert all(file.read_text() == "mine" for file in files)


def test_a_link_in_the_cache_is_left(cache: SnippetCache, tmp_path: Path) -> None:
    target = tmp_path / "target.so"
    target.write_text("mine")
    link = cache.folder / f"{'2' * 32}.so"
    link.symlink_to(target)
    assert f"{link} was not removed: it is a link" in run("--clear")
    assert link.is_symlink()
    assert target.read_text() == "mine"
