"""Two revisions of a package with a C extension: without a build one message says how, with one they are compared."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from photometer import TimerArgs
from photometer.comparing.environments import live_comparison
from photometer.comparing.request import ComparisonRequest, ComparisonSettings
from photometer.comparing.source import Observer
from photometer.environments.kept import KeptEnvironments
from photometer.errors import CannotRun, EnvironmentSpecError, LimitReached
from tests.environments.extension_project import INSTALL, make_project

SUITE = {name: TimerArgs(f"pile({name})", setup="from stones import pile") for name in ("1000", "2000")}

pytestmark = [pytest.mark.slow, pytest.mark.compiler]


class Stages(Observer):
    def __init__(self) -> None:
        self.told: list[str] = []

    def stage(self, text: str) -> None:
        self.told.append(text)


@pytest.fixture
def request_of_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ComparisonRequest:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    project = make_project(tmp_path / "project")
    settings = ComparisonSettings(budget_seconds=60.0, instructions=False, memory=False)
    return ComparisonRequest((f"git:HEAD~1@{project}", f"git:HEAD@{project}"), SUITE, settings)


def test_without_a_build_it_is_said_once_and_nothing_is_measured(request_of_both: ComparisonRequest) -> None:
    stages = Stages()
    with live_comparison(request_of_both, stages) as comparison, pytest.raises(CannotRun) as told:
        comparison.run()
    assert "cannot be imported from its checkout" in told.value.message
    assert "setup.py has ext_modules" in told.value.message
    assert '--install "pip install ."' in str(told.value)
    assert not any("measuring" in text for text in stages.told)


def test_with_a_build_they_are_made_once_and_compared(request_of_both: ComparisonRequest) -> None:
    request = dataclasses.replace(request_of_both, install=INSTALL)
    stages = Stages()
    with live_comparison(request, stages) as comparison:
        result = comparison.run()
    assert {each.judged.verdict for each in result} == {"slower"}
    # What takes long is announced again, with the seconds so far.
    made = [text for text in stages.told if text.startswith("making git:") and not text.endswith(" s)")]
    assert sorted(made) == ["making git:HEAD", "making git:HEAD~1"]
    kept = {each.key for each in KeptEnvironments().present()}
    assert len(kept) == 2
    again = Stages()
    with live_comparison(request, again):
        assert not any(text.startswith("making git:") for text in again.told)
    assert {each.key for each in KeptEnvironments().present()} == kept


def test_a_build_that_fails_shows_the_end_of_its_log(request_of_both: ComparisonRequest) -> None:
    install = "python -c \"print('compiling'); raise SystemExit('no compiler')\""
    request = dataclasses.replace(request_of_both, install=install)
    with pytest.raises(EnvironmentSpecError, match="could not be made") as told, live_comparison(request):
        pass
    assert "no compiler" in str(told.value.log)
    assert KeptEnvironments().present() == []


def test_the_limit_bounds_the_making(request_of_both: ComparisonRequest) -> None:
    limited = dataclasses.replace(request_of_both.settings, limit_seconds=2.0)
    install = 'python -c "import time; print(1); time.sleep(600)"'
    request = dataclasses.replace(request_of_both, install=install, settings=limited)
    with pytest.raises(LimitReached, match="of making git:HEAD~1") as told, live_comparison(request):
        pass
    assert "--limit" in str(told.value)
    assert KeptEnvironments().present() == []
