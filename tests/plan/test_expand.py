"""From groups to work orders: which variants there are, and what sets them apart."""

from __future__ import annotations

import itertools
import json
import sys
from typing import Any

import pytest

from photometer.definition import GroupedBenchmark, GroupedModules, GroupedSetup, GroupedStmts, TimerArgs
from photometer.model.records import from_record, to_record
from photometer.model.task import Language
from photometer.plan import AutogradMode, RuntimeMode, WorkOrder, materialize

SETUP = GroupedSetup(
    "x = torch.ones((4, 4))\nw = torch.ones((4, 4), requires_grad=True)",
    "auto x = torch::ones({4, 4});\nauto w = torch::ones({4, 4}, torch::requires_grad());",
    "static int answer() { return 42; }",
)


def group(**more: Any) -> GroupedBenchmark:
    arguments = {"py_stmt": "y = x * w", "cpp_stmt": "auto y = x * w;", "setup": SETUP, "signature": "f(x, w) -> y"}
    return GroupedStmts(**{**arguments, **more})


def modes(**more: Any) -> list[tuple[str, str, str]]:
    labels = [order.auto.as_dict() for order in materialize({"a": group(**more)})]
    return [(str(label["runtime"]), str(label["autograd"]), str(label["language"])) for label in labels]


def test_plain_group_has_two_languages() -> None:
    assert modes() == [("eager", "forward", "python"), ("eager", "forward", "cpp")]


def test_torchscript_and_autograd_multiply() -> None:
    expected = itertools.product(("eager", "torchscript"), ("forward", "forward+backward"), ("python", "cpp"))
    assert modes(torchscript=True, autograd=True) == list(expected)


def test_compiled_is_python_alone() -> None:
    assert modes(compiled=True)[2:] == [("compiled", "forward", "python")]


def test_torchscript_in_cpp_needs_only_the_inputs() -> None:
    assert ("torchscript", "forward", "cpp") in modes(cpp_stmt=None, torchscript=True)
    python_only = GroupedSetup(SETUP.py_setup)
    assert modes(cpp_stmt=None, torchscript=True, setup=python_only) == [
        ("eager", "forward", "python"),
        ("torchscript", "forward", "python"),
    ]


def test_threads_sizes_and_devices_multiply() -> None:
    setup = GroupedSetup(
        "x = torch.ones(n, device=device)\nw = x", "auto x = torch::ones({n}).to(device);\nauto w = x;"
    )
    sweep = group(setup=setup, num_threads=(1, 2), sizes={"n": (3, 4)}, devices=("cpu", "cuda"))
    orders = materialize({"a": sweep}).orders
    points = {(order.auto.num_threads, order.auto.sizes, order.auto.device, order.auto.language) for order in orders}
    assert len(points) == len(orders) == 16
    assert {order.args.num_threads for order in orders} == {1, 2}
    # A machine without the device leaves its variants out.
    assert {order.auto.device for order in materialize({"a": sweep}, available_devices=())} == {"cpu"}
    assert len(materialize({"a": sweep}, available_devices=("cuda",))) == 16


def test_explicit_arguments_pass_untouched() -> None:
    args = TimerArgs("x + 1;", "auto x = 1;", "#include <cmath>", 2, Language.CPP)
    (order,) = materialize({"a": args})
    assert order.args == args
    assert (order.auto.runtime, order.auto.autograd) == (RuntimeMode.EXPLICIT, AutogradMode.EXPLICIT)
    assert (order.auto.language, order.auto.num_threads) == (Language.CPP, 2)


@pytest.mark.parametrize("runtime", [RuntimeMode.EAGER, RuntimeMode.TORCHSCRIPT])
def test_global_setup_reaches_every_cpp_order_and_no_python_one(runtime: RuntimeMode) -> None:
    orders = [
        order for order in materialize({"a": group(torchscript=True, autograd=True)}) if order.auto.runtime is runtime
    ]
    for order in orders:
        assert ("answer()" in order.args.global_setup) == (order.auto.language is Language.CPP)


def test_one_model_is_scripted_once_for_all_that_load_it() -> None:
    plan = materialize({"a": group(torchscript=True, autograd=True, num_threads=(1, 2)), "b": group(torchscript=True)})
    (job,) = plan.scripting_jobs
    loading = [order for order in plan if order.auto.runtime is RuntimeMode.TORCHSCRIPT]
    assert {order.model_id for order in loading} == {job.id}
    assert all(job.placeholder in order.args.setup for order in loading)
    assert all(order.model_id is None for order in plan if order not in loading)


def test_a_model_of_another_size_is_another_model() -> None:
    setup = GroupedSetup("x = torch.ones(n)", "auto x = torch::ones({n});")
    module = GroupedModules(
        "model = torch.nn.Linear(n, 1)",
        "auto model = torch::nn::Linear(n, 1);",
        setup,
        signature="f(x) -> y",
        torchscript=True,
        sizes={"n": (2, 3)},
    )
    assert len(materialize({"a": module}).scripting_jobs) == 2


def test_the_path_of_a_model_is_filled_in() -> None:
    order = materialize({"a": group(torchscript=True)}).orders[-1]
    filled = order.with_model_path("/somewhere/model.pt")
    assert '"/somewhere/model.pt"' in filled.args.setup
    assert "@photometer-model" not in filled.args.setup
    # It stays the same order: the path of the file does not change what is measured.
    assert filled.id == order.id
    with pytest.raises(ValueError, match="quote or backslash"):
        order.with_model_path('/a"b/model.pt')


def test_ids_are_unique_and_follow_the_content() -> None:
    plan = materialize({"a": group(torchscript=True, autograd=True, num_threads=(1, 2)), "b": group()})
    ids = [order.id for order in plan]
    assert len(set(ids)) == len(ids)
    again = materialize({"b": group(tags="quick", timeout_seconds=7)}, retries=5)
    assert [order.id for order in again] == ids[-2:]
    python, cpp = materialize({"b": group(cpp_stmt="auto y = w * x;")})
    assert python.id == ids[-2]
    assert cpp.id != ids[-1]


def test_limits_of_suite_and_benchmark() -> None:
    plan = materialize({"a": group(timeout_seconds=7), "b": group()}, timeout_seconds=20, retries=3)
    assert [(order.timeout_seconds, order.retries) for order in plan] == [(7, 3), (7, 3), (20, 3), (20, 3)]


def test_json_round_trip() -> None:
    setup = GroupedSetup("x = torch.ones(n)\nw = x", "auto x = torch::ones(n);\nauto w = x;")
    sizes = {"n": ((2, 3), 4), "s": (0.5, "text", True)}
    plan = materialize({"a": group(setup=setup, sizes=sizes, torchscript=True, tags="quick")})
    for order in plan:
        assert from_record(WorkOrder, json.loads(json.dumps(to_record(order)))) == order


def test_expansion_grows_with_the_number_of_orders_alone() -> None:
    """Ten times the orders may not cost much more than ten times the calls of functions, our own and built-in."""

    def calls(count: int) -> int:
        groups = {str(number): group(py_stmt=f"y = x * w + {number}", torchscript=True) for number in range(count)}
        events: list[str] = []
        before = sys.getprofile()
        sys.setprofile(lambda frame, event, argument: events.append(event))
        try:
            plan = materialize(groups)
        finally:
            sys.setprofile(before)
        assert len(plan) == 4 * count
        return sum(event in ("call", "c_call") for event in events)

    calls(10)
    assert calls(200) < 11 * calls(20)
