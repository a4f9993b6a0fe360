"""One place names a variant: from a work order and from its record alike."""

from __future__ import annotations

from pathlib import Path

import pytest

import photometer
from photometer.definition import GroupedSetup, GroupedStmts
from photometer.execution.run_file import identified
from photometer.model.order_name import (
    LABEL_SEPARATOR,
    OrderName,
    compile_words,
    name_below_group,
    name_of_record,
    order_id_of,
    split_title,
    title_text,
)
from photometer.plan import materialize

SOURCE = Path(photometer.__file__).parent


def test_an_order_and_its_record_have_the_same_name() -> None:
    suite = {
        "maths": {
            "add": GroupedStmts(
                "y = x + 1",
                "y = x + 1;",
                GroupedSetup("x = torch.ones({n})", "auto x = torch::ones({n});"),
                "f(x) -> y",
                torchscript=True,
                autograd=True,
                compiled=("default", "reduce-overhead"),
                num_threads=(1, 2),
                sizes={"n": [4, 8]},
            )
        }
    }
    orders = materialize(suite).orders
    assert len({order.name.title for order in orders}) == len(orders), "no two variants share a title"
    for order in orders:
        assert name_of_record(identified({}, order)["order"]) == order.name


@pytest.mark.parametrize(
    ("name", "title", "row", "sweep"),
    [
        (OrderName(("maths", "add")), "maths › add", "add", "maths › add"),
        (OrderName(("add",), runtime="explicit", autograd="explicit"), "add", "add", "add"),
        (
            OrderName(
                ("a", "b", "c"), "cpp", "compiled", "forward+backward", ("reduce-overhead",), 2, "xpu:1", (("n", 8),)
            ),
            "a › b › c [C++, compiled reduce-overhead, backward, 2 threads, xpu:1, n=8]",
            "b › c [compiled reduce-overhead, backward, 2 threads, xpu:1, n=8]",
            "a › b › c [C++, compiled reduce-overhead, backward, 2 threads, xpu:1]",
        ),
    ],
)
def test_titles(name: OrderName, title: str, row: str, sweep: str) -> None:
    assert (name.title, name.row_name, name.sweep_title) == (title, row, sweep)


@pytest.mark.parametrize(
    "order",
    [
        {"label": []},
        {"label": "text", "auto": "text"},
        {"label": None, "auto": {"num_threads": "two", "sizes": 3, "compile": [1]}},
        {"auto": {"sizes": [["n"], "ab c", 4]}},
    ],
)
def test_nonsense_in_a_record_is_named_as_usual(order: dict[str, object]) -> None:
    assert name_of_record(order) == OrderName(("unnamed",))


@pytest.mark.parametrize(
    ("record", "order_id"),
    [({"order": {"id": "a1"}}, "a1"), ({"order": {"id": 7}}, "7"), ({"order": {}}, ""), ({"order": 3}, ""), ({}, "")],
)
def test_the_id_of_an_order(record: dict[str, object], order_id: str) -> None:
    assert order_id_of(record) == order_id


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (None, ()),
        ({}, ()),
        ({"mode": "default", "dynamic": None, "fullgraph": False}, ()),
        ({"mode": "max-autotune", "dynamic": True, "fullgraph": True}, ("max-autotune", "dynamic", "fullgraph")),
        ({"dynamic": False}, ("static",)),
    ],
)
def test_options_of_compile(options: object, words: tuple[str, ...]) -> None:
    assert compile_words(options) == words


@pytest.mark.parametrize(
    ("label", "words"), [(("a", "b"), ("eager", "n=4")), (("a",), ()), (("indexing", "[::2]"), ("python",))]
)
def test_a_title_is_taken_apart_again(label: tuple[str, ...], words: tuple[str, ...]) -> None:
    assert split_title(title_text(label, words)) == (label, words)


def test_a_lone_label_is_its_own_name_below_a_group() -> None:
    assert (name_below_group(("a", "b", "c")), name_below_group(("a",))) == ("b › c", "a")


def test_the_separator_is_written_in_one_place() -> None:
    files = [path for path in SOURCE.rglob("*.py") if LABEL_SEPARATOR in path.read_text(encoding="utf-8")]
    # The module that titles are made in, and a docstring that shows one.
    code = [path for path in files if any(_is_code(line) for line in path.read_text(encoding="utf-8").splitlines())]
    assert [path.name for path in code] == ["order_name.py"]


def _is_code(line: str) -> bool:
    return f'"{LABEL_SEPARATOR}"' in line or f"'{LABEL_SEPARATOR}'" in line or "} › {" in line
