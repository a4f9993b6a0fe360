"""Guards: reasons why two sides are not comparable, or why a verdict is doubtful.

In: facts about both sides, the outcomes of probes, machines, noise. Out: sentences; none if all is well. Pure.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from photometer.doctor.processor import STOLEN_SHARE
from photometer.instruments.machine_facts import short_flags
from photometer.model.machine import Machine, MachineNoise
from photometer.model.units import percent
from photometer.worker.messages import TorchFacts

# Sums in another order differ in the last digits of float32 (1e-7 each); more than this is another computation.
RESULT_TOLERANCE = 1e-4
# With more other work than this on the neighbouring core, replicates spread visibly more.
OTHERS_BUSY_SHARE = 0.5
# One more process is enough to make some of several threads wait; a false alarm was seen at a load of nine.
LOAD_FOR_THREADS = 1.5
# Clocks move by a few per cent with temperature; more means a governor or throttling.
CLOCK_SPREAD = 0.1


@dataclasses.dataclass(frozen=True)
class ProbeResult:
    """The results of one run of a statement on one side, and its settings.

    `results` are the named values, None if the statement has none to show; `not_compared_because` says why if it should
    have some. `modules` come from the checkout.
    """

    results: Mapping[str, Any] | None = None
    modules: tuple[str, ...] = ()
    num_threads: int | None = None
    flushes_denormals: bool | None = None
    not_compared_because: str = ""
    # Of one run, roughly; it decides how often the statement is run under Valgrind.
    seconds_per_run: float | None = None


def environment_warnings(base: TorchFacts, branch: TorchFacts) -> tuple[str, ...]:
    """Return the differences between the two environments besides the code."""
    warnings = [
        f"the {side} side is a debug build of torch: its times say nothing about a release"
        for side, facts in (("base", base), ("branch", branch))
        if facts.debug
    ]
    compared: tuple[tuple[str, Callable[[TorchFacts], object]], ...] = (
        ("Python", lambda facts: facts.python),
        ("torch", lambda facts: facts.torch),
        ("compiler flags of torch", lambda facts: short_flags(facts.build)),
        ("CPU capability of torch", lambda facts: _found(r"CPU capability usage: (\S+)", facts.build)),
        ("parallel backend of torch", lambda facts: _found(r"ATen parallel backend: ([^\n]+)", facts.parallel)),
        ("CUDA of torch", lambda facts: facts.cuda),
        ("C++ ABI of torch", lambda facts: facts.cxx11_abi),
    )
    for what, value in compared:
        ours, theirs = value(base), value(branch)
        if ours != theirs:
            warnings.append(f"{what} differs: {ours} on the base side, {theirs} on the branch side")
    return tuple(warnings)


def checkout_warning(base: Sequence[ProbeResult], branch: Sequence[ProbeResult]) -> tuple[str, ...]:
    """Return a warning if no benchmark imports anything from two git checkouts: both sides then run the same code."""
    if any(around.modules for around in (*base, *branch)):
        return ()
    return (
        "no benchmark imports anything from the checkouts: both sides run the same installed code. If the package "
        "must be built, give --install; if it lies deeper in the repository, use path:DIR",
    )


def overlay_warning(side: str, packages: Sequence[str]) -> str:
    return (
        f"{side}: no benchmark imports anything from {', '.join(packages)}, which was added "
        "there: the installed version is measured. Uninstall an editable installation that redirects imports"
    )


def left_out_warning(benchmarks: int) -> str:
    return f"{benchmarks} benchmarks for an accelerator are left out: a side's torch has no such device to use"


def order_warnings(base: ProbeResult, branch: ProbeResult) -> tuple[str, ...]:
    """Return the differences in the settings or in the results of one statement."""
    warnings = []
    if base.num_threads != branch.num_threads:
        warnings.append(f"torch has {base.num_threads} threads on the base side, {branch.num_threads} on the branch")
    if base.flushes_denormals != branch.flushes_denormals:
        flushing = "base" if base.flushes_denormals else "branch"
        warnings.append(f"only the {flushing} side flushes denormals to zero")
    difference = results_difference(base.results, branch.results)
    if difference is not None:
        warnings.append(f"the two sides compute different results: {difference}")
    reason = base.not_compared_because or branch.not_compared_because
    if reason:
        warnings.append(f"the results of the two sides were not compared: {reason}")
    return tuple(warnings)


def thread_warnings(num_threads: int, load_average: float) -> tuple[str, ...]:
    """Return a warning for several threads on a busy machine: they wait for cores and for each other."""
    if num_threads == 1 or load_average <= LOAD_FOR_THREADS:
        return ()
    return (
        f"{num_threads} threads were measured at a load average of {load_average:.1f}: threads that wait make "
        "false verdicts likely; measure again on a quiet machine",
    )


def results_difference(base: Mapping[str, Any] | None, branch: Mapping[str, Any] | None) -> str | None:
    """Return the first difference in words; None if they agree or if there is nothing to compare."""
    if base is None or branch is None:
        return None
    for name in sorted({*base, *branch}):
        ours, theirs = base.get(name), branch.get(name)
        if ours is None or theirs is None or len(ours) != len(theirs):
            return f"{name} has other parts"
        for one, other in zip(ours, theirs, strict=True):
            if one["shape"] != other["shape"]:
                return f"{name} has shape {one['shape']} on the base side, {other['shape']} on the branch side"
            if not _values_agree(one["values"], other["values"]):
                return f"the values of {name} differ"
    return None


def machine_warnings(base: Machine | None, branch: Machine | None) -> tuple[str, ...]:
    """Return the differences between the machines of two results files."""
    if base is None or branch is None:
        return ("a results file does not say which machine it is from",)
    warnings = []
    for name in ("cpu_model", "logical_cores", "governor", "hypervisor", "python"):
        ours, theirs = getattr(base, name), getattr(branch, name)
        if ours != theirs:
            warnings.append(f"{name.replace('_', ' ')} differs: {ours} on the base side, {theirs} on the branch side")
    return tuple(warnings)


def noise_warnings(noise: MachineNoise) -> tuple[str, ...]:
    """Return the machine's other activity. Verdicts hold, because it affects both sides alike, but take longer."""
    warnings = []
    if noise.others_busy_share is not None and noise.others_busy_share > OTHERS_BUSY_SHARE:
        warnings.append(
            f"another core was busy {percent(noise.others_busy_share)} of the time: verdicts hold, but take longer"
        )
    if noise.stolen_share is not None and noise.stolen_share > STOLEN_SHARE:
        warnings.append(f"the hypervisor took {percent(noise.stolen_share)} of the time for others")
    low, high = noise.lowest_megahertz, noise.highest_megahertz
    if low and high and high / low - 1.0 > CLOCK_SPREAD:
        warnings.append(f"the processor's clock moved between {low:.0f} and {high:.0f} MHz")
    return tuple(warnings)


def _values_agree(base: Sequence[float], branch: Sequence[float]) -> bool:
    if len(base) != len(branch):
        return False
    scale = max((abs(value) for value in base if math.isfinite(value)), default=0.0)
    return all(
        one == other or (math.isnan(one) and math.isnan(other)) or abs(one - other) <= RESULT_TOLERANCE * scale
        for one, other in zip(base, branch, strict=True)
    )


def _found(pattern: str, text: object) -> str | None:
    found = re.search(pattern, str(text or ""))
    return found.group(1) if found else None
