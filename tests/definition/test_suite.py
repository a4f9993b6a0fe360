"""A suite: labels made flat, and a fingerprint made from the content alone."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from photometer.definition import GroupedSetup, GroupedStmts, Suite, TimerArgs, flatten
from photometer.errors import DefinitionError

FINGERPRINT_SCRIPT = """
from photometer.definition import load_suite
print(load_suite("standard").fingerprint)
"""


def suite_of(stmt: str = "y = x", **more: object) -> Suite:
    return Suite.from_benchmarks({"a": GroupedStmts(stmt, **more), "b": TimerArgs("x = 2")})  # type: ignore[arg-type]


def test_equal_content_has_one_fingerprint() -> None:
    assert suite_of().fingerprint == suite_of().fingerprint


def test_order_names_tags_and_places_do_not_matter() -> None:
    turned = Suite.from_benchmarks(
        {"b": TimerArgs("x = 2"), "a": GroupedStmts("y = x", tags="quick")}, "other", "file.py"
    )
    assert turned.fingerprint == suite_of().fingerprint


@pytest.mark.parametrize(
    "other",
    [
        suite_of("y = x + 1"),
        suite_of(num_threads=2),
        suite_of(setup=GroupedSetup("x = 1")),
        suite_of(setup=GroupedSetup(global_setup="#include <cmath>")),
        suite_of(sizes={"n": (1, 2)}),
        Suite.from_benchmarks({"c": GroupedStmts("y = x"), "b": TimerArgs("x = 2")}),
        Suite.from_benchmarks({"a": GroupedStmts("y = x")}),
    ],
)
def test_any_change_of_content_changes_it(other: Suite) -> None:
    assert other.fingerprint != suite_of().fingerprint


def test_it_is_the_same_in_every_process() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", FINGERPRINT_SCRIPT],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert len(found) == 1
    assert len(found.pop()) == 16


def test_definition_and_plan_do_not_import_torch() -> None:
    script = (
        "import sys; from photometer.definition import load_suite; from photometer.plan import materialize; "
        "materialize(load_suite('standard')); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


ONE = GroupedStmts("x = 1")
TWO = TimerArgs("x = 2")


def test_keys_are_texts_tuples_and_none() -> None:
    tree = {"a": {None: ONE, "b": TWO, ("c", "d"): {"e": ONE}}, ("f", "g"): TWO}
    assert flatten(tree) == {("a",): ONE, ("a", "b"): TWO, ("a", "c", "d", "e"): ONE, ("f", "g"): TWO}
    assert list(flatten(tree)) == [("a",), ("a", "b"), ("a", "c", "d", "e"), ("f", "g")]


def test_a_label_twice_names_both_places() -> None:
    with pytest.raises(DefinitionError, match="a › b appears twice") as caught:
        flatten({"a": {"b": ONE}, ("a", "b"): ONE})
    assert str(caught.value.log).count(ONE.defined_at) == 2


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"a": 3}, "a is 3, not a benchmark"),
        ({"a": {"b": [ONE]}}, "a › b is .* not a benchmark"),
        ({3: ONE}, "below the top there is the label 3"),
        ({"a": {" ": ONE}}, "below a there is the label ' '"),
        ({None: ONE}, "without a label"),
    ],
)
def test_mistakes_in_labels(tree: dict[Any, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        flatten(tree)
