"""Scripting of models: kept whole, in folders that only this user may write to, with nothing left beside them."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest

from photometer.errors import CacheError, SnippetError
from photometer.execution.executor import ScriptModel
from photometer.execution.prepare import script_model
from photometer.session.session import Session
from photometer.worker.messages import Prepare

MODEL = """
from pathlib import Path

class Model:
    def save(self, path):
        Path(path).write_text("a model")

jit_model = Model()
"""


class ChildHere:
    def ask(self, request: Prepare, timeout_seconds: float) -> None:
        exec(request.setup, {})


class SessionHere:
    """Runs set-ups in this process."""

    @contextlib.contextmanager
    def child(self, kind: object = None, cores: Sequence[int] = ()) -> Iterator[ChildHere]:
        yield ChildHere()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def script(target: Path, source: str = MODEL) -> None:
    script_model(cast(Session, SessionHere()), ScriptModel(source, str(target), 10.0, ()))


def test_a_model_is_kept_and_nothing_else(tmp_path: Path, temporary: Path) -> None:
    target = tmp_path / "cache" / "models" / "2.9-a" / "m.pt"
    script(target)
    assert target.read_text() == "a model"
    assert sorted(entry.name for entry in target.parent.iterdir()) == ["lock", "m.pt"]
    assert list(temporary.iterdir()) == []
    assert [folder.stat().st_mode & 0o777 for folder in target.parents[:3]] == [0o700] * 3


def test_what_a_killed_run_has_left_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "cache" / "models" / "2.9-a" / "m.pt"
    script(target)
    target.with_suffix(".new").write_text("half a mod")
    script(target)
    assert sorted(entry.name for entry in target.parent.iterdir()) == ["lock", "m.pt"]


def test_a_model_that_cannot_be_made_leaves_nothing(tmp_path: Path, temporary: Path) -> None:
    target = tmp_path / "cache" / "models" / "2.9-a" / "m.pt"
    with pytest.raises(SnippetError):
        script(target, "from photometer.errors import SnippetError\nraise SnippetError('no')")
    assert not target.exists()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("level", [0, 1])
def test_models_are_not_loaded_from_a_folder_that_others_may_write_to(tmp_path: Path, level: int) -> None:
    target = tmp_path / "cache" / "models" / "2.9-a" / "m.pt"
    script(target)
    target.parents[level].chmod(0o777)
    with pytest.raises(CacheError, match="others may write to the cache folder"):
        script(target)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("level", [0, 1])
def test_models_are_not_loaded_from_a_folder_of_another_user(tmp_path: Path, level: int) -> None:
    target = tmp_path / "cache" / "models" / "2.9-a" / "m.pt"
    script(target)
    os.chown(target.parents[level], 65534, -1)
    with pytest.raises(CacheError, match=r"belongs to another user \(uid 65534\)"):
        script(target)
