"""Call trees of a revision that are kept: as they were, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from photometer.comparing.explain import read_framed, write_framed
from photometer.instruments.callgrind.python_frames import STATEMENT, CallSite, FramedSide

GATE = "gate (tinynet/model.py)"


def test_there_and_back(tmp_path: Path) -> None:
    stacks = (((STATEMENT,), 30), ((STATEMENT, GATE), 70), ((STATEMENT, GATE, "add"), 400))
    framed = FramedSide(stacks, 10, {GATE: 38}, {GATE: {CallSite("contiguous", 41): 1.0, CallSite("t", 41): 0.5}})
    path = tmp_path / "cache" / "counts" / "a.frames.json"
    write_framed(path, framed)
    found = read_framed(path, 10)
    assert found is not None
    assert sorted(found.stacks) == sorted(stacks)
    assert (found.runs, found.lines, found.calls) == (10, framed.lines, framed.calls)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"calls": [], "lines": {}, "stacks": {}}'])
def test_what_is_damaged_is_as_good_as_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.frames.json"
    path.write_text(text)
    assert read_framed(path, 10) is None
    assert read_framed(tmp_path / "missing.json", 10) is None
