"""Curves: which are drawn, where they cross, how they grow."""

from __future__ import annotations

from photometer.analysis.curves import MOST_CURVES, curve_sets, with_siblings
from photometer.analysis.order_facts import collect_facts
from tests.analysis.order_records import curve, metered, order, timed

NS = (64, 256, 1024, 4096)


def test_the_crossing_is_named_by_its_first_certain_point() -> None:
    eager = curve("a", {n: 5e-6 + 2e-9 * n for n in NS})
    compiled = curve("a", {n: 6e-6 + 4e-10 * n for n in NS}, runtime="compiled")
    (found,) = curve_sets(collect_facts([*eager, *compiled]))
    assert [each.name for each in found.curves] == ["eager", "compiled"]
    assert found.sentences[0] == "compiled is faster than eager from n = 1,024 on"
    assert "eager grows as n above 5.0 µs" in found.sentences


def test_siblings_share_a_plot_as_long_as_their_curves_are_distinct() -> None:
    facts = [each for name in ("b", "c") for each in curve(name, {n: 1e-9 * n for n in NS})]
    (found,) = with_siblings(curve_sets(collect_facts(facts)))
    assert found.title == "Time against n"
    assert [each.name for each in found.curves] == ["b", "c"]
    assert len(found.sentences) == 2
    many = [each for number in range(MOST_CURVES + 1) for each in curve(f"b{number}", {n: 1e-9 * n for n in NS})]
    assert [len(each.curves) for each in with_siblings(curve_sets(collect_facts(many)))] == [MOST_CURVES, 1]


def test_one_that_is_always_slower_has_no_crossing() -> None:
    one = curve("a", dict.fromkeys(NS, 1e-6))
    two = curve("a", dict.fromkeys(NS, 2e-6), num_threads=2)
    (found,) = curve_sets(collect_facts([*one, *two]))
    assert found.sentences == (
        "2 threads is slower than 1 thread at every n",
        "1 thread does not depend on n",
        "2 threads does not depend on n",
    )


def test_overlapping_intervals_say_nothing() -> None:
    records = [
        timed(order("a", {"n": n}, runtime=name), 1e-6, spread=0.2) for n in NS for name in ("eager", "compiled")
    ]
    (found,) = curve_sets(collect_facts(records))
    assert not any("than" in sentence for sentence in found.sentences)


def test_several_axes_give_a_plot_each_with_a_line_per_other_size() -> None:
    records = [timed(order("a", {"n": n, "m": m}), 1e-9 * n * m) for n in (1, 2, 4) for m in (8, 16, 32)]
    sets = curve_sets(collect_facts(records))
    assert [(each.axis, [line.name for line in each.curves]) for each in sets] == [
        ("n", ["m=8", "m=16", "m=32"]),
        ("m", ["n=1", "n=2", "n=4"]),
    ]


def test_metrics_have_curves_and_texts_and_pairs_have_none() -> None:
    records = [metered(order("a", {"n": n}), loss=(0.5 / n, 0.25 / n)) for n in NS]
    records += [timed(order("b", {"kind": kind}), 1e-6) for kind in ("x", "y", "z")]
    records += [timed(order("c", {"n": n}), 1e-6) for n in (1, 2)]
    (found,) = curve_sets(collect_facts(records))
    assert (found.measures, found.label, len(found.curves[0].points)) == ("loss", ("a",), 4)


def test_more_curves_than_can_be_told_apart_are_counted() -> None:
    records = [timed(order("a", {"n": n, "m": m}), 1e-6) for n in (1, 2, 4) for m in range(12)]
    assert curve_sets(collect_facts(records))[0].left_out == 4
