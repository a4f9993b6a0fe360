"""What notebooks show of measurements and verdicts: complete, safe, and without anything that runs."""

from __future__ import annotations

import dataclasses
import html
import math
import random
import re
from html.parser import HTMLParser

from photometer.analysis.comparison_result import ComparisonFailure, ComparisonResult, EnvironmentComparison
from photometer.model.device_measurement import KernelTime
from photometer.model.instruction_counts import FunctionCount, InstructionCounts, InstructionFigures
from photometer.model.measurement import Measurement
from photometer.model.memory_measurement import MemoryFigures, MemoryMeasurement
from photometer.model.records import from_record
from photometer.model.task import TaskSpec
from photometer.report.notebook import (
    INTERVAL_WIDTH,
    MOST_ROWS,
    bar_counts,
    histogram_svg,
    interval_svg,
    measurement_html,
)
from tests.model.test_device_measurement import measurement as device_measurement
from tests.report.page.fake_results import comparison_records, verdict

HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202e\ud800"
MARKUP = "</td><script>alert(1)</script>\x1b[31m\u202e"


class Reader(HTMLParser):
    """Tags, attributes and balance of a fragment."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag != "br":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def noisy(count: int) -> list[float]:
    source = random.Random(0)
    return [1e-6 * source.gauss(1, 0.02) for _ in range(count)]


def test_hostile_text_of_a_measurement_is_only_text() -> None:
    spec = TaskSpec(HOSTILE, HOSTILE, label=HOSTILE, sub_label=HOSTILE, description=HOSTILE, env=HOSTILE)
    text = measurement_html(Measurement(1, noisy(30), spec))
    page = Reader(text)
    assert "script" not in page.tags
    assert page.open == []
    assert not any(name.startswith("on") for name in page.attributes)
    text.encode("utf-8")
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_says_median_interval_and_warnings() -> None:
    m = Measurement(10, [*noisy(20), *(2 * t for t in noisy(20))], TaskSpec("x", "y"))
    text = measurement_html(m)
    assert "median" in text
    assert "95 % interval" in text
    assert m.warnings
    assert all(w.remedy in text for w in m.warnings)


def test_few_samples_have_no_histogram_and_none_no_median() -> None:
    assert "<svg" in measurement_html(Measurement(1, noisy(5), TaskSpec("x", "y")))
    assert "<svg" not in measurement_html(Measurement(1, noisy(4), TaskSpec("x", "y")))
    assert "no samples" in measurement_html(Measurement(1, [], TaskSpec("x", "y")))


def test_bars_count_every_value_once() -> None:
    values = sorted(noisy(100))
    counts = bar_counts(values, values[0], values[80])
    assert sum(counts) == 100
    assert counts[-1] >= 20
    assert bar_counts([1.0, 1.0], 1.0, 1.0) == [2]


def test_one_hiccup_does_not_flatten_the_histogram() -> None:
    svg = histogram_svg([*noisy(50), 1.0], 1e-6)
    assert svg.count("<rect") > 5
    assert "and above (1 block)" in svg
    assert svg.count(' opacity=".5"') == 1


def results() -> tuple[ComparisonResult, ...]:
    return tuple(from_record(ComparisonResult, r) for r in comparison_records() if r["kind"] == "comparison")


def test_a_verdict_says_word_change_and_reason() -> None:
    text = verdict("slower", 1.05, 0.01, 2e-6, "slower by 5 %, surely.")._repr_html_()
    for said in (">slower<", "+5.0 %", "+4.0 % to +6.0 %", "+100 ns", "slower by 5 %, surely."):
        assert said in text, said


def test_a_comparison_shows_what_matters_first_and_says_how_much_it_leaves_out() -> None:
    text = EnvironmentComparison(("main", "mine"), "standard", results())._repr_html_()
    assert "mine against main" in text
    assert "3 slower, 2 undecided, 2 faster, 145 same" in text
    assert Reader(text).tags.count("tr") == MOST_ROWS + 1
    assert f"{152 - MOST_ROWS} more" in text
    assert text.index(">slower<") < text.index(">undecided<") < text.index(">faster<") < text.index(">same within")
    assert "nothing was compared" in EnvironmentComparison(("a", "b"), "s", ())._repr_html_()


def test_many_sides_are_distinct() -> None:
    [first, *_] = results()
    both = (first, dataclasses.replace(first, side=2))
    failure = ComparisonFailure("1", "div", "b", "no", place=1)
    text = EnvironmentComparison(("a", "b", "c"), "s", both, (failure,))._repr_html_()
    assert "b, c against a" in text
    for said in (f"{html.escape(first.title)} on b", f"{html.escape(first.title)} on c", "div on b failed: no"):
        assert said in text, said


def test_hostile_text_of_a_comparison_is_only_text() -> None:
    [first, *_] = results()
    hostile = dataclasses.replace(
        first,
        title=MARKUP,
        judged=dataclasses.replace(first.judged, reason=MARKUP + '" onclick="x', notes=(MARKUP,)),
    )
    failure = ComparisonFailure("1", MARKUP, "base", MARKUP)
    comparison = EnvironmentComparison((MARKUP, MARKUP), MARKUP, (hostile,), (failure,), warnings=(MARKUP,))
    for text in (comparison._repr_html_(), hostile.judged._repr_html_()):
        assert "script" not in Reader(text).tags
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert '" onclick' not in text


def test_a_device_measurement_shows_modes_bound_kernels_and_warnings() -> None:
    found = device_measurement()
    text = found._repr_html_()
    for said in ("Fake 9000", "device hot", "1.000 µs", "graph replay", "it waits", "launch-bound", "Memcpy DtoD"):
        assert said in text, said
    assert "slow start." in text
    assert Reader(text).tags.count("tr") == 3
    assert "device hot" in str(found)
    assert len(repr(found).splitlines()) == 1
    assert repr(found.hot) == "<photometer.DeviceMode device hot: 1.000 µs by profiler, 5 blocks>"
    assert "it waits" in repr(found.graph)


def test_counts_show_the_three_figures_and_functions() -> None:
    counts = InstructionCounts(
        TaskSpec("f(x)"),
        10,
        (InstructionFigures(1200, 1000, 20), InstructionFigures(1200, 1000, 20)),
        loop_baseline=InstructionFigures(200, 100, 0),
        top_functions=(FunctionCount(600, "file.c:work [lib.so]"),),
    )
    text = counts._repr_html_()
    for said in ("f(x)", ">100<", ">90<", ">2<", "all exactly equal", "file.c:work", "50 %"):
        assert said in text, said
    assert Reader(text).open == []


def test_memory_shows_the_accelerator_and_the_cpu() -> None:
    host, device = MemoryFigures(0, 0, 0), MemoryFigures(4096, 8192, 2, 512)
    memory = MemoryMeasurement(TaskSpec("f(x)"), (host,) * 3, "cuda:0", (device,) * 3, 2**21, 4096)
    text = memory._repr_html_()
    for said in (
        "f(x)",
        "cuda:0",
        "4.0 KiB",
        "8.0 KiB",
        "512 B",
        "CPU",
        "2.0 MiB reserved",
        "3 runs, all exactly equal",
    ):
        assert said in text, said
    assert Reader(text).open == []


def test_hostile_text_of_devices_counts_and_memory_is_only_text() -> None:
    spec = TaskSpec(MARKUP, label=MARKUP)
    memory = MemoryMeasurement(spec, (MemoryFigures(0, 0, 0),), MARKUP, (MemoryFigures(0, 0, 0),), 1)
    device = dataclasses.replace(
        device_measurement(),
        task_spec=spec,
        device_name=MARKUP,
        bound=MARKUP,
        kernels=(KernelTime(MARKUP + '" onclick="x', 1.0, 1e-6),),
    )
    counts = InstructionCounts(spec, 1, (InstructionFigures(1, 1, 0),), top_functions=(FunctionCount(1, MARKUP),))
    for text in (device._repr_html_(), counts._repr_html_(), memory._repr_html_()):
        assert "script" not in Reader(text).tags
        assert "\x1b" not in text
        assert '" onclick' not in text
    assert "\x1b" not in str(counts)


def test_the_picture_of_an_interval_stays_inside_itself() -> None:
    early = dataclasses.replace(verdict("undecided", 1.0, 0.01, 2e-6, "?"), interval=(0.0, math.inf))
    for judged in (early, verdict("slower", 3.0, 0.01, 2e-6, "!"), verdict("same", 1.0, 0.0, 2e-6, "=")):
        picture = interval_svg(judged)
        places = [float(number) for number in re.findall(r"[MHx]=?\"?(-?[\d.]+)", picture.split("display")[1])]
        assert places
        assert all(0 <= place <= INTERVAL_WIDTH for place in places)
