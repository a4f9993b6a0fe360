from __future__ import annotations

import re

from photometer.definition import GroupedStmts, load_suite
from photometer.flames import flame_names
from photometer.plan import materialize


def test_the_readmes_names_for_its_four_cases() -> None:
    plan = materialize(load_suite("overrides"))
    names = flame_names(plan)
    four = {order.label[-1]: names[order.id] for order in plan if "classic" in order.tags}
    assert four == {
        "Tensor": "tensor",
        "SubTensor": "subtensor",
        "WithTorchFunction": "overridden",
        "SubWithTorchFunction": "suboverridden",
    }


def test_all_names_differ_and_are_safe_for_files() -> None:
    for suite in ("overrides", "standard"):
        plan = materialize(load_suite(suite))
        names = flame_names(plan)
        assert len(set(names.values())) == len(plan)
        assert all(re.fullmatch(r"[a-z0-9-]{1,160}", name) for name in names.values())


def test_labels_that_differ_in_signs_alone_are_told_apart() -> None:
    plan = materialize({"a+b": GroupedStmts("1"), "a-b": GroupedStmts("2"), "???": GroupedStmts("3")})
    names = [flame_names(plan)[order.id] for order in plan]
    assert len(set(names)) == 3
    assert names[2] == "case"
