"""`python without.py [--refuse CALL,…] [--hide FOLDER,…] -- COMMAND…`: run a command where parts of Linux are missing.

System calls are refused by the kernel (a seccomp filter, as containers use it), and folders are hidden by empty file
systems in a mount namespace of the command's own. Both hold for everything that the command starts. Nothing here is
imported by tests as a module but `why_not`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import shutil
import subprocess
import sys

NUMBERS = {
    "x86_64": {"personality": 135, "sched_setaffinity": 203, "ptrace": 101, "prlimit64": 302, "perf_event_open": 298},
    "aarch64": {"personality": 92, "sched_setaffinity": 122, "ptrace": 117, "prlimit64": 261, "perf_event_open": 241},
}
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _SECCOMP_MODE_FILTER = 22, 38, 2
_LOAD_NUMBER, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_HIDDEN = "PHOTOMETER_TEST_HIDDEN"


class _Instruction(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_ushort),
        ("if_true", ctypes.c_ubyte),
        ("if_false", ctypes.c_ubyte),
        ("value", ctypes.c_uint),
    ]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction))]


def refuse(calls: list[str]) -> None:
    """Have the kernel refuse these calls, of this process and of all that it starts, with EPERM."""
    numbers = NUMBERS[platform.machine()]
    steps = [_Instruction(_LOAD_NUMBER, 0, 0, 0)]
    for call in calls:
        steps += [_Instruction(_JUMP_IF_EQUAL, 0, 1, numbers[call]), _Instruction(_RETURN, 0, 0, _REFUSE)]
    steps.append(_Instruction(_RETURN, 0, 0, _ALLOW))
    program = _Program(len(steps), (_Instruction * len(steps))(*steps))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "the kernel accepts no filter of system calls")


def hiding(folders: list[str]) -> list[str]:
    """Return what to put before a command so that it sees these folders empty."""
    mounts = " && ".join(f"mount -t tmpfs none {folder}" for folder in folders)
    owner = [] if os.getuid() == 0 else ["-r"]
    return ["unshare", *owner, "-m", "sh", "-c", f'{mounts} && exec "$@"', "sh"]


def why_not(refused: bool, hidden: bool) -> str | None:
    """Return why parts cannot be taken away here, or None."""
    if sys.platform != "linux" or platform.machine() not in NUMBERS:
        return f"the numbers of system calls are not known on {sys.platform}, {platform.machine()}"
    if hidden:
        if shutil.which("unshare") is None:
            return "unshare (util-linux) is not installed"
        tried = subprocess.run([*hiding(["/mnt"]), "true"], capture_output=True, text=True, check=False)
        if tried.returncode:
            return f"no mount namespaces here: {tried.stderr.strip()}"
    if refused:
        tried = subprocess.run(
            [sys.executable, __file__, "--refuse", "personality", "--", "true"],
            capture_output=True,
            text=True,
            check=False,
        )
        if tried.returncode:
            return "the kernel accepts no filter of system calls"
    return None


def main(words: list[str]) -> None:
    end = words.index("--")
    options = dict(zip(words[:end:2], words[1:end:2], strict=True))
    command = words[end + 1 :]
    if "--hide" in options and _HIDDEN not in os.environ:
        os.environ[_HIDDEN] = "1"
        # Again, inside the namespace: what hides must not be refused to do so.
        again = [*hiding(options["--hide"].split(",")), sys.executable, __file__, *words]
        os.execvp(again[0], again)
    os.environ.pop(_HIDDEN, None)
    if "--refuse" in options:
        refuse(options["--refuse"].split(","))
    path = options.get("--path")
    if path is not None:
        os.environ["PATH"] = path
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
