"""Everything that only a GPU can show, in one call of at most eight minutes, on a machine without a network.

    PYTHONPATH=$PWD/src python3 benchmarks/device_session.py FOLDER [--only compiled,ab] [--seconds 470]

FOLDER gets `summary.txt`, a line per step that is also printed at once, and `steps.tar.gz` with a folder per step:
the commands' output, results files and pages. The archive is written anew after each step, so that what was measured
is kept if the session is cut off. What a step needs and the machine has not (CUDA, g++, pytest) is named, and the step
is skipped. Steps are in the order of what they are worth, because the last ones fall to the time limit.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from importlib.metadata import entry_points
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITES = HERE / "device_suites.py"
TRITON = HERE / "triton_suite.py"
PYTHON = sys.executable
PLUGIN = ("-p", "photometer.pytest_plugin")
# A page of results, not of logs: what is printed of a step on one line.
TELLING = ("slower", "faster", "same", "undecided", "compiled", "peak", "passed", "failed", "WARNING", "error", "Error")
WIDTH = 150


@dataclasses.dataclass(frozen=True)
class Step:
    """Commands that run one after the other, for at most `seconds` together; `needs` are tools that must be there."""

    name: str
    seconds: float
    commands: tuple[tuple[str, ...], ...]
    needs: tuple[str, ...] = ("cuda",)


@dataclasses.dataclass(frozen=True)
class Done:
    status: str
    seconds: float
    telling: str


def photometer(*words: str) -> tuple[str, ...]:
    return (PYTHON, "-m", "photometer", *words)


def own(part: str) -> tuple[str, ...]:
    return (PYTHON, str(HERE / "device_parts.py"), part)


def run(suite: str, *words: str) -> tuple[str, ...]:
    return photometer("run", suite, "--no-instructions", "-o", "results", *words)


def compare(suite: str, branch: str, folder: str) -> tuple[str, ...]:
    words = ("--no-instructions", "--no-memory", "--flame", "none", "--fail-on", "never", "-o", folder)
    return photometer("compare", "current", branch, "--suite", f"{SUITES}:{suite}", "--limit", "60", *words)


PAGE = photometer("report", "results", "-o", "page")


def plan(device: str) -> tuple[Step, ...]:
    """Return all steps, those that are worth most first."""
    matrix = f"x = torch.randn(2048, 1024, device='{device}')"
    vector = f'auto x = torch::randn({{1 << 20}}, torch::Device("{device}"));'
    softmaxes = ("torch.softmax(x, -1)", "torch.softmax(x, 0)", "x.exp()")
    # If photometer is not installed, pytest needs the name of its plugin.
    named = () if any(each.name == "photometer" for each in entry_points(group="pytest11")) else PLUGIN
    pytest = (PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", *named)
    ab = (*softmaxes[:2], "-s", matrix, "--device")
    small_step = f"{device} and training and MLP and not compile and batch=256"
    return (
        Step("facts", 30, (("nvidia-smi",), own("facts")), needs=()),
        Step("compare-5-percent", 75, (compare("SPIN", "env:WORK=105", "spin"),)),
        Step("compare-equal", 75, (compare("SPIN", "env:NOTHING=1", "spin-equal"),)),
        Step("processes", 90, (own("processes"),)),
        Step(
            "ab",
            75,
            (
                photometer("ab", *ab, "-o", "two"),
                photometer("ab", *softmaxes, "-s", matrix, "--device", "-o", "three"),
                photometer("show", "three"),
                photometer("ab", *ab, "--cold"),
                own("callables"),
            ),
        ),
        Step("compiled", 240, (run(f"{SUITES}:COMPILED"), PAGE)),
        Step("figures", 70, (run(f"{SUITES}:FIGURES", "--memory", "--rates", "--energy"), PAGE)),
        Step("models", 70, (run("models", "-k", small_step, "--rates"), PAGE)),
        Step(
            "ranks",
            60,
            (
                photometer("time", "--ranks", "1", "torch.distributed.all_reduce(x)", "-s", matrix),
                photometer("time", "--ranks", "2", "torch.distributed.all_reduce(x)", "-s", matrix),
                run(f"{SUITES}:RANKS"),
            ),
        ),
        Step(
            "timeline",
            75,
            (
                photometer("flame", "--device", "torch.softmax(x @ x.t(), -1)", "-s", matrix, "-o", "statement"),
                photometer("flame", "--device", device, f"{SUITES}:KERNELS", "-o", "suite"),
            ),
        ),
        Step(
            "clocks",
            60,
            (
                photometer("time", "--device", "--min-run-time", "1", "x @ x.t()", "-s", matrix),
                photometer("time", "--device", "--min-run-time", "1", "--lock-clocks", "x @ x.t()", "-s", matrix),
                ("nvidia-smi", "--query-gpu=clocks.sm,clocks.max.sm", "--format=csv"),
            ),
        ),
        Step(
            "backward",
            40,
            (
                photometer(
                    "ab",
                    "(w * x).sum().backward()",
                    "(w * x).sum().backward(); w.grad.mul_(1)",
                    "-s",
                    f"{matrix}; w = torch.randn_like(x).requires_grad_()",
                    "--device",
                ),
            ),
        ),
        Step("memory", 20, (photometer("time", "y = torch.softmax(x, -1)", "-s", matrix, "--memory"),)),
        Step(
            "cpp",
            75,
            (
                photometer("ab", "--cpp", "--device", "auto y = x + 1;", "auto y = (x + 1).mul_(2);", "-s", vector),
                photometer("time", "--cpp", "--device", "auto y = x + 1;", "-s", vector),
                run(f"{SUITES}:CPP"),
            ),
            needs=("cuda", "g++"),
        ),
        Step("interleaving", 150, ((PYTHON, str(HERE / "interleaving.py")),)),
        Step(
            "triton",
            120,
            (
                own("do_bench"),
                photometer("check", f"triton:{TRITON}"),
                photometer("run", f"triton:{TRITON}"),
                photometer("compare", "current", "env:NOTHING=1", "--suite", f"triton:{TRITON}", "--budget", "20"),
                (PYTHON, str(TRITON)),
            ),
            needs=("cuda", "triton"),
        ),
        Step("pytest", 40, ((*pytest, "test_device.py"),), needs=("cuda", "pytest")),
        Step("doctor", 25, (photometer("doctor", "--noise-seconds", "2", "-o", "doctor"),), needs=()),
        Step("compare-kernels", 75, (compare("KERNELS", "env:WORK=105", "kernels"),)),
        Step("gpu-tests", 150, ((*pytest, "-m", "gpu", str(HERE.parent / "tests")),), needs=("cuda", "pytest")),
    )


TEST_FILE = """\
import pytest
import torch


@pytest.mark.photometer(device="cuda")
def test_softmax(photometer):
    x = torch.randn(2048, 1024, device="cuda" if torch.cuda.is_available() else "cpu")
    photometer(torch.softmax, x, -1)
"""


def missing_tools() -> dict[str, str]:
    """Return what is not there, by name, with the reason. CUDA is asked about in a process of its own."""
    missing = {}
    asked = subprocess.run(
        [PYTHON, "-c", "import torch; print(torch.cuda.is_available())"], capture_output=True, text=True, check=False
    )
    if asked.stdout.strip() != "True":
        missing["cuda"] = "torch finds no CUDA device"
    for tool in ("g++", "valgrind"):
        if shutil.which(tool) is None:
            missing[tool] = f"{tool} is not installed"
    for module in ("pytest", "triton"):
        if importlib.util.find_spec(module) is None:
            missing[module] = f"{module} is not installed"
    return missing


def do(step: Step, folder: Path, seconds: float) -> Done:
    """Run the commands of a step in its folder; what they print goes into output.txt there."""
    folder.mkdir()
    (folder / "test_device.py").write_text(TEST_FILE)
    began, codes = time.perf_counter(), []
    with (folder / "output.txt").open("w") as output:
        for command in step.commands:
            left = seconds - (time.perf_counter() - began)
            if left <= 0:
                codes.append("not started")
                continue
            output.write("$ " + " ".join(command) + "\n")
            output.flush()
            started = time.perf_counter()
            code = finish(command, folder, output.fileno(), left)
            codes.append(code)
            output.write(f"\n[exit {code}, {time.perf_counter() - started:.1f} s]\n\n")
            output.flush()
    lines = [line.strip() for line in (folder / "output.txt").read_text(errors="replace").splitlines()]
    telling = [line for line in lines if any(word in line for word in TELLING) and not line.startswith("$")]
    status = "exit " + ", ".join(codes)
    return Done(status, time.perf_counter() - began, (telling or lines or [""])[0])


def finish(command: tuple[str, ...], folder: Path, output: int, seconds: float) -> str:
    """Run a command and all that it starts; end them if the time is up. Return its exit status in words."""
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return str(error.strerror)
    try:
        return str(process.wait(seconds))
    except subprocess.TimeoutExpired:
        # Gently first: photometer keeps what it has measured, and ends its servers.
        for sent, patience in ((signal.SIGINT, 5), (signal.SIGKILL, 5)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, sent)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
                break
        return f"stopped after {seconds:.0f} s"


def archive(steps: Path, target: Path) -> None:
    """Write the archive anew, whole or not at all."""
    partial = target.with_suffix(".partial")
    with tarfile.open(partial, "w:gz") as tar:
        tar.add(steps, "steps")
    partial.replace(target)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="names of steps, with commas")
    parser.add_argument("--seconds", type=float, default=470.0, help="for all steps together")
    parser.add_argument("--rehearse", action="store_true", help="do what can be done on the CPU, without CUDA")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    device = "cpu" if asked.rehearse else "cuda"
    os.environ["SESSION_DEVICE"] = device
    steps = plan(device)
    only = [name for name in asked.only.split(",") if name]
    unknown = sorted(set(only) - {step.name for step in steps})
    if unknown:
        parser.error(f"no steps {', '.join(unknown)}; there are {', '.join(step.name for step in steps)}")
    began = time.perf_counter()
    missing = missing_tools()
    with tempfile.TemporaryDirectory() as place, (asked.folder / "summary.txt").open("w") as summary:

        def say(line: str) -> None:
            print(line[:WIDTH], flush=True)
            summary.write(line + "\n")
            summary.flush()

        say("missing: " + (json.dumps(missing) if missing else "nothing"))
        for step in steps:
            if only and step.name not in only:
                continue
            lacks = [
                missing[tool] for tool in step.needs if tool in missing and not (asked.rehearse and tool == "cuda")
            ]
            left = asked.seconds - (time.perf_counter() - began)
            if lacks or left < 10:
                say(f"{step.name:18} skipped: {'; '.join(lacks) or 'no time left'}")
                continue
            done = do(step, Path(place) / step.name, min(step.seconds, left))
            say(f"{step.name:18} {done.seconds:6.1f} s  {done.status} | {done.telling}")
            archive(Path(place), asked.folder / "steps.tar.gz")
    return 0


if __name__ == "__main__":
    sys.exit(main())
