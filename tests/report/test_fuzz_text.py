"""The text and the page of a fuzz run: complete, offline, and safe whatever the names are."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from photometer.analysis.fuzz_map import FuzzMap, make_map
from photometer.model.fuzz_trial import FuzzTrial, TensorFacts, TrialFailure
from photometer.report.fuzz_text import render_fuzz_text, table_of_trials
from photometer.report.page.page import render_fuzz_page
from tests.report.table_texts import heads, texts

EVIL = "</script><script>alert(1)</script><b onmouseover=alert(2)>&\x1b[31m"


def trial(index: int, ratio: float, contiguous: bool = True, name: str = "x") -> FuzzTrial:
    facts = TensorFacts(name, (16, 2 ** (index % 5 + 4)), "float32", contiguous)
    return FuzzTrial(index, {"k": index}, (facts,), f"rebuild({index})", (ratio * 1e-6, 1e-6), math.log(ratio), 0.002)


def failed(index: int) -> FuzzTrial:
    return FuzzTrial(index, {"k": EVIL}, (), f"make({index})", failure=TrialFailure(EVIL, "ValueError", EVIL, ""))


def usual() -> FuzzMap:
    trials = [trial(i, 2.0 if i % 3 == 0 else 1.0, i % 3 != 0) for i in range(30)]
    return make_map(("f(x)", "g(x)"), [*trials, failed(30)])


def figures_of(page: str) -> list[dict[str, Any]]:
    [data] = re.findall(r'id="page-data">(.*?)</script>', page, re.DOTALL)
    return json.loads(data)["figures"]


def test_the_page_has_it_all() -> None:
    page = render_fuzz_page(usual(), notes=["seed 7"])
    for said in ("f(x)", "g(x)", "Slower where x is not contiguous", "seed 7", "make(30)", "k=", "#29"):
        assert said in page, said
    assert page.count('right is-slower"') == 10
    [figure] = figures_of(page)
    assert [len(series["points"]) for series in figure["series"]] == [20, 10]
    assert all("#" in point["label"] for series in figure["series"] for point in series["points"])


def test_hostile_text_stays_text() -> None:
    evil = make_map((EVIL, EVIL), [*(trial(i, 1.0 + i, name=EVIL) for i in range(9)), failed(9)])
    page = render_fuzz_page(evil, title=EVIL, notes=[EVIL])
    assert "<script>alert" not in page
    assert "<b onmouseover" not in page
    assert "\x1b" not in page
    assert len(figures_of(page)) == 1
    text = render_fuzz_text(evil)
    assert "\x1b" not in text


def test_a_page_without_inputs() -> None:
    page = render_fuzz_page(make_map(("f(x)",), [failed(0)]))
    assert "No input could be timed" in page
    assert figures_of(page) == []


def test_the_text_shows_both_ends_and_what_failed() -> None:
    text = render_fuzz_text(usual(), width=90, rows_at_each_end=3)
    assert "… 24 more …" in text
    assert "1 input failed:" in text
    assert "make(30)" in text
    assert "2.00" in text
    rows = [line for line in text.splitlines() if line.strip().startswith("#")]
    assert len(rows) == 7
    assert all(len(line) <= 90 for line in text.splitlines() if "make(" not in line and "in " not in line)


def test_the_text_of_one_statement() -> None:
    trials = [FuzzTrial(i, {}, (TensorFacts("x", (1000,), "f", True),), "", (1e-6,)) for i in range(3)]
    table = table_of_trials(make_map(("f(x)",), trials))
    assert heads(table) == ["input", "per element", "time", "what it is"]
    assert texts(table) == [[f"#{i}", "1.00 ns", "1.00 µs", "x 1000"] for i in range(3)]
