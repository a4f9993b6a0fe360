"""Why a time changed: instructions of both sides (outside the allocator), the code that gained, other layouts.

In: counts of each side, one per layout, and the verdict on the time. Out: an InstructionChange, and one sentence that
explains the change of time: more or less work, or memory, layout and machine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from photometer.analysis.changed_code import ChangedCode
from photometer.analysis.figure_change import FigureChange, changed_by_themselves, likely_cause
from photometer.analysis.verdict import CHANGED_WORDS, PROBABLE_WORDS, Verdict
from photometer.instruments.callgrind.figures import function_name
from photometer.instruments.callgrind.layout_dependent import bare_name, is_allocator, is_layout_dependent
from photometer.model.instruction_counts import FunctionCounts, InstructionCounts
from photometer.model.units import format_count, percent

# Two builds lie in memory differently; outside the allocator that moved counts by up to 0.05 %.
INSTRUCTION_TOLERANCE = 0.0005
# A change is described by its largest few functions; the long tail is rounding.
FUNCTIONS_KEPT = 8
FUNCTIONS_NAMED = 3

GENERATED = "code generated in memory"
OTHER_CAUSES = "memory, layout or machine"
_SNIPPET = re.compile(r"photometer_[0-9a-f]{32}")
_ADDRESS = re.compile(r"0x[0-9a-f]+")


class FunctionChange(NamedTuple):
    """Instructions per run that a function itself gained (or lost, if negative)."""

    instructions_per_run: float
    function: str


@dataclass(frozen=True)
class InstructionChange:
    """Instructions per run outside the allocator, per side, in the frozen layout.

    `layout_spread` is how far those of one side lie apart in other layouts, relative. `functions` are native ones by
    what they executed themselves; `code` is the user's, by everything below it.
    """

    ALWAYS: ClassVar[tuple[str, ...]] = ("functions",)

    base_per_run: float
    branch_per_run: float
    base_allocator_calls_per_run: float
    branch_allocator_calls_per_run: float
    layouts: int
    layout_spread: float
    functions: tuple[FunctionChange, ...] = ()
    code: tuple[ChangedCode, ...] = ()

    @property
    def ratio(self) -> float:
        return self.branch_per_run / self.base_per_run if self.base_per_run > 0 else 1.0

    @property
    def difference_per_run(self) -> float:
        return self.branch_per_run - self.base_per_run

    @property
    def has_changed(self) -> bool:
        """Whether they differ by more than the memory layout explains."""
        return abs(self.ratio - 1.0) > max(INSTRUCTION_TOLERANCE, self.layout_spread)


def instruction_change(
    base: Sequence[InstructionCounts],
    branch: Sequence[InstructionCounts],
    base_functions: FunctionCounts,
    branch_functions: FunctionCounts,
    code: tuple[ChangedCode, ...] = (),
) -> InstructionChange:
    """Return the change from both sides' counts, one per layout.

    Figures and functions are those of the first, which is the frozen one.
    """
    sides = [[counts.outside_allocator_per_run for counts in side] for side in (base, branch)]
    runs = base[0].number_per_run
    return InstructionChange(
        base_per_run=sides[0][0],
        branch_per_run=sides[1][0],
        base_allocator_calls_per_run=base[0].allocator_calls_per_run,
        branch_allocator_calls_per_run=branch[0].allocator_calls_per_run,
        layouts=min(len(base), len(branch)),
        layout_spread=max((max(side) - min(side)) / max(min(side), 1.0) for side in sides),
        functions=function_changes(base_functions, branch_functions, runs),
        code=code,
    )


def are_identical(
    base: InstructionCounts, branch: InstructionCounts, base_functions: FunctionCounts, branch_functions: FunctionCounts
) -> bool:
    """Whether both sides execute the same instructions, function by function, in any memory layout.

    Instructions that depend on the layout are left out; the allocator must be called equally often.
    """
    if base.number_per_run != branch.number_per_run or base.stable.allocator_calls != branch.stable.allocator_calls:
        return False
    if base.stable.outside_allocator != branch.stable.outside_allocator:
        return False
    sides = [
        by_function(functions).filter(lambda function: not is_layout_dependent(function))
        for functions in (base_functions, branch_functions)
    ]
    return sides[0] == sides[1]


def by_function(functions: FunctionCounts) -> FunctionCounts:
    """Return the counts by the name of the function alone: other builds lie in other files."""
    return functions.transform(_bare)


def _bare(function: str) -> str:
    # Other builds lie in other files, a recursive function has a row for each depth, and a compiled snippet is named
    # after its text, in which the path of a model may stand. Code generated in memory (oneDNN's) has only an address.
    bare = _SNIPPET.sub("snippet", bare_name(function_name(function)))
    return GENERATED if _ADDRESS.fullmatch(bare) and not function.endswith("]") else bare


def function_changes(base: FunctionCounts, branch: FunctionCounts, runs: int) -> tuple[FunctionChange, ...]:
    """Return the functions whose own instructions changed most; not the allocator's, which the layout moves."""
    changes = (branch.transform(_bare) - base.transform(_bare)).filter(lambda function: not is_allocator(function))
    largest = sorted(changes, key=lambda row: -abs(row.count))[:FUNCTIONS_KEPT]
    return tuple(FunctionChange(row.count / runs, row.function) for row in largest if abs(row.count) >= runs)


# Parts of a C++ name that say nothing by themselves, such as lambdas.
_NAMELESS = re.compile(r"\{|_FUN$|_M_invoke$")
_LIBRARY = re.compile(r" \[[^\]]+\]$")
_OPERATOR = re.compile(r"operator([<>=-]+)")
# While brackets are removed, those in names of operators are these.
_HIDDEN = {ord("<"): "\x01", ord(">"): "\x02"}
_SHOWN = {1: "<", 2: ">"}


def short_functions(functions: Sequence[str]) -> list[str]:
    """Return functions by their own name: `silu_kernel` of `at::native::silu_kernel(at::TensorIteratorBase&) [x.so]`.

    Names that would then be equal stay whole.
    """
    short = [_own_name(function) for function in functions]
    whole: dict[str, set[str]] = {}
    for name, function in zip(short, functions, strict=True):
        whole.setdefault(name, set()).add(function)
    return [name if len(whole[name]) == 1 else function for name, function in zip(short, functions, strict=True)]


def _own_name(function: str) -> str:
    name = _LIBRARY.sub("", function)
    if "::" not in name:
        return name
    name = name.replace("(anonymous namespace)::", "").replace("operator()", "{call}")
    parts = _without_brackets(_OPERATOR.sub(lambda found: found[0].translate(_HIDDEN), name)).split("::")
    named = [part.split()[-1] for part in parts if part.strip() and not _NAMELESS.match(part.strip())]
    return named[-1].translate(_SHOWN) if named else function


def _without_brackets(name: str) -> str:
    """Return a C++ name without its template arguments and parameters."""
    kept, depth = [], 0
    for character in name:
        depth += (character in "<(") - (character in ">)" and depth > 0)
        if not depth and character not in ">)":
            kept.append(character)
    return "".join(kept)


_WORDS_OF_CHANGE = (*CHANGED_WORDS, *PROBABLE_WORDS)


def cause_sentence(
    verdict: Verdict,
    change: InstructionChange | None,
    layout_ratios: Sequence[float] = (),
    figures: tuple[FigureChange, ...] = (),
) -> str:
    """Return one sentence from time and instructions together; empty if it would add nothing to the verdict."""
    word = verdict.verdict
    around = layout_words(layout_ratios)
    if change is None or word == "identical":
        return around.capitalize() + "." if around and word in _WORDS_OF_CHANGE else ""
    if not change.has_changed:
        if word in _WORDS_OF_CHANGE:
            doubt = f"; {around}" if around else ""
            found = likely_cause(figures, word)
            return f"{word} with the same instructions: {found.sentence if found else OTHER_CAUSES}{doubt}."
        return ""
    more = change.ratio > 1.0
    size = f"{abs(change.difference_per_run):,.0f} instructions per run"
    said = f"{'+' if more else '-'}{size} ({percent(change.ratio - 1.0, signed=True)})"
    said += "; " + "; ".join(map(code_words, change.code)) if change.code else _functions(change, more)
    if word in _WORDS_OF_CHANGE:
        agrees = more == word.endswith("slower")
        joint = "and" if agrees else "but"
        return f"{'more' if more else 'fewer'} instructions {joint} {word}: {said}{'; ' + around if around else ''}."
    if word == "same":
        return f"{'more' if more else 'fewer'} instructions, but the same time: {said}."
    return f"{'more' if more else 'fewer'} instructions; the time is undecided: {said}."


def code_words(code: ChangedCode) -> str:
    """Return the change in one of the user's functions: `new under gate (tinynet/model.py:41): contiguous (+120)`."""
    return f"{place_words(code)} ({code.instructions_per_run:+,.0f})"


def place_words(code: ChangedCode) -> str:
    """Return the same without the number of instructions."""
    more, less = ", ".join(code.more), ", ".join(code.less)
    where = f"{'in' if code.itself else 'under'} {code.place}{' itself' if code.itself else ''}"
    if more and less:
        return f"{where}: {more} instead of {less}"
    if more or less:
        return f"{'new' if more else 'gone'} {where}: {more or less}"
    return f"{where}{f', most in {code.native}' if code.native else ''}"


def own_sentences(figures: tuple[FigureChange, ...]) -> list[str]:
    """Return sentences for figures with verdicts of their own: `+1.2 % instructions to compile: 90,004 → 91,084`."""
    return [_own_sentence(figure) for figure in changed_by_themselves(figures)]


def _own_sentence(figure: FigureChange) -> str:
    size = f"{percent(figure.share, signed=True)} " if math.isfinite(figure.share) else ""
    said = f"{size}{figure.words}: {format_count(figure.base)} → {format_count(figure.branch)}"
    return "; ".join([said, *map(code_words, figure.code)])


def layout_words(layout_ratios: Sequence[float]) -> str:
    """Return the changes in other memory layouts: how much of a change comes from addresses."""
    if not layout_ratios:
        return ""
    changes = [("+" if ratio > 1.0 else "") + percent(ratio - 1.0) for ratio in layout_ratios]
    return f"in other layouts {', '.join(changes)}"


def _functions(change: InstructionChange, more: bool) -> str:
    said = [each for each in change.functions if (each.instructions_per_run > 0) == more][:FUNCTIONS_NAMED]
    return (
        ", most in " + ", ".join(f"{each.function} ({each.instructions_per_run:+,.0f})" for each in said)
        if said
        else ""
    )
