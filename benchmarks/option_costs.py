"""What each option of `photometer run` and `compare` costs in time, beside the same command without it.

    python benchmarks/option_costs.py [--quick]

A small suite is measured once per option, one after the other; what is printed is the wall time of the whole command,
and what it adds to the command without the option. The order is drawn anew, so that drift hits none in particular.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUITE = """\
from photometer import GroupedModules, GroupedSetup, GroupedStmts

BENCHMARKS = {{
    name: GroupedStmts(
        f"y = torch.{{name}}(x)", setup=GroupedSetup("x = torch.ones(64, 64)"), signature="f(x) -> y"
    )
    for name in ({names})
}}
COMPILED = {{
    "gelu": GroupedStmts(
        "y = torch.nn.functional.gelu(x) + x",
        setup=GroupedSetup("x = torch.ones(n)"),
        signature="f(x) -> y",
        {compiled}
        sizes={{"n": (256, 1024)}},
    )
}}
"""
NAMES = ("relu", "exp", "abs", "neg", "sin", "cos", "sqrt", "sigmoid")
SLEEPLESS = ["--no-instructions"]


def command(*words: str) -> float:
    """Run photometer; return its seconds."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "photometer", *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3, 4):
        raise SystemExit(f"photometer {' '.join(words)}\n{done.stdout}{done.stderr}")
    return time.perf_counter() - began


def cases(folder: Path, names: tuple[str, ...], quick: bool) -> dict[str, tuple[str, list[str], list[str]]]:
    """Return by name: what it is compared with, and the words of both commands."""
    listed = ", ".join(f'"{name}"' for name in names) + ","
    plain, compiled = folder / "plain.py", folder / "compiled.py"
    plain.write_text(SUITE.format(names=listed, compiled=""))
    compiled.write_text(SUITE.format(names=listed, compiled="compiled=True,"))
    out = ["-q", "-o", str(folder / "out")]
    run = ["run", str(plain), *out]
    compare = ["compare", "current", "env:NOTHING=1", "--suite", str(plain), "--budget", str(2 * len(names))]
    without = ["run", f"{plain}:COMPILED", *SLEEPLESS, *out]
    with_compile = ["run", f"{compiled}:COMPILED", *SLEEPLESS, "--timeout", "600", *out]
    found = {
        "run: instructions": ("times alone", [*run, *SLEEPLESS], run),
        "run: --memory": ("times alone", [*run, *SLEEPLESS], [*run, *SLEEPLESS, "--memory"]),
        "run: --rates": ("times alone", [*run, *SLEEPLESS], [*run, *SLEEPLESS, "--rates"]),
        "run: compiled=True, two sizes": ("eager alone", without, with_compile),
        "run: compile report, two sizes": ("--no-compile-report", [*with_compile, "--no-compile-report"], with_compile),
        "compare: memory": ("--no-memory", [*compare, *SLEEPLESS, "--no-memory"], [*compare, *SLEEPLESS]),
        "compare: instructions": ("--no-instructions", [*compare, *SLEEPLESS], compare),
    }
    slow = ("instructions", "compile")
    return {name: case for name, case in found.items() if not quick or not any(word in name for word in slow)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="Two benchmarks, and neither Valgrind nor the compiler.")
    asked = parser.parse_args()
    names = NAMES[:2] if asked.quick else NAMES
    with tempfile.TemporaryDirectory() as folder:
        listed = list(cases(Path(folder), names, asked.quick).items())
        random.shuffle(listed)
        print(f"{len(names)} benchmarks, wall time of the whole command in seconds")
        print(f"{'option':<32} {'without':>9} {'with':>9} {'added':>9}   compared with")
        for name, (beside, without, with_it) in listed:
            seconds = [command(*words) for words in (without, with_it)]
            added = seconds[1] - seconds[0]
            print(f"{name:<32} {seconds[0]:9.1f} {seconds[1]:9.1f} {added:+9.1f}   {beside}", flush=True)


if __name__ == "__main__":
    main()
