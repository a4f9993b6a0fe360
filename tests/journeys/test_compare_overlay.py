"""Two releases of a package over this interpreter: compared without another environment, and not for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer import TimerArgs
from photometer.comparing.environments import live_comparison
from photometer.comparing.request import ComparisonRequest, ComparisonSettings
from photometer.environments.kept import KeptEnvironments
from tests.environments.wheels import make_wheel

pytestmark = pytest.mark.slow

SETTINGS = ComparisonSettings(budget_seconds=60.0, instructions=False, memory=False)


@pytest.fixture
def sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.setenv("PHOTOMETER_CACHE", str(tmp_path / "cache"))
    for version, work in (("0.6", 100), ("0.8", 1000)):
        code = f"def pile():\n    return sum(range({work}))\n".encode()
        make_wheel(tmp_path / "wheels", "pebbles", version, files={"work.py": code})
    old, new = (f"pip:pebbles=={each} --no-index --find-links {tmp_path / 'wheels'}" for each in ("0.6", "0.8"))
    return old, new


def test_two_releases_over_this_interpreter(sides: tuple[str, str]) -> None:
    suite = {"pile": TimerArgs("pile()", setup="from pebbles.work import pile")}
    with live_comparison(ComparisonRequest(sides, suite, SETTINGS)) as comparison:
        result = comparison.run()
    assert [each.judged.verdict for each in result] == ["slower"]
    assert not any("no benchmark imports" in warning for warning in result.warnings)
    # Two small folders, and no torch in them.
    kept = KeptEnvironments().present()
    assert len(kept) == 2
    assert all(not (each.folder / "torch").exists() for each in kept)


def test_packages_that_no_benchmark_imports_are_named(sides: tuple[str, str]) -> None:
    suite = {"sum": TimerArgs("sum(v)", setup="v = [1] * 10")}
    with live_comparison(ComparisonRequest(sides, suite, SETTINGS)) as comparison:
        checked = comparison.check()
    assert [
        warning.partition(": ")[2][:49] for warning in checked.warnings if "pebbles, which was added" in warning
    ] == ["no benchmark imports anything from pebbles, which"] * 2
