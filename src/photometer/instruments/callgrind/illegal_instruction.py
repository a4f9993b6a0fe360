"""Recognise a crash on an instruction that Valgrind does not know, and suggest what to do.

In: the log that Valgrind wrote for a process. Out: an IllegalInstruction, or None.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_UNHANDLED = re.compile(r"unhandled instruction bytes: ((?:0x[0-9A-Fa-f]+ ?)+)")
_PLACE = re.compile(r"Unrecognised instruction at address .*\n==\d+==\s+at 0x[0-9A-Fa-f]+: (.+)")
_EVEX_PREFIX = 0x62
"""The first byte of every AVX-512 instruction, and of no other in 64-bit code."""


@dataclass(frozen=True)
class IllegalInstruction:
    """The bytes that Valgrind could not decode, and where in the program."""

    instruction_bytes: tuple[int, ...]
    place: str

    @property
    def is_avx512(self) -> bool:
        return self.instruction_bytes[:1] == (_EVEX_PREFIX,)

    @property
    def message(self) -> str:
        kind = "an AVX-512 instruction" if self.is_avx512 else "an instruction"
        shown = " ".join(f"{byte:02x}" for byte in self.instruction_bytes)
        where = f" in {self.place}" if self.place else ""
        return f"the statement executes {kind} that Valgrind does not know ({shown}){where}"

    @property
    def remedy(self) -> str:
        if not self.is_avx512:
            return "A newer Valgrind may know it. Timing this statement works; counting its instructions does not."
        return (
            "Valgrind has no AVX-512. ATen, oneDNN and MKL ask the processor and use AVX2 under Valgrind; code "
            "built for this machine does not. Build yours with -march=x86-64-v3 instead of -march=native; for "
            "torch.compile set ATEN_CPU_CAPABILITY=avx2 and TORCHINDUCTOR_CPP_MARCH=x86-64-v3 (torch 2.13 reads both)."
        )


def find_illegal_instruction(valgrind_log: str) -> IllegalInstruction | None:
    """Return the instruction that killed the process, if the log has one."""
    unhandled = _UNHANDLED.search(valgrind_log)
    if unhandled is None:
        return None
    place = _PLACE.search(valgrind_log)
    return IllegalInstruction(tuple(int(byte, 16) for byte in unhandled[1].split()), place[1] if place else "")
