"""Client requests outside Valgrind: they do nothing, and say so."""

from __future__ import annotations

import ctypes
import platform

import pytest

from photometer.worker import valgrind_requests
from photometer.worker.valgrind_requests import count_blocks, hooks, running_on_valgrind, start_instrumentation


def test_outside_valgrind_requests_do_nothing() -> None:
    assert not running_on_valgrind()
    start_instrumentation()


def test_the_hook_is_a_native_function_without_arguments() -> None:
    toggle = ctypes.CFUNCTYPE(None)(hooks().toggle)
    for _ in range(3):
        toggle()
    assert hooks() is hooks()


def test_count_refuses_to_run_uncounted() -> None:
    with pytest.raises(RuntimeError, match="under Valgrind"):
        count_blocks(lambda number: 0.0, 1, warmup_runs=1)


def test_rehearsals_run_nothing_and_come_before_the_warmup(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    monkeypatch.setattr(valgrind_requests, "running_on_valgrind", lambda: True)
    dumps = count_blocks(lambda number: runs.append(number) or 0.0, 5, warmup_runs=9)  # type: ignore[func-returns-value]
    assert runs == [0] * valgrind_requests.PRACTICE_RUNS + [9, 5]
    assert dumps == 2


def test_another_processor_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "sparc")
    with pytest.raises(RuntimeError, match="sparc"):
        valgrind_requests._machine_code()


@pytest.mark.lengthy
def test_the_aarch64_hook_finds_its_words_behind_the_code() -> None:
    address = 0x1122334455667788
    code = valgrind_requests._without_arguments(valgrind_requests._AARCH64, address)
    load = int.from_bytes(code[:4], "little")
    assert load >> 24 == 0x58  # ldr x?, literal
    assert load & 31 == 0  # x0
    offset = (load >> 5 & 0x7FFFF) * 4
    assert code[offset : offset + 8] == address.to_bytes(8, "little")
    assert code[8 : 8 + len(valgrind_requests._AARCH64)] == valgrind_requests._AARCH64
