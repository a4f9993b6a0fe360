"""The work of a run, FLOPs and bytes, as the author gave them or as counted in one run; and the machine's peak.

In: a session and a request. Out: WorkOfRun, without any run if the author gave both; MachinePeak: FLOPs per second of
a matrix product, bytes per second of a copy. It is the same for all orders of a device, a number of threads and a type,
and is returned once per session. It is measured once, and kept in the user's cache folder under everything that it
depends on: processor or card, version of torch, device, threads, type.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from photometer.errors import DefinitionError, PhotometerError, ResultsFileError, SnippetError
from photometer.instruments.declaration import Asked, Beside, Instrument, Option
from photometer.instruments.machine_facts import gather_machine
from photometer.instruments.ready_order import prepared_child, task_spec_of
from photometer.model.code_folder import cache_root, make_code_folder
from photometer.model.records import from_record, to_record
from photometer.model.run_figures import MachinePeak, WorkOfRun
from photometer.model.task import Language
from photometer.model.whole_file import write_whole
from photometer.plan.auto_labels import RuntimeMode
from photometer.plan.work_order import DEFAULT_TIMEOUT_SECONDS, OrderFigures, WorkOrder
from photometer.session.session import Session
from photometer.worker.figure_messages import CountWork, Work
from photometer.worker.messages import Prepare, Time

RATES = Option("rates", "Count FLOPs and bytes; compare GFLOP/s and GB/s with this machine's peak.")


def _is_countable(order: WorkOrder) -> bool:
    return order.args.language is Language.PYTHON and order.auto.runtime in (RuntimeMode.EAGER, RuntimeMode.EXPLICIT)


def _has_work(order: WorkOrder, options: Mapping[str, bool]) -> bool:
    figures = order.figures or OrderFigures()
    is_given = figures.flops is not None or figures.bytes is not None
    return is_given or (options.get(RATES.name, RATES.default) and _is_countable(order))


def measure_work(session: Session, asked: Asked) -> WorkOfRun:
    """Return the author's figures and, with rates, counts of one run for figures that the author did not give."""
    order, figures = asked.order, asked.order.figures or OrderFigures()
    given = WorkOfRun(
        task_spec_of(order),
        figures.flops,
        figures.bytes,
        flops_given=figures.flops is not None,
        bytes_given=figures.bytes is not None,
    )
    if not (asked.options.get(RATES.name, RATES.default) and _is_countable(order)):
        return given
    counted = _counted(session, asked)
    return dataclasses.replace(
        given,
        flops=given.flops if given.flops_given else counted.flops,
        bytes=given.bytes if given.bytes_given else counted.bytes,
        dtype=counted.dtype,
    )


def _counted(session: Session, asked: Asked) -> Work:
    with prepared_child(session, asked.ready, asked.cores) as child:
        return child.ask(CountWork(), asked.order.timeout_seconds)


def measure_peak(session: Session, asked: Asked) -> MachinePeak | None:
    """Return the peak for the type that most of the order's work is done in; None if this session has returned it."""
    dtype, order = _counted(session, asked).dtype, asked.order
    peak = peak_of(session, device=order.auto.device, num_threads=order.args.num_threads, dtype=dtype)
    return peak if session.remembered.setdefault(peak, asked.order.id) == asked.order.id else None


WORK = Instrument(
    name="work",
    doing="counting work",
    record=WorkOfRun,
    measure=measure_work,
    applies=_has_work,
    beside=Beside.OTHER_CORES,
    first_guess_seconds=0.2,
)

PEAK = Instrument(
    name="peak",
    doing="measuring the machine's peak",
    record=MachinePeak,
    measure=measure_peak,
    option=RATES,
    applies=lambda order, options: _is_countable(order),
    beside=Beside.OTHER_CORES,
    first_guess_seconds=0.5,
)


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
