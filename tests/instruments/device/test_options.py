from __future__ import annotations

import pytest

from photometer.errors import DefinitionError
from photometer.instruments.device.options import DeviceOptions
from photometer.instruments.stopping import Precise, RunFor


def test_precision_makes_the_rule() -> None:
    assert DeviceOptions().stopping_rule() == RunFor(0.2)
    assert DeviceOptions(precision=0.01, max_run_time=3.0).stopping_rule() == Precise(0.01, 0.2, 3.0)


@pytest.mark.parametrize(
    "wrong",
    [{"min_run_time": 0.0}, {"source": "ncu"}, {"bytes_per_run": 0}, {"flops_per_run": -1.0}, {"precision": -0.1}],
)
def test_what_cannot_be_meant_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DefinitionError):
        DeviceOptions(**wrong)  # type: ignore[arg-type]
