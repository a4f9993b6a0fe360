from __future__ import annotations

from photometer.analysis.ladder import Expectation, Ladder
from photometer.instruments.ladder import LadderStep
from photometer.report.run_text import render_expectations, render_ladder

LADDER = Ladder(
    (
        LadderStep("torch.add", "Tensor", None, 1.146e-6, instructions=4012.4),
        LadderStep("torch.add", "SubTensor", "Tensor", 5.1e-6, 3.96e-6, (3.84e-6, 4.05e-6), 20_010.0, 15_997.6),
        LadderStep("meth|od", "Broken", "Tensor"),
    )
)


def test_columns_are_aligned_and_figures_have_their_interval() -> None:
    lines = render_ladder(LADDER).splitlines()
    head, ground, sub = lines[1:4]
    assert " ".join(sub.split()) == "SubTensor 5.100 µs +3.96 µs +3.84 µs to +4.05 µs 20,010 +15,998 Tensor"
    assert head.index("instructions") + len("instructions") == sub.index("20,010") + len("20,010")
    assert " ".join(ground.split()) == "Tensor 1.146 µs 4,012"
    assert ground.index("1.146 µs") == sub.index("5.100 µs")


def test_what_is_not_known_is_a_dash() -> None:
    assert render_ladder(LADDER).splitlines()[-1].split() == ["Broken", "-", "-", "Tensor"]


def test_expectations_are_one_line_each() -> None:
    text = render_expectations([Expectation("a", "b", True), Expectation("c", "d", False)])
    assert text == "a: b: as expected\nc: d: NOT as expected\n"


def test_nothing_is_an_empty_ladder() -> None:
    assert render_ladder(Ladder(())) == "\n"


def test_names_of_users_are_escaped() -> None:
    step = LadderStep("a\x1b\nb", "c\x00", "d\u202e", 1e-6, 1e-7)
    assert r"a\x1b\nb" in render_ladder(Ladder((step,)))
    assert r"c\x00" in render_ladder(Ladder((step,)))
    assert not set(render_ladder(Ladder((step,)))) & set("\x1b\x00\u202e")
