"""Results of compiled statements are compared between the sides wherever the sides could differ."""

from __future__ import annotations

import pytest

from photometer.comparing.environments import compare
from photometer.definition import GroupedSetup, GroupedStmts

pytestmark = pytest.mark.warm

SUITE = {
    "scale": GroupedStmts(
        None,
        'auto y = x * std::atof(std::getenv("FACTOR"));',
        GroupedSetup("", "auto x = torch::ones({4});"),
        signature="f(x) -> y",
    )
}


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.parametrize(("factor", "differs"), [("2.0", True), pytest.param("1.00", False, marks=pytest.mark.nightly)])
def test_other_results_of_a_compiled_statement_are_told(factor: str, differs: bool) -> None:
    found = compare(
        ["env:FACTOR=1.0", f"env:FACTOR={factor}"], SUITE, instructions=False, memory=False, layouts=1, budget=0.5
    )
    assert found.failures == ()
    (result,) = found
    assert any("the values of y differ" in warning for warning in result.warnings) == differs
