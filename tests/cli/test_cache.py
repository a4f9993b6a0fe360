"""`photometer cache`: what it says, and that it clears."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from photometer.cli import cache as command
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
