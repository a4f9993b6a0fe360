"""The suite `overrides`: what overriding costs a call into torch, as a ladder of rungs for several kinds of call.

    from photometer.suites.overrides import RUNGS, Rung, ladder
    mine = Rung("MyTensor", "SubTensor", "MyTensor({})", definitions="from my_package import MyTensor")
    BENCHMARKS = ladder([*RUNGS, mine])        # your own type on the ladder, in a suite of your own

Labels are the call, then the rung. A rung's tag `ladder:3>1` says that it is number 3 and stands on number 1.
"""

from __future__ import annotations

from collections.abc import Iterable

from photometer.definition import GroupedSetup, GroupedStmts
from photometer.definition.grouped import GroupedBenchmark, Label
from photometer.errors import DefinitionError
from photometer.suites.overrides.call import CALLS, Call
from photometer.suites.overrides.rung import RUNGS, Rung

__all__ = ["BENCHMARKS", "CALLS", "RUNGS", "Call", "Rung", "ladder"]

# The four types that bench.py had: `--classic` prints these.
CLASSIC = ("Tensor", "SubTensor", "WithTorchFunction", "SubWithTorchFunction")
# Arguments in one place and not in another differ only where the argument's type is what overrides.
_GROUND_OF_POSITIONS = ("Tensor",)


def ladder(rungs: Iterable[Rung] = RUNGS, calls: Iterable[Call] = CALLS) -> dict[Label, GroupedBenchmark]:
    """Every call on every rung that can take it."""
    rungs = tuple(rungs)
    names = [rung.name for rung in rungs]
    for rung in rungs:
        if rung.over is not None and rung.over not in names:
            raise DefinitionError(
                f"the rung {rung.name} stands on {rung.over}, which is not there",
                remedy=f"Add it, or stand on one of {', '.join(names)}.",
            )
    return {
        (*call.label, rung.name): _benchmark(call, rung, _place(rung, names))
        for call in calls
        for rung in rungs
        if (rung.takes_methods or not call.needs_methods)
        and (rung.is_about_arguments or rung.name in _GROUND_OF_POSITIONS or not call.is_about_position)
    }


def _place(rung: Rung, names: list[str]) -> str:
    """A tag with numbers, not names: a word of -k that names a rung must not find those that stand on it."""
    below = "" if rung.over is None else f">{names.index(rung.over)}"
    return f"ladder:{names.index(rung.name)}{below}"


def _benchmark(call: Call, rung: Rung, place: str) -> GroupedBenchmark:
    lines = [rung.definitions]
    lines += [f"{name} = torch.ones({call.shape_of(name)})" for name in call.plain]
    lines += [f"{name} = {rung.wrapped(f'torch.ones({call.shape_of(name)})')}" for name in call.own]
    lines += [call.before, rung.enter]
    tags = [place]
    if call.label == ("torch.add",):
        tags += ["quick", *(["classic"] if rung.name in CLASSIC else [])]
    setup = GroupedSetup(py_setup="\n".join(line for line in lines if line))
    return GroupedStmts(call.stmt, setup=setup, tags=tuple(tags), timeout_seconds=rung.timeout_seconds)


BENCHMARKS = ladder()
