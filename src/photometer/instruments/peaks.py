"""The peak of this machine: FLOPs per second of a matrix product, bytes per second of a copy, measured once and kept.

In: a session, a device, a number of threads and a type. Out: a MachinePeak. It is kept in the user's cache folder under
everything it depends on: processor or card, version of torch, device, threads, type.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path

from photometer.errors import DefinitionError, PhotometerError, ResultsFileError, SnippetError
from photometer.instruments.machine_facts import gather_machine
from photometer.model.code_folder import cache_root, make_code_folder
from photometer.model.records import from_record, to_record
from photometer.model.run_figures import MachinePeak
from photometer.model.whole_file import write_whole
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS
from photometer.session.session import Session
from photometer.worker.messages import Prepare, Time

# For each size the best of this many blocks counts: noise can only lower a peak.
BLOCKS = 15
# Several sizes, because no single one is the best on every machine; the largest are for many cores.
CPU_MATRICES = (256, 512, 1024, 2048, 4096)
GPU_MATRICES = (4096, 8192, 16384)
# Larger than any cache, so that memory is measured: 128 MiB on the CPU, 1 GiB on a card.
CPU_COPY_BYTES = 128 << 20
GPU_COPY_BYTES = 1 << 30
# The least length of a block: shorter ones are lost in the noise.
SHORTEST_BLOCK_SECONDS = 0.02
MOST_RUNS = 200
# A product that takes this long is large enough; a larger one would not be faster.
LONG_SECONDS = 0.03
# Used for types that have no matrix product.
DEFAULT_DTYPE = "float32"
DTYPES = ("float32", "float64", "bfloat16", "float16")
_GPU_FOLDER = Path("/proc/driver/nvidia/gpus")


def peak_of(
    session: Session, *, device: str = "cpu", num_threads: int = 1, dtype: str = DEFAULT_DTYPE, again: bool = False
) -> MachinePeak:
    """Return the kept peak, or measure it now; `again` measures it in any case."""
    dtype = dtype if dtype in DTYPES else DEFAULT_DTYPE
    # An accelerator's work does not depend on the host's threads.
    num_threads = num_threads if is_cpu(device) else 1
    wanted = MachinePeak(device, num_threads, dtype, 0.0, 0.0, _hardware(device), session.facts().torch)
    path = _place(wanted)
    kept = None if again else _kept(path, wanted)
    if kept is not None:
        return kept
    measured = dataclasses.replace(
        wanted,
        flops_per_second=_best_matmul(session, wanted),
        bytes_per_second=_best_copy(session, wanted),
        date=time.strftime("%Y-%m-%d"),
    )
    _keep(path, measured)
    return measured


def check_device(session: Session, device: str) -> None:
    """Raise if the environment has no such device."""
    known = session.facts().devices
    if device not in known:
        raise DefinitionError(f"there is no device {device!r}", remedy=f"Choose one of: {', '.join(known)}.")


def is_cpu(device: str) -> bool:
    return device.split(":")[0] == "cpu"


def _best_matmul(session: Session, peak: MachinePeak) -> float:
    best = 0.0
    for size in CPU_MATRICES if is_cpu(peak.device) else GPU_MATRICES:
        setup = _tensors(peak, f"({size}, {size})", "xy") + "\nz = x @ y"
        try:
            seconds = _best_seconds(session, peak, "torch.mm(x, y, out=z)", setup)
        except SnippetError:
            if best == 0.0:
                raise
            # The next size does not fit the device's memory.
            break
        best = max(best, 2.0 * size**3 / seconds)
        if seconds > LONG_SECONDS:
            break
    return best


def _best_copy(session: Session, peak: MachinePeak) -> float:
    size = CPU_COPY_BYTES if is_cpu(peak.device) else GPU_COPY_BYTES
    copied = dataclasses.replace(peak, dtype=DEFAULT_DTYPE)
    setup = _tensors(copied, f"({size // 4},)", "xy")
    return 2.0 * size / _best_seconds(session, peak, "x.copy_(y)", setup)


def _tensors(peak: MachinePeak, shape: str, names: Sequence[str]) -> str:
    # Random numbers: zeros draw less power, and a card then runs faster than with any real work.
    made = f'torch.rand({shape}, device="{peak.device}").to(torch.{peak.dtype})'
    return "\n".join(f"{name} = {made}" for name in names)


def _best_seconds(session: Session, peak: MachinePeak, stmt: str, setup: str) -> float:
    accelerator = not is_cpu(peak.device)
    prepare = Prepare(
        stmt,
        setup,
        num_threads=peak.num_threads,
        warmup_runs=2,
        device=peak.device if accelerator else "",
        synchronize=accelerator,
    )
    with session.child() as child:
        child.ask(prepare, DEFAULT_TIMEOUT_SECONDS)
        first = child.ask(Time(1), DEFAULT_TIMEOUT_SECONDS).seconds
        runs = int(min(max(SHORTEST_BLOCK_SECONDS / max(first, 1e-9), 1), MOST_RUNS))
        return min(child.ask(Time(runs), DEFAULT_TIMEOUT_SECONDS).seconds for _ in range(BLOCKS)) / runs


def _hardware(device: str) -> str:
    """Return the name of the processor or of the card."""
    if is_cpu(device):
        machine = gather_machine()
        return f"{machine.cpu_model or 'unknown processor'}, {machine.logical_cores} cores"
    number = int(device.partition(":")[2] or 0)
    cards = sorted(_GPU_FOLDER.glob("*/information")) if _GPU_FOLDER.is_dir() else []
    if number >= len(cards):
        return "unknown card"
    found = [line for line in cards[number].read_text().splitlines() if line.startswith("Model:")]
    return found[0].partition(":")[2].strip() if found else "unknown card"


def _place(peak: MachinePeak) -> Path:
    identity = [peak.machine, peak.torch, peak.device, peak.num_threads, peak.dtype]
    name = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
    return cache_root() / "peaks" / f"{name}.json"


def _kept(path: Path, wanted: MachinePeak) -> MachinePeak | None:
    try:
        peak = from_record(MachinePeak, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ResultsFileError):
        return None
    same = (peak.machine, peak.torch, peak.device, peak.num_threads, peak.dtype)
    is_ours = same == (wanted.machine, wanted.torch, wanted.device, wanted.num_threads, wanted.dtype)
    return peak if is_ours and peak.flops_per_second > 0 and peak.bytes_per_second > 0 else None


def _keep(path: Path, peak: MachinePeak) -> None:
    """Keep a peak for later; if that fails, it is measured again then."""
    try:
        make_code_folder(path.parent)
        write_whole(path, json.dumps(to_record(peak)).encode())
    except (OSError, PhotometerError):
        return
