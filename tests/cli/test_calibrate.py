"""`photometer calibrate` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.photometer_command import photometer


def test_it_wants_a_suite(tmp_path: Path) -> None:
    done = photometer("calibrate", cwd=tmp_path)
    assert done.returncode == 2
    assert "name a SUITE" in done.stderr


@pytest.mark.slow
@pytest.mark.warm
def test_it_prints_the_rate_of_false_alarms(tmp_path: Path) -> None:
    suite = tmp_path / "suite.py"
    suite.write_text(
        "from photometer import TimerArgs\nBENCHMARKS = {'sum': TimerArgs('x.sum()', 'x = torch.ones(8)')}\n"
    )
    done = photometer("calibrate", "--suite", suite, "--budget", "1", "--margin", "20%")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "false alarms in" in done.stdout
    assert "95 % interval" in done.stdout
