from __future__ import annotations

import pytest
import torch

from photometer.instruments.device.statement import open_statement


def test_the_set_up_runs_once_and_its_variables_are_seen() -> None:
    made: list[int] = []
    names = {"made": made, "unused": torch.zeros(3), "scale": 2}
    with open_statement("y = x * scale", "made.append(1); x = torch.ones(3)", {"torch": torch, **names}) as statement:
        assert statement.run(3) >= 0.0
        statement.run(2)
        seen = statement.variables()
    assert made == [1]
    assert torch.equal(seen["x"], torch.ones(3))
    assert torch.equal(seen["y"], torch.full((3,), 2.0))
    assert seen["scale"] == 2
    assert "unused" not in seen


def test_the_callers_globals_are_left_alone() -> None:
    names: dict[str, object] = {"x": 1}
    with open_statement("x", "pass", names) as statement:
        statement.run(1)
    assert names == {"x": 1}


def test_an_error_names_the_users_line() -> None:
    with open_statement("int('no number')", "pass", {}) as statement, pytest.raises(ValueError, match="no number"):
        statement.run(1)
