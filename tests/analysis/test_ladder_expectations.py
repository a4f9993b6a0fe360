from __future__ import annotations

import pytest

from photometer.analysis.ladder import Ladder, LadderStep
from photometer.analysis.ladder_expectations import check_expectations, signed_seconds


def ladder(
    plain: float = 1.2e-6, zero: tuple[float, float] = (-5e-9, 8e-9), sub: float = 0.5e-6, like: float = 2e-6
) -> Ladder:
    def step(rung: str, below: str, added: float, ends: tuple[float, float]) -> LadderStep:
        return LadderStep("torch.add", rung, below, plain + added, added, ends)

    return Ladder(
        (
            step("Tensor", "TorchFunctionOff", sum(zero) / 2, zero)
            if plain == 1.2e-6
            else LadderStep("torch.add", "Tensor", "TorchFunctionOff", plain, sum(zero) / 2, zero),
            step("SubTensor", "Tensor", sub, (sub * 0.99, sub * 1.01)),
            step("WithTorchFunction", "Tensor", like, (like * 0.99, like * 1.01)),
        )
    )


def agreement(**changes: object) -> list[bool | None]:
    return [expectation.agrees for expectation in check_expectations(ladder(**changes))]  # type: ignore[arg-type]


def test_a_ladder_as_the_readme_has_it() -> None:
    assert agreement() == [True, True, True, True]


@pytest.mark.parametrize(
    ("changes", "place", "agrees"),
    [
        ({"plain": 20e-6}, 0, False),
        # Faster than the README's machines is nothing to complain of.
        ({"plain": 0.3e-6}, 0, True),
        ({"zero": (80e-9, 120e-9)}, 1, False),
        ({"zero": (20e-9, 120e-9)}, 1, None),
        ({"sub": 3e-6}, 2, False),
        ({"like": 0.5e-6}, 3, False),
        ({"like": 9e-6}, 3, False),
    ],
)
def test_what_differs_is_told(changes: dict[str, object], place: int, agrees: bool | None) -> None:
    found = agreement(**changes)
    assert found[place] is agrees
    assert [each for index, each in enumerate(found) if index != place] == [True, True, True]


def test_sentences_hold_the_figures_and_the_judgement() -> None:
    sentences = [expectation.sentence for expectation in check_expectations(ladder(sub=3e-6))]
    assert sentences[1] == (
        "__torch_function__ adds nothing for torch.Tensor: it adds +1.5 ns (-5.0 ns to +8.0 ns) over TorchFunctionOff: "
        "as expected"
    )
    assert sentences[2].endswith("over Tensor: NOT as expected")
    assert "+3.00 us" in sentences[2]


def test_nothing_measured_is_not_agreement() -> None:
    assert [expectation.agrees for expectation in check_expectations(Ladder(()))] == [None] * 4
    assert all("not measured" in expectation.sentence for expectation in check_expectations(Ladder(())))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.234e-6, "+1.23 us"),
        (-1.6e-9, "-1.6 ns"),
        (24e-9, "+24 ns"),
        (0.0, "+0.0 ns"),
        (float("inf"), "+anything"),
    ],
)
def test_signed_seconds(seconds: float, text: str) -> None:
    assert signed_seconds(seconds) == text
