"""CountTask: one statement to count, self-contained. CountedTask: the profiles of its repeats.

A Timer or a plan makes the first; a Timer's globals travel with it as copies, as torch's collect_callgrind takes them,
and become Python text that defines the names where they are counted. InstructionCounts, CallgrindStats and inclusive
counts without the frames of the loop around the statement are made from the second.
"""

from __future__ import annotations

import io
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from photometer.errors import DefinitionError
from photometer.instruments.callgrind.call_tree import SMALLEST_SHARE, FoldedStack
from photometer.instruments.callgrind.figures import (
    Edge,
    exclusive_counts,
    figures_of,
    function_name,
    inclusive_counts,
    inclusive_sums,
    instruction_counts,
)
from photometer.instruments.callgrind.profile import INSTRUCTIONS, UNKNOWN, CallgrindProfile
from photometer.instruments.callgrind.python_frames import NO_FRAMES, FrameMap, python_stacks
from photometer.instruments.cpp.snippet import BuiltSnippet
from photometer.model.copy_if_callgrind import CopyIfCallgrind, Serialization
from photometer.model.instruction_counts import CallgrindStats, FunctionCounts, InstructionCounts, stable_repeat_of
from photometer.model.task import TaskSpec
from photometer.session.layout import of_fixed_length
from photometer.worker.torch_here import torch_or_missing

_LITERAL_TYPES = (str, bytes, bool, int)
_LEFT_OUT = ("torch", "__builtins__")


@dataclass(frozen=True)
class CopiedGlobal:
    """A name and how to make its value: an expression, or the bytes of a file and the function that loads it."""

    name: str
    setup: str | None
    expression: str | None = None
    loader: str | None = None
    data: bytes = b""


# A class of the user's script is saved as one of `__main__`. The set-up imports it, so it must be found there.
_SHOWN_IN_MAIN = """
for _photometer_name, _photometer_value in list(globals().items()):
    vars(__import__("sys").modules["__main__"]).setdefault(_photometer_name, _photometer_value)
"""


def copy_globals(globals: Mapping[str, Any]) -> tuple[CopiedGlobal, ...]:
    """Return a copy of every global. As in torch, another `torch` and values not marked for copying are refused."""
    if not globals:
        return ()
    torch = torch_or_missing()
    if globals.get("torch", torch) is not torch:
        raise DefinitionError(
            "instructions are counted in another process, where `torch` cannot be replaced by a global",
            remedy="Give the replacement another name and create it in `setup`.",
        )
    copied = []
    for name, value in globals.items():
        if name in _LEFT_OUT:
            continue
        if not isinstance(value, CopyIfCallgrind):
            raise DefinitionError(
                f"the global {name!r} cannot be shared with the process that counts instructions, only copied",
                remedy=f"Write CopyIfCallgrind({name}) to allow the copy, or create it in `setup`. "
                "A callable statement is also such a global: give the statement as text.",
            )
        copied.append(_copied(name, value))
    return tuple(copied)


def globals_text(copied: Sequence[CopiedGlobal], folder: Path) -> str:
    """Return Python text that defines the globals. Files that it reads are written to `folder`."""
    lines = []
    for i, each in enumerate(copied):
        if each.setup is not None:
            lines.append(textwrap.dedent(each.setup))
        if each.setup is not None and each.loader == "torch.load":
            lines.append(_SHOWN_IN_MAIN)
        if each.expression is not None:
            lines.append(f"{each.name} = {each.expression}")
            continue
        path = folder / f"global-{i}"
        path.write_bytes(each.data)
        options = ", weights_only=False" if each.loader == "torch.load" else ""
        lines.append(f"{each.name} = {each.loader}({of_fixed_length(str(path))!r}{options})")
    return "\n".join(lines)


def _copied(name: str, wrapped: CopyIfCallgrind) -> CopiedGlobal:
    torch = torch_or_missing()
    value = wrapped.value
    buffer = io.BytesIO()
    if wrapped.serialization is Serialization.TORCH_JIT:
        torch.jit.save(value, buffer)
        return CopiedGlobal(name, wrapped.setup, loader="torch.jit.load", data=buffer.getvalue())
    expression = None if wrapped.serialization is Serialization.TORCH else _expression(value)
    if expression is not None:
        return CopiedGlobal(name, wrapped.setup, expression=expression)
    # A module, or a subclass of a builtin type such as an IntEnum: torch.save, which the user has allowed.
    try:
        torch.save(value, buffer)
    except Exception as error:
        raise DefinitionError(
            f"the global {name!r} cannot be copied to the process that counts instructions: {error}",
            remedy="Define its class in a module that can be imported, or create it in `setup`.",
        ) from error
    return CopiedGlobal(name, wrapped.setup, loader="torch.load", data=buffer.getvalue())


def _expression(value: Any) -> str | None:
    if type(value) in _LITERAL_TYPES:
        return repr(value)
    # Infinities and not-a-number have no literal.
    if type(value) is float:
        return f"float({str(value)!r})"
    if type(value) is complex:
        return f"complex({_expression(value.real)}, {_expression(value.imag)})"
    return None


# The statement's own bytecode runs in it, so it is never left out.
INTERPRETER_LOOP = "_PyEval_EvalFrameDefault"


def inclusive_counts_of_statement(
    profile: CallgrindProfile, loop_profile: CallgrindProfile, event: str = INSTRUCTIONS
) -> FunctionCounts:
    """Return the cost of each function of the statement with its callees, as `inclusive_counts` does."""
    loop_calls = _call_counts(loop_profile)
    harness = {edge for edge, count in _call_counts(profile).items() if count <= loop_calls.get(edge, 0)}
    own = inclusive_sums(profile, event, without=harness)
    of_loop = inclusive_sums(loop_profile, event, without=harness)
    kept = {
        function: count
        for function, count in own.items()
        if count > of_loop.get(function, 0) or INTERPRETER_LOOP in function
    }
    return FunctionCounts.from_mapping(kept, inclusive=True)


def _call_counts(profile: CallgrindProfile) -> dict[Edge, int]:
    counts: defaultdict[Edge, int] = defaultdict(int)
    for call in profile.calls:
        counts[call.caller, call.caller_file, call.callee] += call.count
    return counts


DEFAULT_NUMBER = 100
"""As in torch: an occasional cost, such as a growing list, then counts as a hundredth."""

WARMUP_RUNS = 100
"""Ten are too few for CPython's specialising interpreter; a hundred settle it."""

FEWER_NUMBERS = (10, 1)
"""Tried if the usual number of runs would exceed the time limit, with as many runs to warm up."""

SLOWER_UNDER_VALGRIND = 60.0
"""How many times longer a run takes under Valgrind; 20 to 80 were seen."""

SHARE_OF_LIMIT = 0.5
"""The share of the time limit that runs may be expected to take; the expectation is no more precise than that."""

TIMEOUT_SECONDS = 600.0
"""Code runs about fifty times slower under Callgrind; a statement of 10 ms needs 150 s for 300 runs."""


@dataclass(frozen=True)
class CountTask:
    """A task to count.

    `stmt` is the text that runs, if it differs from the text that is shown (`task_spec.stmt`). A C++ statement comes
    compiled, as `built`. `seed` is that of random numbers; None is the fixed one of all counts.
    """

    task_spec: TaskSpec
    stmt: str | None = None
    copied_globals: tuple[CopiedGlobal, ...] = ()
    built: BuiltSnippet | None = None
    number: int = DEFAULT_NUMBER
    repeats: int = 1
    warmup_runs: int = WARMUP_RUNS
    timeout_seconds: float = TIMEOUT_SECONDS
    # Modules that its suite wants imported beforehand.
    preload: tuple[str, ...] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.number < 1:
            raise DefinitionError(f"number must be at least 1, not {self.number}")
        if self.repeats < 1:
            raise DefinitionError(f"repeats must be at least 1, not {self.repeats}")

    def of_runs(self, number: int) -> CountTask:
        """Return the task with this many runs, and at most as many to warm up."""
        return replace(self, number=number, warmup_runs=min(self.warmup_runs, number))

    def fitting(self, seconds_per_run: float | None) -> tuple[CountTask, ...]:
        """Return the task with as many runs as fit its time limit, then with fewer and fewer in case they do not.

        `seconds_per_run` is without Valgrind; if it is unknown, the unchanged task comes first.
        """
        fewer = [self, *(self.of_runs(number) for number in FEWER_NUMBERS if number < self.number)]
        slow = SLOWER_UNDER_VALGRIND * (seconds_per_run or 0.0)
        most = SHARE_OF_LIMIT * self.timeout_seconds
        fitting = [task for task in fewer if slow * (task.number + task.warmup_runs) <= most]
        return tuple(fitting or fewer[-1:])

    @property
    def statement_text(self) -> str:
        """Return the code that is counted."""
        return self.task_spec.stmt if self.stmt is None else self.stmt


@dataclass(frozen=True)
class CountedTask:
    """The profiles of a task's repeats, the profile of as many empty runs, and remarks about them."""

    task: CountTask
    profiles: tuple[CallgrindProfile, ...]
    loop_profile: CallgrindProfile
    out_texts: tuple[str, ...] = field(default=(), repr=False)
    frozen_layout: bool = True
    reasons: tuple[str, ...] = ()
    frame_maps: tuple[FrameMap, ...] = ()

    def __repr__(self) -> str:
        return f"<photometer.CountedTask {self.task.task_spec.title!r}: {len(self.profiles)} profiles>"

    def instruction_counts(self) -> InstructionCounts:
        """Return three figures per run, and how far the repeats agree."""
        return instruction_counts(
            self.task.task_spec,
            self.task.number,
            self.profiles,
            loop_baseline=figures_of(self.loop_profile),
            frozen_layout=self.frozen_layout,
            reasons=self.reasons,
        )

    def function_counts(self) -> FunctionCounts:
        """Return the instructions of each function itself in the stable repeat, by name alone."""
        stable = stable_repeat_of(profile.total() for profile in self.profiles)
        return exclusive_counts(self.profiles[stable]).transform(function_name)

    def stacks(self, *, smallest_share: float = SMALLEST_SHARE) -> list[FoldedStack]:
        """Return the call stacks of the stable repeat, with Python's functions if the count included them."""
        stable = stable_repeat_of(profile.total() for profile in self.profiles)
        frames = self.frame_maps[stable] if self.frame_maps else NO_FRAMES
        return python_stacks(self.profiles[stable], frames, smallest_share=smallest_share)

    def _inclusive(self, profile: CallgrindProfile) -> FunctionCounts:
        """Return inclusive counts without the frames of the loop; a compiled statement has none."""
        if self.task.built is not None:
            return inclusive_counts(profile)
        return inclusive_counts_of_statement(profile, self.loop_profile)

    def callgrind_stats(self, *, collect_baseline: bool = True) -> tuple[CallgrindStats, ...]:
        """Return one per repeat. As in torch, a compiled statement has no baseline: it has no Python loop around it."""
        collect_baseline = collect_baseline and self.task.built is None
        empty = FunctionCounts((), inclusive=False), FunctionCounts((), inclusive=True)
        loop = exclusive_counts(self.loop_profile), self._inclusive(self.loop_profile)
        baseline_exclusive, baseline_inclusive = loop if collect_baseline else empty
        texts: tuple[str | None, ...] = self.out_texts or (None,) * len(self.profiles)
        return tuple(
            CallgrindStats(
                task_spec=self.task.task_spec,
                number_per_run=self.task.number,
                built_with_debug_symbols=names_source_files_of_torch(profile),
                baseline_inclusive_stats=baseline_inclusive,
                baseline_exclusive_stats=baseline_exclusive,
                stmt_inclusive_stats=self._inclusive(profile),
                stmt_exclusive_stats=exclusive_counts(profile),
                stmt_callgrind_out=text,
                figures=figures_of(profile),
                baseline_figures=figures_of(self.loop_profile) if collect_baseline else None,
            )
            for profile, text in zip(self.profiles, texts, strict=True)
        )


def names_source_files_of_torch(profile: CallgrindProfile) -> bool:
    """Return whether any function of torch's own libraries has a source file, which only debug symbols provide."""
    return any(
        "/libtorch" in cost.function.object_path and cost.function.file != UNKNOWN for cost in profile.self_costs
    )
