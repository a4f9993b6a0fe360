"""A Python statement's instructions by the processor's own counter, through Linux's perf_event_open.

In: a loop. Out: ProcessorCounts. If the kernel does not allow it, `perf_refusal` says why and what to do. The system
call has no wrapper in the C library, so it is made by number.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import functools
import os
import platform
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from photometer.errors import DefinitionError, ToolMissing
from photometer.instruments.replicate import WARMUP_RUNS
from photometer.model.run_figures import ProcessorCounts
from photometer.model.task import TaskSpec
from photometer.worker.python_loop import PythonLoop

"""As with Callgrind: CPython's specialising interpreter has settled by then."""

_SYSCALL_NUMBERS = {"x86_64": 298, "aarch64": 241}
_TYPE_HARDWARE = 0
_COUNT_INSTRUCTIONS = 1
# The first published size of perf_event_attr; every later kernel accepts it.
_ATTRIBUTE_BYTES = 64
# Bits of its flags: disabled, exclude_kernel, exclude_hv.
_FLAGS = 1 << 0 | 1 << 5 | 1 << 6
_ENABLE, _DISABLE, _RESET = 0x2400, 0x2401, 0x2403
_CLOSE_ON_EXEC = 1 << 3
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


class PerfCounter:
    """An open counter of this thread's instructions in user mode. A context manager."""

    def __init__(self) -> None:
        refusal = perf_refusal()
        if refusal is not None:
            raise ToolMissing("the processor's instruction counter cannot be used", remedy=refusal)
        self._descriptor = _open()

    def count(self, run_block: Callable[[int], object], number: int) -> int:
        """Return the instructions of one block of `number` runs."""
        fcntl.ioctl(self._descriptor, _RESET, 0)
        fcntl.ioctl(self._descriptor, _ENABLE, 0)
        try:
            run_block(number)
        finally:
            fcntl.ioctl(self._descriptor, _DISABLE, 0)
        (instructions,) = struct.unpack("=Q", os.read(self._descriptor, 8))
        return int(instructions)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._descriptor)

    def __enter__(self) -> PerfCounter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def count_by_processor(loop: object, task_spec: TaskSpec, number: int, repeats: int) -> ProcessorCounts:
    """Count in this process: the garbage collector is off, the memory layout is not controlled."""
    if not isinstance(loop, PythonLoop):
        raise DefinitionError(
            "the processor's counter counts only Python statements, in this process",
            remedy="Use collect_callgrind for C++.",
        )
    if number < 1 or repeats < 1:
        raise DefinitionError(f"number and repeats must be at least 1, not {number} and {repeats}")
    with PerfCounter() as counter:
        counted = []
        for each in (loop, PythonLoop()):
            with each.open_blocks() as run_block:
                run_block(WARMUP_RUNS)
                counter.count(run_block, 0)
                counted.append(tuple(counter.count(run_block, number) for _ in range(repeats)))
    return ProcessorCounts(task_spec, number, counted[0], counted[1])


@functools.lru_cache(maxsize=1)
def perf_refusal() -> str | None:
    """Return None if the counter works, otherwise why not, as a sentence. The kernel is asked once per process."""
    if sys.platform != "linux" or platform.machine() not in _SYSCALL_NUMBERS:
        return f"perf_event_open exists on Linux, on x86-64 or aarch64; this is {sys.platform} on {platform.machine()}."
    try:
        os.close(_open())
    except OSError as error:
        return explain_refusal(error.errno, _PARANOID.read_text().strip() if _PARANOID.exists() else None)
    return None


def explain_refusal(number: int | None, paranoid: str | None) -> str:
    """Return what the kernel's error number means for the user."""
    if number in (errno.EACCES, errno.EPERM):
        level = f" (kernel.perf_event_paranoid is {paranoid})" if paranoid is not None else ""
        return (
            f"The kernel does not allow perf_event_open{level}: set kernel.perf_event_paranoid to 2 or less, "
            "or give the container the capability CAP_PERFMON and a seccomp profile that lets the call pass."
        )
    if number in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP):
        return "This machine has no instruction counter, like most virtual machines: use Callgrind."
    if number == errno.ENOSYS:
        return "This kernel was built without perf events, or a container filters the call: use Callgrind."
    name = errno.errorcode.get(number or 0, str(number))
    return f"perf_event_open failed with {name}: use Callgrind."


def _open() -> int:
    return open_event(_TYPE_HARDWARE, _COUNT_INSTRUCTIONS)


def open_event(event_type: int, event: int) -> int:
    """Return a descriptor that counts an event of this thread in user mode; it is not started."""
    fields = (event_type, _ATTRIBUTE_BYTES, event, 0, 0, 0, _FLAGS)
    attribute = ctypes.create_string_buffer(struct.pack("=IIQQQQQ", *fields), _ATTRIBUTE_BYTES)
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    # This thread (0), on any processor (-1), in no group (-1).
    number = _SYSCALL_NUMBERS[platform.machine()]
    arguments = [ctypes.c_long(value) for value in (0, -1, -1, _CLOSE_ON_EXEC)]
    descriptor = call(ctypes.c_long(number), attribute, *arguments)
    if descriptor < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(descriptor)
