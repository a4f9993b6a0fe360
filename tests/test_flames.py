from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any, cast

import pytest

import photometer.flames as module
from photometer.analysis.comparison_result import EnvironmentComparison
from photometer.definition import GroupedStmts, load_suite
from photometer.errors import ToolMissing
from photometer.execution.profile import Profile, ProfileSettings
from photometer.flames import draw_comparison, flame_names
from photometer.instruments.callgrind.python_frames import STATEMENT
from photometer.model.packed_stacks import ComparisonStacks, pack_stacks
from photometer.plan import materialize
from photometer.plan.work_order import WorkOrders
from photometer.session.session import Session


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


def test_labels_that_differ_in_signs_alone_are_distinct() -> None:
    plan = materialize({"a+b": GroupedStmts("1"), "a-b": GroupedStmts("2"), "???": GroupedStmts("3")})
    names = [flame_names(plan)[order.id] for order in plan]
    assert len(set(names)) == 3
    assert names[2] == "case"


def test_what_a_comparison_has_counted_is_drawn_and_not_counted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = materialize({"known": GroupedStmts("f()"), "other": GroupedStmts("2")})
    known, other = plan
    asked: list[tuple[list[str], bool]] = []

    def profile(_: Session, orders: WorkOrders, settings: ProfileSettings, **__: Any) -> dict[str, Profile]:
        asked.append(([order.id for order in orders], settings.counted))
        return {order.id: Profile() for order in orders}

    monkeypatch.setattr(module, "profile", profile)
    monkeypatch.setattr(module, "find_browser", lambda: (_ for _ in ()).throw(ToolMissing("no browser")))
    base: Any = [((STATEMENT, "gate (net.py)"), 1000), ((STATEMENT,), 500)]
    branch: Any = [*base, ((STATEMENT, "gate (net.py)", "contiguous"), 25_000)]
    stacks = {known.id: ComparisonStacks(known.id, 100, pack_stacks(base), pack_stacks(branch))}
    nothing = cast("tuple[Session, Session]", (None, None))
    compared = EnvironmentComparison(("a", "b"), "s", ())
    drawn = draw_comparison(nothing, plan, compared, tmp_path, stacks=stacks)
    assert asked == [([known.id], False), ([other.id], True)] * 2
    (graph,) = [html.unescape(path.read_text()) for path in drawn.svgs]
    # The root is the statement's own text, with the figure of the whole.
    assert "<title>f()\n15 instructions to 265 instructions: +250 instructions" in graph
    assert "<title>gate (net.py)\n10 instructions to 260 instructions: +250 instructions" in graph
    assert STATEMENT not in graph
