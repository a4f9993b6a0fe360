"""What `.plot()` returns: a picture of the figures, safe, that a notebook shows and a file keeps."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

import photometer
from photometer.analysis.ranking import PairVerdict, Ranking, rank_statements
from photometer.errors import DefinitionError
from photometer.model.instruction_counts import FunctionCount
from photometer.report.plots import MOST_ROWS
from tests.analysis.measurements import made
from tests.analysis.verdicts import comparison, result, verdict
from tests.model.test_device_measurement import measurement as device_measurement
from tests.report.test_notebook import MARKUP, Reader
from tests.test_results import COUNTS

FUNCTIONS = tuple(FunctionCount(100 - i, f"file.c:function_{i} [lib.so]") for i in range(30))


def ranking(*names: str) -> Ranking:
    first, *others = names
    pairs = [PairVerdict(first, other, verdict("slower", 1.1 + i)) for i, other in enumerate(others)]
    pairs += [PairVerdict(a, b, verdict("slower", 1.1)) for i, a in enumerate(others) for b in others[i + 1 :]]
    return rank_statements(names, pairs)


RESULTS: list[tuple[Any, list[str]]] = [
    (made(1e-6, "a", samples=7), ["L: a", "block 7: "]),
    (verdict("slower", 1.01), ["slower +1.0 %", "+1.0 %"]),
    (comparison(result("slower", 1.1, "add"), result("same", 1.0, "mul")), ["add", "mul", "same within 0.3 % 0 %"]),
    (
        comparison(result("slower", 1.1, "add"), result("same", 1.0, "add", side=2), names=("a", "b", "c")),
        ["b, c against a", "add on b", "add on c"],
    ),
    (ranking("f(x)", "g(x)", "h(x)"), ["f(x)", "h(x)", "1.000 µs reference", "2.100 µs slower"]),
    (device_measurement(), ["Fake 9000", "device hot", "1.000 µs"]),
    (dataclasses.replace(COUNTS, top_functions=FUNCTIONS), ["100.0 instructions", "function_0", "function_19"]),
    (photometer.Compare([made(1e-6, "a"), made(2e-6, "b", "other", num_threads=2)]), ["a, c", "b, other, 2 threads"]),
    (photometer.Compare([COUNTS]), ["Instructions per run", "f(x), outside the allocator", "100.0"]),
]


@pytest.mark.parametrize(("shown", "said"), RESULTS, ids=[type(shown).__name__ for shown, _ in RESULTS])
def test_a_picture_says_the_figures(shown: Any, said: list[str], tmp_path: Path) -> None:
    plot = shown.plot()
    for words in said:
        assert words in plot.svg, words
    assert Reader(plot._repr_html_()).open == []
    assert len(repr(plot).splitlines()) == 1
    assert plot.save(tmp_path / "plot.svg").read_text() == plot.svg


def test_text_of_users_is_only_text() -> None:
    for shown in (
        made(1e-6, MARKUP),
        comparison(result("slower", 1.1, MARKUP)),
        ranking(MARKUP, "g"),
        photometer.Compare([made(1e-6, MARKUP, MARKUP, env=MARKUP)]),
        dataclasses.replace(device_measurement(), device_name=MARKUP),
    ):
        assert "script" not in Reader(shown.plot()._repr_html_()).tags
        assert "\x1b" not in shown.plot().svg


def test_intervals_that_are_not_known_and_long_comparisons() -> None:
    early = verdict("undecided", 1.0, interval=(0.0, math.inf))
    assert "undecided" in early.plot().svg
    many = comparison(*(result("same", 1.0, f"benchmark {i}") for i in range(MOST_ROWS + 5)))
    assert "(5 more)" in many.plot().svg


def test_a_file_is_svg_or_png(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="neither"):
        made(1e-6, "a").plot().save(tmp_path / "plot.pdf")


def test_a_ranking_shows_each_statement_in_a_notebook() -> None:
    text = ranking("f(x)", "<b>g</b>", "h(x)")._repr_html_()
    assert "Fastest of 3: f(x)" in text
    assert "&lt;b&gt;g" in text
    assert Reader(text).tags.count("tr") == 4
    assert list(ranking("f(x)", "g", "h(x)").to_dataframe()["rank"]) == [1, 2, 3]
