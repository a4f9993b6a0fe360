"""The machine around a measurement, on made-up ticks."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.instruments.noise_watch import LOOK_SECONDS, NoiseWatch, Ticks, read_ticks


class FakeCores:
    """Core 1 is measured on. `busy` is how busy it is at each look; core 0 is half busy, with some time stolen."""

    def __init__(self, *busy: float) -> None:
        self.busy = list(busy)
        self.ticks = {0: Ticks(0, 0, 0), 1: Ticks(0, 0, 0)}

    def read(self) -> dict[int, Ticks]:
        return dict(self.ticks)

    def sleep(self, seconds: float) -> None:
        share = self.busy.pop(0)
        one, other = self.ticks[1], self.ticks[0]
        self.ticks[1] = Ticks(one.busy + int(100 * share), one.idle + int(100 * (1 - share)), one.stolen)
        self.ticks[0] = Ticks(other.busy + 50, other.idle + 50, other.stolen + 4)


def test_waits_until_the_core_is_free() -> None:
    cores = FakeCores(0.9, 0.8, 0.1, 0.9)
    watch = NoiseWatch(1, read=cores.read)
    assert watch.wait_for_quiet(10.0, cores.sleep) == pytest.approx(3 * LOOK_SECONDS)


def test_does_not_wait_for_ever() -> None:
    cores = FakeCores(*[0.9] * 100)
    watch = NoiseWatch(1, read=cores.read)
    assert watch.wait_for_quiet(2.0, cores.sleep) == pytest.approx(2.0)


def test_noise_since_the_wait() -> None:
    cores = FakeCores(0.0, 1.0)
    watch = NoiseWatch(1, read=cores.read)
    watch.wait_for_quiet(10.0, cores.sleep)
    cores.sleep(1.0)
    noise = watch.noise()
    assert noise.others_busy_share == 0.5
    assert noise.stolen_share == 0.02
    assert noise.waited_seconds == LOOK_SECONDS


def test_a_machine_that_tells_nothing() -> None:
    watch = NoiseWatch(None, read=dict)
    watch.wait_for_quiet(1.0, lambda _: None)
    assert watch.noise().others_busy_share is None
    assert watch.noise().stolen_share is None


def test_reads_the_kernels_text(tmp_path: Path) -> None:
    file = tmp_path / "stat"
    file.write_text("cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 40 5 6 7 8 0 0\nintr 5\n")
    assert read_ticks(file) == {0: Ticks(27, 45, 8)}
    assert read_ticks(tmp_path / "missing") == {}
