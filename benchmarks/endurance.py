"""Long work with faults and kills: is anything lost, doubled, wrong, or left behind?

    python benchmarks/endurance.py orders                 2,000 orders, 200 misbehaving, killed with -9 ten times
    python benchmarks/endurance.py serve                  10,000 requests to `history serve` while a run writes
    python benchmarks/endurance.py warm                   500 lifetimes of warm servers, which end in nine ways
    python benchmarks/endurance.py warm --minutes 5 --kept kept.json     a piece; call it again to go on
    python benchmarks/endurance.py --kept kept.json --figures            write what was kept to docs/figures

Prints the figures, and exits with 1 if something is lost, doubled, wrong or left behind. With --kept, a part goes on
where its last piece stopped, and pieces add up. The misbehaving benchmarks are those of tests/hostile/benchmarks.py.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import ctypes
import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figures import write_figures

from photometer.model.machine import Environment
from photometer.model.results_reader import load_results
from photometer.session import session as session_module, warm
from photometer.session.session import ServerKind, Session
from photometer.session.warm import WarmFolder, WarmZygote
from photometer.worker.messages import Prepare, Time

ROOT = Path(__file__).resolve().parents[1]
PHOTOMETER = (sys.executable, "-m", "photometer")
Counts = dict[str, float]


PR_SET_CHILD_SUBREAPER = 36
LEAVING_SECONDS = 30.0


def count_in_text(counts: Counts) -> str:
    return ", ".join(f"{name}: {value:,.0f}" for name, value in counts.items())


def adopt_orphans() -> None:
    """Become the parent of all descendants whose parents end: none of them is then overlooked."""
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def left_processes() -> list[str]:
    """Return the commands of descendants that are still there after a while."""
    give_up = time.monotonic() + LEAVING_SECONDS
    while (found := _descendants()) and time.monotonic() < give_up:
        time.sleep(0.2)
    for command in found:
        print(f"left: {command}", file=sys.stderr)
    return found


def _descendants() -> list[str]:
    parents, commands = {}, {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
            if state not in "ZX":
                parents[int(process.name)] = int(parent)
                commands[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return [f"{pid} {commands[pid]}" for pid in ours - {os.getpid()}]


# orders ------------------------------------------------------------------------------------------------------------

SUITE = """\
import random, sys
sys.path.insert(0, {root!r})
from photometer import TimerArgs
from tests.hostile.benchmarks import CRASHING, HANGING, RAISING, SUCCEEDING

chance = random.Random({seed})
# A hang costs its time limit, twice; the others a moment, or a start of the server.
kinds = [RAISING] * 10 + [CRASHING] * 8 + [SUCCEEDING] * 5 + [HANGING]
bad = set(chance.sample(range({orders}), {bad}))
BENCHMARKS = {{}}
for number in range({orders}):
    if number in bad:
        name, (setup, stmt) = chance.choice(list(chance.choice(kinds).items()))
        BENCHMARKS[f"bad {{number}}: {{name}}"] = TimerArgs(stmt, setup, check=False)
    else:
        BENCHMARKS[f"good {{number}}"] = TimerArgs(f"x + {{number}}", "x = torch.ones(3)")
"""


def endure_orders(counts: Counts, folder: Path, asked: argparse.Namespace) -> bool:
    """Run the suite, kill the run at random, resume it. Return whether it is done, with its figures in `counts`."""
    suite, results = folder / "endurance_suite.py", folder / "out" / "results.json"
    orders, bad, all_kills = asked.orders, asked.orders // 10, asked.kills
    suite.write_text(SUITE.format(root=str(ROOT), seed=asked.seed, orders=orders, bad=bad))
    (folder / "scratch").mkdir(exist_ok=True)
    command = [*PHOTOMETER, "run", str(suite), "-o", str(folder / "out"), "--resume", "-q"]
    command += ["--no-instructions", "--min-run-time", "0.005", "--timeout", "4"]
    environment = {**os.environ, "TMPDIR": str(folder / "scratch"), "PHOTOMETER_KEEP": "0"}
    deadline = time.monotonic() + asked.minutes * 60
    chance = random.Random(f"{asked.seed} {counts.get('kills', 0)}")
    while True:
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        kills = int(counts.get("kills", 0))
        wanted = orders * (kills + 1) // (all_kills + 1) if kills < all_kills else sys.maxsize
        while process.poll() is None and lines_of(results) < wanted and time.monotonic() < deadline:
            time.sleep(0.2)
        if process.poll() is not None:
            break
        time.sleep(chance.uniform(0.0, 0.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        # The end of a piece is one more kill, at a moment of the clock.
        counts["kills"] = kills + 1
        if time.monotonic() >= deadline:
            return False
    judge_orders(counts, folder, suite)
    return True


def lines_of(results: Path) -> int:
    return results.read_bytes().count(b"\n") if results.exists() else 0


def judge_orders(counts: Counts, folder: Path, suite: Path) -> None:
    results = load_results(folder / "out" / "results.json")
    finished = Counter(record["order"]["label"][-1] for record in results.records if "order" in record)
    measured = {record["order"]["label"][-1] for record in results.records if record["kind"] == "measurement"}
    names: dict[str, Any] = {}
    exec(suite.read_text(), names)
    wanted = list(names["BENCHMARKS"])
    counts.update(
        {
            "orders": len(wanted),
            "misbehaving": sum(label.startswith("bad") for label in wanted),
            "orders without a record": sum(label not in finished for label in wanted),
            "good ones without a measurement": sum(
                label.startswith("good") and label not in measured for label in wanted
            ),
            "orders with two records": sum(number > 1 for number in finished.values()),
            "processes left": len(left_processes()),
            "folders left": len(list((folder / "scratch").iterdir())),
        }
    )


# serve -------------------------------------------------------------------------------------------------------------

READERS = 8
REQUESTS_PER_CONNECTION = 50
PATHS = ("/", "/index.html", "/site.js", "/site.css", "/data/state.js", "/data/index.js", "/data/commits.js")
WRONG = ("/no/such", "/data/benchmark-999999999999.js", "/data/commit-9-9.js", "/../../etc/passwd", "http://[", "//x/")
SERVED_SUITE = """\
from photometer import TimerArgs
BENCHMARKS = {f"add {n}": TimerArgs(f"x + {n}", "x = torch.ones(3)") for n in range(%d)}
"""


def endure_serve(counts: Counts, folder: Path, asked: argparse.Namespace) -> bool:
    """Send requests to the site of a store while runs write to it, and count what is wrong."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "served_suite.py").write_text(SERVED_SUITE % 12)
    store = str(folder / "store.sqlite")
    environment = {**os.environ, "PHOTOMETER_KEEP": "0", "PYTHONUNBUFFERED": "1"}
    for command in (["git", "init", "-q"], ["git", "-c", "user.name=a", "-c", "user.email=a@b"]):
        more = [] if "init" in command else ["commit", "-q", "--allow-empty", "-m", "first"]
        subprocess.run([*command, *more], cwd=folder, check=True)
    subprocess.run([*PHOTOMETER, "history", "create", "--store", store], cwd=folder, env=environment, check=True)
    run = [*PHOTOMETER, "run", "served_suite.py", "-q", "--no-instructions", "--min-run-time", "0.01", "--store", store]
    serve = [*PHOTOMETER, "history", "serve", "--store", store, "--port", "0"]
    server = subprocess.Popen(serve, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    runs: list[int] = []
    stopped = False

    def write() -> None:
        while not stopped:
            done = subprocess.run([*run, "-o", f"out-{len(runs)}"], cwd=folder, env=environment, capture_output=True)
            runs.append(done.returncode)

    assert server.stdout is not None
    port = 0
    while not port:
        line = server.stdout.readline().decode()
        assert line, "the server ended"
        port = int(found[1]) if (found := re.search(r"http://127\.0\.0\.1:(\d+)", line)) else 0
    memory_before = resident_bytes(server.pid)
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(READERS + 1) as pool:
        writing = pool.submit(write)
        pieces = [pool.submit(request, port, asked.seed + n, asked.requests // READERS) for n in range(READERS)]
        try:
            replies = sum((each.result() for each in pieces), Counter[str]())
        finally:
            stopped = True
        counts["seconds of requests"] = time.monotonic() - start
        writing.result()
    # The site has what was written last.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        last = pool.submit(request, port, 0, 20).result()
    memory = resident_bytes(server.pid)
    alive = server.poll() is None
    server.send_signal(signal.SIGINT)
    server.wait(20)
    listed = subprocess.run(
        [*PHOTOMETER, "history", "runs", "--store", store, "--json", "--rows", "100000"],
        cwd=folder,
        env=environment,
        capture_output=True,
    )
    verified = subprocess.run(
        [*PHOTOMETER, "history", "verify", "--store", store], cwd=folder, env=environment, capture_output=True
    )
    counts.update(
        {
            "requests": sum(replies.values()),
            "replies 200": replies["200"],
            "replies 4xx, as they should be": replies["4xx"],
            "without a reply": replies["none"],
            "wrong replies": replies["wrong"] + last["wrong"] + last["none"],
            "runs that wrote meanwhile": len(runs),
            "runs that failed": sum(code != 0 for code in runs),
            "runs missing in the store": len(runs) - len(json.loads(listed.stdout)["rows"]),
            "store damaged": float(verified.returncode != 0),
            "server ended": float(not alive),
            "MiB more memory of the server": (memory - memory_before) / 2**20,
        }
    )
    return True


def request(port: int, seed: int, number: int) -> Counter[str]:
    """Send so many requests, right and wrong ones, and return how they were replied to."""
    chance, replies = random.Random(seed), Counter[str]()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for sent in range(number):
        if sent % REQUESTS_PER_CONNECTION == 0:
            connection.close()
        right = chance.random() < 0.9
        path = chance.choice((*PATHS, f"/data/benchmark-{chance.randint(1, 12)}.js", "/data/commit-0-0.js"))
        path = path if right else chance.choice(WRONG)
        try:
            connection.request("GET", path, headers={"Host": f"127.0.0.1:{port}"})
            reply = connection.getresponse()
            text = reply.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            replies["none"] += 1
            continue
        if reply.status == 200:
            whole = path.endswith((".js", ".css")) or text.rstrip().endswith(b"</html>")
            replies["200" if text and whole else "wrong"] += 1
        else:
            # The first commits and benchmarks are not there before a run has written them.
            expected = not right or path.startswith(("/data/benchmark", "/data/commit-"))
            replies["4xx" if expected and 400 <= reply.status < 500 else "wrong"] += 1
    connection.close()
    return replies


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# warm --------------------------------------------------------------------------------------------------------------

PACKAGE = Prepare(setup="import endured_package\nvalue = endured_package.VALUE")
STUCK_SECONDS = 1.0


def endure_warm(counts: Counts, folder: Path, asked: argparse.Namespace) -> bool:
    """Start warm servers, use them, end them in one of nine ways; count wrong values and what is left."""
    (folder / "code").mkdir(exist_ok=True)
    os.environ.update({"XDG_RUNTIME_DIR": str(folder), "PHOTOMETER_KEEP": "600"})
    # Whatever else uses the machine's memory; and one that is stuck is not waited for.
    warm.LEAST_AVAILABLE_BYTES = 0
    session_module.WARM_SECONDS = STUCK_SECONDS
    deadline = time.monotonic() + asked.minutes * 60
    runtime = WarmFolder(0.0)
    package = folder / "code" / "endured_package.py"
    environment = Environment(sys.executable, (str(folder / "code"),))
    while counts.get("lifetimes", 0) < asked.lifetimes and time.monotonic() < deadline:
        number = int(counts.get("lifetimes", 0))
        chance = random.Random(f"{asked.seed} {number}")
        counts.setdefault("wrong or failed", 0)
        if not package.exists():
            package.write_text(f"VALUE = {number}\n")
        value = int(package.read_text().split()[-1])
        for _ in range(2):
            counts["uses"] = counts.get("uses", 0) + 1
            counts["wrong or failed"] += not use(environment, value)
        way = chance.choice(list(WAYS))
        before = runtime.present()
        WAYS[way](before, runtime, package)
        counts[way] = counts.get(way, 0) + 1
        counts["lifetimes"] = number + 1
    # Those of the last lifetimes that are still warm.
    runtime.clear()
    counts["processes left"] = counts.get("processes left", 0) + len(left_processes())
    counts["files left"] = counts.get("files left", 0) + len(list(runtime.folder.iterdir()))
    return counts["lifetimes"] >= asked.lifetimes


def use(environment: Environment, value: int) -> bool:
    """Return whether a command that uses these servers sees the package as it is now."""
    try:
        with Session(environment) as session, session.child(ServerKind().importing(PACKAGE)) as child:
            child.ask(Prepare(stmt=f"assert value == {value}, value", setup=PACKAGE.setup, warmup_runs=1))
            return child.ask(Time(5)).seconds > 0
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return False


def _signal_all(number: int) -> Callable[[list[WarmZygote], WarmFolder, Path], None]:
    def send(zygotes: list[WarmZygote], _: WarmFolder, package: Path) -> None:
        for each in zygotes:
            # One that is forked from the first may have gone with it.
            with contextlib.suppress(ProcessLookupError):
                os.kill(each.pid, number)

    return send


def _write_records(zygotes: list[WarmZygote], runtime: WarmFolder, package: Path) -> None:
    for record in runtime.folder.glob("*.json"):
        record.write_text('{"pid": 1, "started_at_ns": 1, "version": 0, "files": {}, "path": [], "found_in": {}}')


def _remove_sockets(zygotes: list[WarmZygote], runtime: WarmFolder, package: Path) -> None:
    for path in runtime.folder.glob("*.sock"):
        path.unlink()


def _stop_command(zygotes: list[WarmZygote], runtime: WarmFolder, package: Path) -> None:
    runtime.clear()


def _edit_package(zygotes: list[WarmZygote], runtime: WarmFolder, package: Path) -> None:
    package.write_text(f"VALUE = {int(package.read_text().split()[-1]) + 1000}\n")


def _remove_folders(zygotes: list[WarmZygote], runtime: WarmFolder, package: Path) -> None:
    for each in runtime.folder.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
    _signal_all(signal.SIGKILL)(zygotes[:1], runtime, package)


def _kill_while_starting(zygotes: list[WarmZygote], runtime: WarmFolder, package: Path) -> None:
    """Kill a command at a random moment of its start, when it starts or finds servers."""
    runtime.clear()
    words = [*PHOTOMETER, "time", "1 + 1", "-s", "import endured_package", "--min-run-time", "0.01"]
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(random.uniform(0.2, 1.5))
    process.kill()
    process.wait()


WAYS: dict[str, Callable[[list[WarmZygote], WarmFolder, Path], None]] = {
    "killed": _signal_all(signal.SIGKILL),
    "suspended": _signal_all(signal.SIGSTOP),
    "terminated": _signal_all(signal.SIGTERM),
    "record overwritten": _write_records,
    "socket removed": _remove_sockets,
    "warm --stop": _stop_command,
    "package edited": _edit_package,
    "folder removed": _remove_folders,
    "command killed as it starts": _kill_while_starting,
}


# parts -------------------------------------------------------------------------------------------------------------

PARTS = {"orders": endure_orders, "serve": endure_serve, "warm": endure_warm}
# What must be nothing.
FAULTS = {
    "orders without a record",
    "good ones without a measurement",
    "orders with two records",
    "processes left",
    "folders left",
    "files left",
    "without a reply",
    "wrong replies",
    "runs that failed",
    "runs missing in the store",
    "store damaged",
    "server ended",
    "wrong or failed",
}


@contextlib.contextmanager
def work_folder(kept: Path | None, part: str) -> Iterator[Path]:
    if kept is not None:
        folder = kept.with_suffix("") / part
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="endurance-") as made:
        yield Path(made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", metavar="PART", help="orders, serve or warm")
    parser.add_argument("--orders", type=int, default=2000, help="one in ten of them misbehaves")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--lifetimes", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after about so long; --kept goes on")
    parser.add_argument("--kept", type=Path, help="JSON file for counts; a folder of its name has what is under way")
    parser.add_argument("--figures", action="store_true", help="write what is done to docs/figures/endurance.json")
    asked = parser.parse_args()
    adopt_orphans()
    asked.kept = asked.kept and asked.kept.resolve()
    all_counts: dict[str, Any] = json.loads(asked.kept.read_text()) if asked.kept and asked.kept.exists() else {}
    for part in asked.part:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}")
        state = all_counts.setdefault(part, {"done": False, "seconds": 0.0, "counts": {}})
        if state["done"]:
            continue
        start = time.monotonic()
        with work_folder(asked.kept, part) as folder:
            state["done"] = PARTS[part](state["counts"], folder, asked)
        state["seconds"] += time.monotonic() - start
        if asked.kept:
            asked.kept.write_text(json.dumps(all_counts, indent=2))
    failed = False
    for part, state in all_counts.items():
        end = "" if state["done"] else ", not done yet"
        print(f"{part}: {count_in_text(state['counts'])}; {state['seconds']:,.0f} s{end}")
        failed |= any(state["counts"].get(name) for name in FAULTS)
    if asked.figures:
        rows = {
            f"{part}: {name}": (f"{value:,.0f}",)
            for part, state in all_counts.items()
            if state["done"]
            for name, value in {**state["counts"], "seconds": state["seconds"]}.items()
        }
        write_figures("endurance", ("number",), rows)
    sys.exit(failed)


if __name__ == "__main__":
    main()
