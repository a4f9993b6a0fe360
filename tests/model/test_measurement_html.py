from __future__ import annotations

import random
from html.parser import HTMLParser

from photometer.model.measurement import Measurement
from photometer.model.measurement_html import bar_counts, histogram_svg, measurement_html
from photometer.model.task import TaskSpec

HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202e\ud800"


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


def test_hostile_text_is_only_text() -> None:
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
    assert "(1 beyond)" in svg
