"""Lock the clocks of NVIDIA's GPUs while a command runs, and unlock them when it ends, in whatever way.

The clocks are unlocked by a process of its own, which waits until a pipe closes: the kernel closes it when the command
ends, also if it is killed. As a program of its own, started by its path, it is that process.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

PROGRAM = "nvidia-smi"
# The clock that a card has for applications by default is one that it can hold; not all cards tell it.
QUESTIONS = ("clocks.default_applications.graphics", "clocks.max.graphics")
# Of the highest clock, if that is all that is known: a large matrix product does not reach the power limit there.
HELD_SHARE = 0.75
ASKING_SECONDS = 20.0
# Words that the watching process prints when it is ready.
READY = b"ready\n"


@contextlib.contextmanager
def locked_clocks(program: str = PROGRAM) -> Iterator[dict[str, int]]:
    """Lock the clock of every card during the block. Yield the MHz by the number of the card."""
    clocks = steady_clocks(program)
    watching = subprocess.Popen(
        [sys.executable, "-I", __file__, program, *clocks],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Ctrl-C is for the command alone.
        start_new_session=True,
    )
    assert watching.stdin is not None
    assert watching.stdout is not None
    try:
        # Only what will be unlocked is locked.
        if watching.stdout.readline() != READY:
            raise _missing(f"{program} is not watched: the process that unlocks the clocks has ended")
        for card, megahertz in clocks.items():
            _asked([program, "-i", card, f"--lock-gpu-clocks={megahertz},{megahertz}"])
        yield clocks
    finally:
        watching.stdin.close()
        watching.wait()
        watching.stdout.close()


def steady_clocks(program: str = PROGRAM) -> dict[str, int]:
    """Return the clock to lock each card at."""
    text = _asked([program, f"--query-gpu=index,{','.join(QUESTIONS)}", "--format=csv,noheader,nounits"])
    clocks = {}
    for line in text.splitlines():
        card, usual, highest = (part.strip() for part in line.split(","))
        if usual.isdecimal():
            clocks[card] = int(usual)
        elif highest.isdecimal():
            clocks[card] = int(int(highest) * HELD_SHARE)
    if not clocks:
        raise _missing(f"{program} names no card whose clock is known")
    return clocks


def _asked(command: list[str]) -> str:
    from photometer.programs import run_program

    try:
        done = run_program(command, ASKING_SECONDS)
    except OSError as error:
        raise _missing(f"the clocks cannot be locked: {error}") from error
    if done.returncode != 0:
        raise _missing(f"the clocks cannot be locked: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def _missing(message: str) -> Exception:
    from photometer.errors import ToolMissing

    return ToolMissing(message, remedy="Only root may, and only on NVIDIA's cards; or leave --lock-clocks out.")


def main(program: str, *cards: str) -> None:
    """Wait until the command has ended, then unlock the clocks of the cards."""
    sys.stdout.buffer.write(READY)
    sys.stdout.flush()
    sys.stdin.buffer.read()
    for card in cards:
        subprocess.run([program, "-i", card, "--reset-gpu-clocks"], stdout=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
