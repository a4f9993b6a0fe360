"""A long run with faults of mixed kinds, killed with -9 at random and resumed: is anything lost, doubled, left behind?

    python benchmarks/endurance.py                      2,000 orders, 10 % of them misbehaving, 8 kills
    python benchmarks/endurance.py --orders 300 --kills 3

Prints the figures; exits 1 if a good result is missing, a result is there twice, or a process or folder is left. The
misbehaving benchmarks are those of tests/hostile/benchmarks.py.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from photometer.model.results_reader import load_results

ROOT = Path(__file__).parents[1]
SUITE = """\
import random, sys
sys.path.insert(0, {root!r})
from photometer import TimerArgs
from tests.hostile.benchmarks import CRASHING, HANGING, RAISING, SUCCEEDING

chance = random.Random({seed})
# A hang costs its time limit, twice; the others a moment, or a start of the server.
kinds = [RAISING] * 10 + [CRASHING] * 8 + [SUCCEEDING] * 5 + [HANGING]
BENCHMARKS = {{}}
for number in range({orders}):
    if chance.random() < {share}:
        name, (setup, stmt) = chance.choice(list(chance.choice(kinds).items()))
        BENCHMARKS[f"bad {{number}}: {{name}}"] = TimerArgs(stmt, setup, check=False)
    else:
        BENCHMARKS[f"good {{number}}"] = TimerArgs(f"x + {{number}}", "x = torch.ones(3)")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=2000)
    parser.add_argument("--share", type=float, default=0.1, help="of misbehaving benchmarks")
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="endurance-") as folder:
        sys.exit(endure(Path(folder), asked))


def endure(folder: Path, asked: argparse.Namespace) -> int:
    suite = folder / "endurance_suite.py"
    suite.write_text(SUITE.format(root=str(ROOT), seed=asked.seed, orders=asked.orders, share=asked.share))
    scratch = folder / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "photometer", "run", str(suite), "-o", str(folder / "out"), "--resume", "-q"]
    command += ["--no-instructions", "--min-run-time", "0.005", "--timeout", "4"]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    chance = random.Random(asked.seed)
    start, kills = time.monotonic(), 0
    per_kill = asked.orders // (asked.kills + 1)
    while True:
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if kills < asked.kills:
            wait_for(process, folder / "out" / "results.json", per_kill * (kills + 1), chance)
        if process.poll() is not None or kills >= asked.kills:
            process.wait()
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    return report(folder, asked, kills, time.monotonic() - start)


def wait_for(process: subprocess.Popen[bytes], results: Path, records: int, chance: random.Random) -> None:
    """Wait until about so many records are there, and a little longer."""
    while process.poll() is None and not (results.exists() and results.read_bytes().count(b"\n") >= records):
        time.sleep(0.2)
    time.sleep(chance.uniform(0.0, 0.5))


def report(folder: Path, asked: argparse.Namespace, kills: int, seconds: float) -> int:
    # Servers of killed runs notice that they are alone; leaving takes them a moment.
    time.sleep(2.0)
    results = load_results(folder / "out" / "results.json")
    finished = Counter(record["order"]["label"][-1] for record in results.records if "order" in record)
    kinds = Counter(str(record["kind"]) for record in results.records)
    wanted = load_labels(folder / "endurance_suite.py")
    lost = [label for label in wanted if label not in finished]
    measured = {r["order"]["label"][-1] for r in results.records if r["kind"] == "measurement"}
    not_measured = [label for label in wanted if label.startswith("good") and label not in measured]
    doubled = [label for label, count in finished.items() if count > 1]
    processes = [
        process.name for process in Path("/proc").iterdir() if process.name.isdigit() and belongs(process, folder)
    ]
    folders = [path.name for path in (folder / "scratch").iterdir()]
    bad = sum(label.startswith("bad") for label in wanted)
    print(f"{len(wanted)} orders, {bad} of them misbehaving, killed {kills} times: {seconds:.0f} s")
    print(f"records: {dict(kinds)}")
    print(f"orders without a record: {len(lost)}; good ones without a measurement: {len(not_measured)}")
    print(f"orders with more than one record: {len(doubled)}")
    print(f"processes left: {len(processes)}; folders left: {len(folders)}")
    return int(bool(lost or not_measured or doubled or processes or folders))


def load_labels(suite: Path) -> list[str]:
    names: dict[str, object] = {}
    exec(suite.read_text(), names)
    benchmarks = names["BENCHMARKS"]
    assert isinstance(benchmarks, dict)
    return list(benchmarks)


def belongs(process: Path, folder: Path) -> bool:
    try:
        command = (process / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return False
    return str(folder) in command or command.startswith("sleep\0401")


if __name__ == "__main__":
    main()
