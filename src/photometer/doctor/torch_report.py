"""Findings about torch: which build, and how many threads it uses. A process of its own imports it and reports JSON.

The far side is `python -m photometer.doctor.torch_report`, with the variables of whoever asks: OMP_NUM_THREADS and its
like then mean what they mean to the user's own programs.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import json
import re
import subprocess
import sys
from typing import Any

from photometer.doctor.finding import Finding, State
from photometer.worker.accelerators import device_names, open_device

COMMAND = (sys.executable, "-m", "photometer.doctor.torch_report")
# Importing torch from a cold disk takes long.
IMPORT_SECONDS = 120.0
_INSTALL = "Install it: pip install torch."


@dataclasses.dataclass(frozen=True)
class TorchReport:
    version: str
    debug: bool
    config: str
    num_threads: int
    accelerators: tuple[str, ...] = ()


def torch_findings(cores: int) -> list[Finding]:
    if importlib.util.find_spec("torch") is None:
        return [Finding("torch", State.MEND, f"{sys.executable} has none", _INSTALL)]
    try:
        done = subprocess.run(
            COMMAND, capture_output=True, text=True, timeout=IMPORT_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return [
            Finding("torch", State.MEND, f"is not imported within {IMPORT_SECONDS:g} s", "Check the disk it is on.")
        ]
    if done.returncode != 0:
        cause = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return [Finding("torch", State.MEND, f"cannot be imported: {cause}", "Install it again.")]
    report = json.loads(done.stdout.strip().splitlines()[-1])
    return judge_torch(TorchReport(**{**report, "accelerators": tuple(report["accelerators"])}), cores)


def judge_torch(report: TorchReport, cores: int) -> list[Finding]:
    capability = re.search(r"CPU capability usage: (\S+)", report.config)
    words = [report.version, *([f"uses {capability.group(1)}"] if capability else []), *report.accelerators]
    if report.debug:
        build = Finding("torch", State.MEND, f"{words[0]}, a debug build", "Measure a release build: assertions cost.")
    else:
        build = Finding("torch", State.GOOD, ", ".join(words))
    threads = "1 thread" if report.num_threads == 1 else f"{report.num_threads} threads"
    if report.num_threads > cores:
        advice = (
            f"They share {cores} cores. Set OMP_NUM_THREADS={cores}. Photometer sets the number for each benchmark."
        )
        return [build, Finding("torch's threads", State.NOTE, f"{threads} by default", advice)]
    return [build, Finding("torch's threads", State.GOOD, f"{threads} by default; benchmarks have 1 unless they ask")]


def main() -> None:
    """Be the far side."""
    torch: Any = importlib.import_module("torch")
    names = [open_device(torch, name).name for name in device_names(torch) if ":" in name]
    report = TorchReport(
        version=str(torch.__version__),
        debug=bool(torch.version.debug),
        config=torch.__config__.show(),
        num_threads=torch.get_num_threads(),
        accelerators=tuple(names),
    )
    sys.stdout.write(json.dumps(dataclasses.asdict(report)) + "\n")


if __name__ == "__main__":
    main()
