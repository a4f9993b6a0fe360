"""Sixty misbehaving benchmarks, each beside a good one: a suite for the tests, and for benchmarks/endurance.py.

Each entry of MISBEHAVING is set-up and statement. Some of them do no harm to their own measurement (they leave
processes behind, flood the output, replace the clock), so that they succeed: SUCCEEDING.
"""

from __future__ import annotations

from photometer import TimerArgs

# How many seconds what is left behind sleeps.
SLEEP = "401"
WRITE = "import os\nfor n in range(3, {end}):\n    try: os.write(n, {what})\n    except OSError: pass"
KILL_PARENT = "import os, signal, time; os.kill(os.getppid(), signal.{name}); time.sleep(60)"
KILL_SELF = "import os; os.kill(os.getpid(), {number})"
EXCEPTION = "class E({base}):\n    def __str__(self): raise RuntimeError('no text')\nraise E"

# By what happens: each is (set-up, statement).
RAISING = {
    "zero division": ("pass", "1 / 0"),
    "no such name": ("pass", "no_such_name"),
    "no such module": ("import no_such_module_anywhere", "pass"),
    "syntax": ("pass", "x = = 1"),
    "syntax in setup": ("def f(:", "pass"),
    "null byte": ("pass", "x = '\0'"),
    "assertion": ("pass", "assert False, 'never'"),
    "base exception": ("pass", "raise BaseException('b')"),
    "system exit": ("raise SystemExit(0)", "pass"),
    "system exit in stmt": ("pass", "raise SystemExit('text')"),
    "keyboard interrupt": ("pass", "raise KeyboardInterrupt"),
    "generator exit": ("pass", "raise GeneratorExit"),
    "stop iteration": ("pass", "raise StopIteration"),
    "exception without text": ("pass", EXCEPTION.format(base="Exception")),
    "base exception without text": ("pass", EXCEPTION.format(base="BaseException")),
    "recursion": ("def f(): f()", "f()"),
    "memory of bytes": ("pass", "b'x' * 100_000_000_000"),
    "memory of a tensor": ("pass", "torch.ones(25_000_000_000)"),
    "late failure": ("calls = []", "calls.append(1); assert len(calls) < 40"),
    "huge message": ("pass", "raise ValueError('x' * 3_000_000)"),
    "surrogates": ("pass", "raise ValueError('\\ud800 \\x1b[31m')"),
    "exception group": ("pass", "raise ValueError('a\\nb\\rc')"),
}
CRASHING = {
    "segmentation fault": ("import ctypes", "ctypes.string_at(0)"),
    "abort": ("import os", "os.abort()"),
    "exit 0": ("import os", "os._exit(0)"),
    "exit 3": ("import os", "os._exit(3)"),
    "exit in setup": ("import os; os._exit(7)", "pass"),
    "illegal instruction": ("pass", KILL_SELF.format(number=4)),
    "bus error": ("pass", KILL_SELF.format(number=7)),
    "killed": ("pass", KILL_SELF.format(number=9)),
    "alarm": ("import signal; signal.alarm(1)", "while True: pass"),
    "signal 40": ("pass", KILL_SELF.format(number=40)),
    "terminated": ("pass", KILL_SELF.format(number=15)),
    "kills its group": ("import os, signal", "os.killpg(0, signal.SIGKILL)"),
    "kills the server": (KILL_PARENT.format(name="SIGKILL"), "pass"),
    "kills the server later": ("pass", KILL_PARENT.format(name="SIGKILL")),
    "terminates the server": (KILL_PARENT.format(name="SIGTERM"), "pass"),
    "closes descriptors": ("import os; os.closerange(0, 2000)", "pass"),
    "exec": ("import os", "os.execv('/bin/true', ['true'])"),
    "fork bomb, small": ("import os\nfor _ in range(5): os.fork()", "os._exit(1)"),
    "writes garbage everywhere": (WRITE.format(end=1024, what="b'x' * 64"), "pass"),
    "writes a length everywhere": (WRITE.format(end=1024, what=r"b'\xff' * 8"), "pass"),
    "writes JSON everywhere": (WRITE.format(end=1024, what=r"b'\0\0\0\0\0\0\0\2{}'"), "pass"),
}
HANGING = {
    "endless loop": ("pass", "while True: pass"),
    "endless setup": ("while True: pass", "pass"),
    "sleeps": ("import time", "time.sleep(600)"),
    "ignores signals": ("import signal\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)", "while True: pass"),
    "stops itself": ("import os, signal", "os.kill(os.getpid(), signal.SIGSTOP)"),
    "half a message everywhere": (WRITE.format(end=1024, what=r"b'\0\0\0\0\0\0\x10\0'"), "pass"),
}
SUCCEEDING = {
    "floods": ("pass", "print('x' * 10_000)"),
    "leaves a program": ("import subprocess; p = subprocess.Popen(['sleep', '401'])", "pass"),
    "leaves a fork": ("import os, time\nif os.fork() == 0: time.sleep(401)", "pass"),
    "leaves a session": ("import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(401)", "pass"),
    "fork that comes back": ("import os; os.fork()", "pass"),
    "clock of nan": ("import time; time.perf_counter = lambda: float('nan')", "pass"),
    "clock backwards": ("import time; time.perf_counter = lambda: -1.0", "pass"),
    "closes its output": ("import os; os.close(1); os.close(2)", "pass"),
    "changes folder and path": ("import os, sys; os.chdir('/tmp'); sys.path.clear()", "pass"),
    "stops the server": ("import os, signal; os.kill(os.getppid(), signal.SIGSTOP)", "pass"),
    "threads left running": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(401,), daemon=True).start()",
        "pass",
    ),
}
FAILING = {**RAISING, **CRASHING, **HANGING}
MISBEHAVING = {**FAILING, **SUCCEEDING}
GOOD = [f"good {i:02d}" for i in range(60)]


def suite(misbehaving: dict[str, tuple[str, str]] | None = None, sleep: str = SLEEP) -> dict[str, TimerArgs]:
    """Bad and good in turn. What is left behind sleeps for so many seconds, by which a test knows its own."""
    bad = list((MISBEHAVING if misbehaving is None else misbehaving).items())
    benchmarks = {}
    for place in range(max(len(bad), len(GOOD))):
        if place < len(bad):
            name, (setup, stmt) = bad[place]
            benchmarks[name] = TimerArgs(stmt, setup.replace(SLEEP, sleep), check=False)
        if place < len(GOOD):
            benchmarks[GOOD[place]] = TimerArgs(f"x + {place}", "x = torch.ones(3)")
    return benchmarks
