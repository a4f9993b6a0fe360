from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from photometer.instruments.callgrind.counter import find_illegal_instruction

LOG = """==7== Command: ./avx
vex amd64->IR: unhandled instruction bytes: 0x62 0xF1 0xFE 0x48 0x6F 0x7 0x62 0xF1 0x7D 0x48
vex amd64->IR:   REX=0 REX.W=0 REX.R=0 REX.X=0 REX.B=0
==7== valgrind: Unrecognised instruction at address 0x109129.
==7==    at 0x109129: kernel (avx512fintrin.h:6492)
==7==    by 0x109196: main (avx.c:3)
==7== Process terminating with default action of signal 4 (SIGILL)
"""


def test_avx512_is_told_with_its_place_and_the_way_out() -> None:
    found = find_illegal_instruction(LOG)
    assert found is not None
    assert found.is_avx512
    assert "an AVX-512 instruction that Valgrind does not know (62 f1 fe" in found.message
    assert found.message.endswith("in kernel (avx512fintrin.h:6492)")
    assert "-march=x86-64-v3" in found.remedy
    assert "TORCHINDUCTOR_CPP_MARCH=x86-64-v3" in found.remedy


def test_another_instruction_is_not_taken_for_avx512() -> None:
    found = find_illegal_instruction(LOG.replace("0x62 0xF1 0xFE", "0xF 0x1 0xCF"))
    assert found is not None
    assert not found.is_avx512
    assert "AVX" not in found.message + found.remedy


def test_another_crash_is_none() -> None:
    assert find_illegal_instruction("==7== Process terminating with default action of signal 11 (SIGSEGV)") is None


@pytest.mark.valgrind
@pytest.mark.compiler
def test_valgrind_still_words_it_so(tmp_path: Path) -> None:
    if shutil.which("valgrind") is None or shutil.which("gcc") is None:
        pytest.skip("valgrind or gcc is not installed")
    source = tmp_path / "evex.c"
    # vpaddd zmm0, zmm0, zmm0, written as bytes: the compiler and the machine need not know it.
    source.write_text('int main(void) { __asm__(".byte 0x62,0xf1,0x7d,0x48,0xfe,0xc0"); return 0; }\n')
    if subprocess.run(["gcc", "-dumpmachine"], capture_output=True, text=True, check=True).stdout[:6] != "x86_64":
        pytest.skip("AVX-512 is x86-64's")
    subprocess.run(["gcc", str(source), "-o", str(tmp_path / "evex")], check=True)
    log = tmp_path / "log"
    command = ["valgrind", "--tool=callgrind", "--vgdb=no", f"--log-file={log}"]
    command += [f"--callgrind-out-file={tmp_path / 'out'}", str(tmp_path / "evex")]
    status = subprocess.run(command, capture_output=True, check=False).returncode
    found = find_illegal_instruction(log.read_text())
    if status == 0:
        pytest.skip("this Valgrind knows AVX-512")
    assert found is not None
    assert found.is_avx512
