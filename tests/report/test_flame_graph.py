from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from photometer.report.flame_graph import INSTRUCTIONS, WIDTH_PIXELS, render_flame_difference, render_flame_graph

HOSTILE = "</title><script>alert(1)</script>]]>&\"'\x00\u202e"
STACKS = [
    (("torch::add (libtorch_python.so)", "f (my.py)"), 600.0),
    (("torch::add (libtorch_python.so)",), 300.0),
    ((), 100.0),
]
SLOWER = [*STACKS, (("torch::add (libtorch_python.so)", "grown (my.py)"), 400.0)]
SVG = "{http://www.w3.org/2000/svg}"


def frames(text: str) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(text)
    groups = [g for g in root.iter(f"{SVG}g") if g.get("class", "").startswith("frame")]
    return {str(g.findtext(f"{SVG}title")).split("\n")[0]: g for g in groups}


def span(group: ElementTree.Element) -> tuple[float, float]:
    return float(group.get("data-x", "")), float(group.get("data-x", "")) + float(group.get("data-w", ""))


def test_frames_lie_inside_their_callers_and_say_what_they_cost() -> None:
    drawn = frames(render_flame_graph(STACKS, "torch.add", root="z = torch.add(x, y)"))
    assert list(drawn) == ["z = torch.add(x, y)", "torch::add (libtorch_python.so)", "f (my.py)"]
    outer, inner = span(drawn["torch::add (libtorch_python.so)"]), span(drawn["f (my.py)"])
    assert outer == pytest.approx((0.0, 0.9))
    assert outer[0] <= inner[0] <= inner[1] <= outer[1]
    assert inner[1] - inner[0] == pytest.approx(0.6)
    assert drawn["f (my.py)"].findtext(f"{SVG}title") == "f (my.py)\n600 ns per run, 60.0 %"
    assert [int(g.get("data-d", "")) for g in drawn.values()] == [0, 1, 2]


def test_frames_of_the_interpreter_are_their_callers() -> None:
    deep = (
        "f (my.py)",
        "PyObject_Call",
        "_PyEval_EvalFrameDefault (python3.11)",
        "g (my.py)",
        "type_call (libpython3.so)",
    )
    drawn = frames(render_flame_graph([(deep, 60.0), (("f (my.py)", "PyTuple_New"), 40.0)], "x"))
    assert list(drawn) == ["loop", "f (my.py)", "g (my.py)"]
    assert drawn["f (my.py)"].findtext(f"{SVG}title") == "f (my.py)\n100 ns per run, 100.0 %"
    assert drawn["g (my.py)"].findtext(f"{SVG}title") == "g (my.py)\n60.0 ns per run, 60.0 %"


def test_the_size_is_stated_and_holds_all_rows() -> None:
    root = ElementTree.fromstring(render_flame_graph(STACKS, "x"))
    assert root.get("width") == str(WIDTH_PIXELS)
    lowest = max(float(r.get("y", "0")) + float(r.get("height", "0")) for r in root.findall(f".//{SVG}g/{SVG}rect"))
    assert lowest <= float(root.get("height", ""))


def test_python_torch_and_the_rest_have_colours_of_their_own() -> None:
    stacks = [(("f (my.py)",), 1.0), (("at::x (libtorch_cpu.so)",), 1.0), (("malloc (libc.so.6)",), 1.0)]
    stacks += [(("at::y(at::Tensor const&)",), 1.0), (("g (snippet)",), 1.0)]
    hues = {
        name: str(g.findall(f"{SVG}rect")[0].get("fill")).split(",")[0]
        for name, g in frames(render_flame_graph(stacks, "")).items()
    }
    assert hues["f (my.py)"] == hues["g (snippet)"]
    assert hues["at::x (libtorch_cpu.so)"] == hues["at::y(at::Tensor const&)"]
    assert len({hues["f (my.py)"], hues["at::x (libtorch_cpu.so)"], hues["malloc (libc.so.6)"]}) == 3


@pytest.mark.parametrize("draw", [render_flame_graph, lambda s, t, **k: render_flame_difference(s, s, t, **k)])
def test_hostile_names_stay_text(draw) -> None:  # type: ignore[no-untyped-def]
    text = draw([((HOSTILE,), 1.0)], HOSTILE, root=HOSTILE)
    root = ElementTree.fromstring(text)
    assert len(list(root.iter(f"{SVG}script"))) == 1
    assert "<script>alert" not in text
    assert "\u202e" not in text


def test_what_grew_is_red_what_shrank_blue_and_what_is_new_outlined() -> None:
    text = render_flame_difference(STACKS, SLOWER, "x")
    drawn = frames(text)
    grown = drawn["grown (my.py)"]
    assert grown.get("class") == "frame new"
    assert str(grown.find(f"{SVG}rect").get("fill")).startswith("hsl(0,")  # type: ignore[union-attr]
    assert drawn["f (my.py)"].get("class") == "frame"
    assert drawn["f (my.py)"].find(f"{SVG}rect").get("fill") == "#f0f0f0"  # type: ignore[union-attr]
    assert grown.findtext(f"{SVG}title") == "grown (my.py)\n0.0 ns to 400 ns: +400 ns, new"
    back = frames(render_flame_difference(SLOWER, STACKS, "x"))["grown (my.py)"]
    assert str(back.find(f"{SVG}rect").get("fill")).startswith("hsl(215,")  # type: ignore[union-attr]
    assert "-400 ns, -100.0 %" in str(back.findtext(f"{SVG}title"))


def test_a_change_that_few_samples_may_show_by_chance_stays_grey() -> None:
    more = [(("f", "a"), 620.0), (("f",), 300.0)]
    less = [(("f", "a"), 600.0), (("f",), 300.0)]
    by_weight = {
        weight: frames(render_flame_difference(less, more, "x", sample_weights=(weight, weight)))["a"]
        .find(f"{SVG}rect")
        .get("fill")  # type: ignore[union-attr]
        for weight in (0.0, 0.01, 10.0)
    }
    assert by_weight[10.0] == "#f0f0f0"
    assert str(by_weight[0.0]).startswith("hsl(0,")
    assert str(by_weight[0.01]).startswith("hsl(0,")


def test_instructions_are_whole_numbers() -> None:
    text = render_flame_graph([(("f",), 12_345.0)], "x", quantity=INSTRUCTIONS)
    assert "12,345 instructions per run" in text


def test_nothing_sampled_is_still_a_picture() -> None:
    assert list(frames(render_flame_graph([], "x", root="loop"))) == ["loop"]


def test_it_asks_for_nothing_outside() -> None:
    text = render_flame_graph(STACKS, "x").replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?://|\bsrc=|\bhref=|@import|url\(", text)
