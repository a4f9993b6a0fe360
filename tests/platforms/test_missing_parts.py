"""Each part of a usual Linux is taken away, and time, ab, run, compare and report still work and say what is missing.

The kernel refuses the calls, and folders are hidden for real (without.py); the Mac is a pretence (mac_like.py).
docs/platforms.md has the table. All parts at once run with every change; each by itself is nightly.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from photometer.model.machine import Environment
from photometer.session.policy import Policy
from photometer.session.session import Session
from photometer.worker.messages import DescribeTorch, Prepare, Time
from tests.platforms.commands import Place, photometer, words_of
from tests.platforms.fake_mac import make_fake_mac

COMMANDS = ("time", "ab", "run", "compare", "report")
CALLS = ("personality", "sched_setaffinity", "ptrace", "prlimit64", "perf_event_open")
PLACES = {
    "no-personality": Place(refused=("personality",)),
    "no-affinity": Place(refused=("sched_setaffinity",)),
    "no-ptrace": Place(refused=("ptrace", "perf_event_open")),
    "no-limits": Place(refused=("prlimit64",)),
    "no-proc": Place(hidden=("/proc",)),
    "no-sys": Place(hidden=("/sys",)),
    "no-programs": Place(path="/nowhere"),
}
BARE = Place(refused=CALLS, hidden=("/proc", "/sys"), path="/nowhere")


def run_all(place: Place, folder: Path) -> dict[str, subprocess.CompletedProcess[str]]:
    reason = place.why_not()
    if reason is not None:
        pytest.skip(reason)
    done = {}
    for name in COMMANDS:
        done[name] = photometer(place, folder, *words_of(name, folder))
        said = done[name].stdout + done[name].stderr
        assert done[name].returncode == 0, f"{name}: {said}"
        assert "Traceback" not in said, f"{name}: {said}"
    assert (folder / "page" / "report.html").stat().st_size > 10_000
    return done


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ab", "run"])
def test_with_all_parts_missing_at_once(name: str, tmp_path: Path) -> None:
    reason = BARE.why_not()
    if reason is not None:
        pytest.skip(reason)
    done = photometer(BARE, tmp_path, *words_of(name, tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if name == "run":
        assert "wall time only: instruction counts need Valgrind" in done.stderr
        assert "1 of 1 variants measured" in done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_each_part_missing(place: Place, tmp_path: Path) -> None:
    run_all(place, tmp_path)


@pytest.mark.nightly
def test_a_machine_with_nothing(tmp_path: Path) -> None:
    done = run_all(BARE, tmp_path)
    assert "Valgrind" in done["run"].stderr + done["compare"].stderr


@pytest.mark.nightly
def test_a_fake_mac(tmp_path: Path) -> None:
    done = run_all(Place(python=make_fake_mac(tmp_path / "mac")), tmp_path)
    assert "Valgrind" in done["run"].stderr


@pytest.mark.slow
def test_where_nothing_can_be_forked_each_child_is_a_fresh_process() -> None:
    with Session(Environment.current(), Policy(forks=False)) as session:
        pids = set()
        for _ in range(2):
            with session.child() as child:
                assert child.ask(DescribeTorch()).torch
                child.ask(Prepare("y = x + 1", "x = torch.ones(4)"))
                assert child.ask(Time(100)).seconds > 0.0
                pids.add(child.pid)
    assert len(pids) == 2


@pytest.mark.nightly
def test_flame_graphs_without_permission_to_trace(tmp_path: Path) -> None:
    place = PLACES["no-ptrace"]
    reason = place.why_not()
    if reason is not None:
        pytest.skip(reason)
    done = photometer(place, tmp_path, "flame", "x + 1", "-s", "x = torch.ones(4)", "--duration", "1")
    assert done.returncode == 1, done.stdout
    assert "SYS_PTRACE" in done.stderr or "root" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["time", "1", "--instructions"], ("Valgrind", "package manager")),
        (["ab", "1", "2", "--instructions"], ("Valgrind", "package manager")),
        (["time", "auto x = 1;", "--cpp"], ("C++ compiler", "apt install g++")),
        (["compare", "git:HEAD", "current", "--suite", "standard"], ("git",)),
    ],
)
def test_what_cannot_work_names_the_remedy(words: list[str], expected: tuple[str, ...], tmp_path: Path) -> None:
    done = photometer(Place(path="/nowhere"), tmp_path, *words)
    assert done.returncode == 1, done.stdout
    for text in expected:
        assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_windows_is_told_about_its_subsystem(tmp_path: Path) -> None:
    code = (
        "import sys, sysconfig, typer; sysconfig.get_config_vars(); sys.platform = 'win32'\n"
        "for name in ('resource', 'fcntl'): sys.modules[name] = None\n"
        "import signal; del signal.SIGHUP\n"
        "from photometer.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    helped = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=False)
    assert helped.returncode == 0, helped.stderr
    timed = subprocess.run([sys.executable, "-c", code, "time", "1"], capture_output=True, text=True, check=False)
    assert timed.returncode == 1
    assert "WSL" in timed.stderr
    assert "Traceback" not in timed.stderr
