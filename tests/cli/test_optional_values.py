"""Options whose value may be left out."""

from __future__ import annotations

import pytest

from photometer.cli.optional_values import LEFT_OUT, with_values

KNOWN = frozenset(("--device", "--json"))


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["--device", "x + 1"], [f"--device={LEFT_OUT}", "x + 1"]),
        (["x + 1", "--device"], ["x + 1", f"--device={LEFT_OUT}"]),
        (["--device", "cuda:1", "x"], ["--device=cuda:1", "x"]),
        (["--device", "mps"], ["--device=mps"]),
        (["--device=anything", "x"], ["--device=anything", "x"]),
        (["--json", "out.json", "x"], ["--json=out.json", "x"]),
        (["--json", "--device", "x.json"], [f"--json={LEFT_OUT}", f"--device={LEFT_OUT}", "x.json"]),
        (["--json", "a = 1; a.json"], [f"--json={LEFT_OUT}", "a = 1; a.json"]),
        (["--", "--device", "cuda"], ["--", "--device", "cuda"]),
        (["--csv", "out.csv"], ["--csv", "out.csv"]),
    ],
)
def test_what_looks_like_a_value_is_one(words: list[str], completed: list[str]) -> None:
    assert with_values(words, KNOWN) == completed
