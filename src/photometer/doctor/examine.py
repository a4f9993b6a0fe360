"""examine: all findings about this machine, and the noise test. quick_look: what `run` and `compare` say of it.

In: nothing but the machine. Out: an Examination. `quick_look` takes a quarter of a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from photometer.doctor.finding import Examination, Finding, State
from photometer.doctor.gpu import find_gpus, gpu_findings
from photometer.doctor.kernel import kernel_findings
from photometer.doctor.noise_test import DEFAULT_SECONDS, NoiseTest, Work, take_noise_test
from photometer.doctor.processor import Look, neighbour_findings, processor_findings
from photometer.doctor.system_files import SystemFiles
from photometer.doctor.tools import tool_findings
from photometer.doctor.torch_report import torch_findings
from photometer.session.cores import allowed_cores, usable_cores

LOOK_SECONDS = 1.0
QUICK_LOOK_SECONDS = 0.25
# Below this share of visits in the best state, two runs differ by more than a few per cent in many figures.
BEST_SHARE_WANTED = 0.95
BEST_SHARE_NEEDED = 0.75
_PAIRED = "ab and compare measure side by side, which cancels most of it."


def examine(
    *,
    noise_seconds: float = DEFAULT_SECONDS,
    files: SystemFiles | None = None,
    on_noise: Callable[[float], object] = lambda _: None,
) -> Examination:
    """Look at everything. Without seconds for it there is no noise test."""
    files = files or SystemFiles()
    # The neighbours first: what we start ourselves is no neighbour.
    neighbours = look_for_neighbours(files, LOOK_SECONDS)
    findings = [*processor_findings(files, allowed_cores()), *neighbours]
    noise = take_noise_test(usable_cores(), noise_seconds, on_visit=on_noise) if noise_seconds > 0 else None
    if noise is not None:
        findings += noise_findings(noise)
    findings += kernel_findings(files)
    findings += tool_findings()
    findings += torch_findings(len(usable_cores()))
    findings += gpu_findings(files, find_gpus())
    return Examination(tuple(findings), noise)


def quick_look(files: SystemFiles | None = None) -> Examination:
    """Return what concerns times and is known at once; ask before anything of ours runs."""
    files = files or SystemFiles()
    neighbours = look_for_neighbours(files, QUICK_LOOK_SECONDS)
    return Examination((*processor_findings(files, allowed_cores()), *neighbours, *kernel_findings(files)))


def look_for_neighbours(files: SystemFiles, seconds: float) -> list[Finding]:
    before = Look.now(files)
    time.sleep(seconds)
    return neighbour_findings(before, Look.now(files), files)


def noise_findings(noise: NoiseTest) -> list[Finding]:
    findings = []
    for work in Work:
        share, interrupted = noise.best_share(work), noise.interrupted_share(work)
        slow = [f"{state.slowdown - 1:.0%} slower for {state.share:.0%}" for state in noise.states(work)[1:4]]
        fact = f"at its best speed for {share:.0%} of the time" + (f"; {', '.join(slow)} of it" if slow else "")
        fact += f"; {interrupted:.1%} of the blocks interrupted"
        state = State.GOOD if share >= BEST_SHARE_WANTED else State.NOTE
        state = State.MEND if share < BEST_SHARE_NEEDED else state
        advice = "" if state is State.GOOD else f"Stop other work, or use a quieter machine. {_PAIRED}"
        findings.append(Finding(f"noise ({work.value})", state, fact, advice))
    return findings


def summary_line(examination: Examination) -> str:
    """Return one line for whoever starts a run: what to mend, and where to read about it."""
    mend = examination.to_mend()
    if not mend:
        known = [f.fact for f in examination.findings if f.topic in ("cores", "neighbours")]
        return f"machine: {'; '.join(known)}. Nothing to mend."
    more = f" and {len(mend) - 2} more" if len(mend) > 2 else ""
    named = "; ".join(f"{finding.topic}: {finding.fact}" for finding in mend[:2])
    return f"machine: {named}{more}. `photometer doctor` says what to do."
