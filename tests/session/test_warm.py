"""Servers that stay warm: found again, replaced if anything behind them changed, never trusted blindly, never left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from photometer.errors import CacheError
from photometer.instruments.callgrind.count_task import CountTask
from photometer.instruments.callgrind.counter import InstructionCounter
from photometer.model.machine import Environment
from photometer.model.task import TaskSpec
from photometer.session import warm
from photometer.session.remarks import remarks_to
from photometer.session.session import ServerKind, Session
from photometer.session.warm import WarmFolder, WarmZygote, is_current, keep_in_terminal, keep_seconds, runtime_folder
from photometer.worker.messages import Prepare, Time
from tests.waiting import wait_until, wait_until_gone

pytestmark = pytest.mark.lengthy

PACKAGE = Prepare(setup="import warm_package\nvalue = warm_package.VALUE")


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WarmFolder]:
    """Keep zygotes in a folder of this test, and end them with it."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("PHOTOMETER_KEEP", "600")
    # Whatever else uses the machine's memory.
    monkeypatch.setattr(warm, "LEAST_AVAILABLE_BYTES", 0)
    folder = WarmFolder(0.0)
    yield folder
    folder.clear()


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "warm_package.py").write_text("VALUE = 1\n")
    return Environment(sys.executable, (str(tmp_path / "code"),))


def value_seen(environment: Environment, expected: int = 1) -> list[str]:
    """Run a set-up that imports the package, as one command would. Return the remarks."""
    said: list[str] = []
    kind = ServerKind().importing(PACKAGE)
    with remarks_to(said.append), Session(environment) as session, session.child(kind) as child:
        child.ask(Prepare(stmt=f"assert value == {expected}", setup=PACKAGE.setup, warmup_runs=1))
        assert child.ask(Time(5)).seconds > 0
    return said


def pids(folder: WarmFolder) -> set[int]:
    return {each.pid for each in folder.present()}


def test_the_next_command_finds_them(runtime: WarmFolder, environment: Environment) -> None:
    said = value_seen(environment)
    assert len(said) == 1
    assert "stay warm" in said[0]
    first = runtime.present()
    assert {each.imports for each in first} == {(), ("import warm_package",)}
    assert all(each.is_current and each.size_bytes for each in first)
    assert value_seen(environment) == []
    assert pids(runtime) == {each.pid for each in first}
    assert runtime.clear() == 2
    assert not runtime.present()
    wait_until_gone(each.pid for each in first)


@pytest.mark.parametrize("change", ["edited", "shadowed", "removed and written anew"])
def test_one_that_is_older_than_its_files_is_replaced(
    runtime: WarmFolder, environment: Environment, change: str
) -> None:
    value_seen(environment)
    before = runtime.present()
    file = Path(environment.path[0]) / "warm_package.py"
    if change == "shadowed":
        # A module that would now be found first.
        (file.parent / "typing_extensions.py").write_text("raise ImportError\n")
        assert not any(each.is_current for each in runtime.present() if each.imports)
        (file.parent / "typing_extensions.py").unlink()
        return
    if change == "removed and written anew":
        file.unlink()
    file.write_text("VALUE = 2\n")
    value_seen(environment, expected=2)
    (torch,) = (each.pid for each in before if not each.imports)
    (package,) = (each.pid for each in before if each.imports)
    assert torch in pids(runtime)
    assert package not in pids(runtime)


def test_one_is_not_newer_than_the_one_it_is_a_fork_of(runtime: WarmFolder, environment: Environment) -> None:
    """What the first zygote has loaded may have changed before the second was forked from it."""
    value_seen(environment)
    records = [json.loads(path.read_text()) for path in runtime.folder.glob("*.json")]
    (first,) = (record for record in records if not record["imports"])
    (second,) = (record for record in records if record["imports"])
    torch = next(file for file in first["files"] if file.endswith("torch/__init__.py"))
    package = next(file for file in second["files"] if file.endswith("warm_package.py"))
    assert second["files"][torch] == first["files"][torch]
    assert second["files"][package][0] > first["files"][torch][0]
    assert second["started_ticks"] > first["started_ticks"]


def test_another_environment_or_version_is_another_one(
    runtime: WarmFolder, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    value_seen(environment)
    first = pids(runtime)
    value_seen(Environment(environment.python, environment.path, (("SOME_VARIABLE", "1"),)))
    second = pids(runtime)
    assert len(second) == 4
    assert first < second
    monkeypatch.setattr(warm, "worker_digest", lambda: "another version of photometer")
    value_seen(environment)
    assert len(pids(runtime)) == 6


def test_without_keeping_none_is_used_or_left(
    runtime: WarmFolder, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTOMETER_KEEP", "0")
    assert value_seen(environment) == []
    assert not runtime.present()


def _kill(zygotes: list[WarmZygote], _: Path) -> None:
    for each in zygotes:
        os.kill(each.pid, signal.SIGKILL)


def _stop(zygotes: list[WarmZygote], _: Path) -> None:
    for each in zygotes:
        os.kill(each.pid, signal.SIGSTOP)


def _tamper(_: list[WarmZygote], folder: Path) -> None:
    for record in folder.glob("*.json"):
        record.write_text('{"pid": 1, "started_ticks": 1, "version": 0, "files": {}, "path": [], "found_in": {}}')


def _garble(_: list[WarmZygote], folder: Path) -> None:
    for record in folder.glob("*.json"):
        record.write_text("[" * 5000)


def _unlink(_: list[WarmZygote], folder: Path) -> None:
    for socket in folder.glob("*.sock"):
        socket.unlink()


def _other_socket(_: list[WarmZygote], folder: Path) -> None:
    for socket in folder.glob("*.sock"):
        socket.unlink()
        socket.write_text("not a socket")


@pytest.mark.parametrize("harm", [_kill, _stop, _tamper, _garble, _unlink, _other_socket])
def test_whatever_happened_to_them_the_next_command_works(
    runtime: WarmFolder,
    environment: Environment,
    monkeypatch: pytest.MonkeyPatch,
    harm: Callable[[list[WarmZygote], Path], None],
) -> None:
    # Those that nobody can find any more look whether they are wanted each second, not only every five.
    monkeypatch.setenv("PHOTOMETER_KEEP", "60")
    value_seen(environment)
    before = runtime.present()
    # One that is stuck is waited for: not for as long as an import may take.
    monkeypatch.setattr("photometer.session.session.WARM_SECONDS", 2.0)
    harm(before, runtime.folder)
    value_seen(environment)
    assert runtime.present()
    runtime.clear()
    # Those that nobody can find any more see it themselves, or were killed.
    wait_until_gone(each.pid for each in before)


def test_they_end_after_their_idle_time(
    runtime: WarmFolder, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOTOMETER_KEEP", "0.2")
    # Some were kept; where a line takes longer than they are, none is there any more.
    assert "stay warm" in value_seen(environment)[0]
    wait_until(lambda: not list(runtime.folder.glob("*.sock")) and not list(runtime.folder.glob("*.json")))
    assert not [path for path in runtime.folder.iterdir() if path.is_dir()]


def test_two_commands_at_once_share_them(runtime: WarmFolder, environment: Environment) -> None:
    script = (
        "import sys\n"
        "from tests.session.test_warm import Environment, value_seen\n"
        "value_seen(Environment(sys.argv[1], (sys.argv[2],)))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", script, environment.python, *environment.path]
    commands = [subprocess.Popen(command) for _ in range(3)]
    assert [each.wait() for each in commands] == [0, 0, 0]
    assert len(runtime.present()) == 2


def test_a_command_that_is_killed_leaves_them_warm_and_whole(runtime: WarmFolder, environment: Environment) -> None:
    script = (
        "import sys\n"
        "from tests.session.test_warm import *\n"
        "with Session(Environment(sys.argv[1], (sys.argv[2],))) as session:\n"
        "    with session.child(ServerKind().importing(PACKAGE)) as child:\n"
        "        print(child.pid, flush=True)\n"
        "        child.ask(Prepare('while True: pass', warmup_runs=1))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", script, environment.python, *environment.path]
    near = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert near.stdout is not None
    child = int(near.stdout.readline())
    near.kill()
    near.wait()
    wait_until_gone([child])
    before = pids(runtime)
    value_seen(environment)
    assert pids(runtime) == before


def test_the_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = WarmFolder(1.0).folder
    assert folder == runtime_folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(CacheError):
        WarmFolder(1.0)
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CacheError, match="link"):
        WarmFolder(1.0)
    monkeypatch.setenv("PHOTOMETER_KEEP", "10")
    assert warm.open_warm_folder() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_another_users_runtime_folder_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert runtime_folder() == tmp_path / "photometer"
    os.chown(tmp_path, 65534, -1)
    assert runtime_folder().name == f"photometer-warm-{os.getuid()}"


def test_somebody_else_who_connects_is_refused(runtime: WarmFolder, environment: Environment) -> None:
    """Another user cannot enter the folder; should a socket leak, the zygote asks the kernel who is there."""
    if os.getuid() != 0:
        pytest.skip("only root can try as another user")
    value_seen(environment)
    (path, *_) = runtime.folder.glob("*.sock")
    before = pids(runtime)
    script = (
        "import os, socket, sys\n"
        "line = socket.socket(socket.AF_UNIX)\n"
        "folder = os.open(os.path.dirname(sys.argv[1]), os.O_PATH)\n"
        "os.setuid(65534)\n"
        "line.settimeout(10)\n"
        "try:\n"
        "    line.connect(f'/proc/self/fd/{folder}/' + os.path.basename(sys.argv[1]))\n"
        "    line.sendall(b'r' + (8).to_bytes(8, 'big') + b'{\"a\": 1}')\n"
        "    print(line.recv(10))\n"
        "except OSError as error:\n"
        "    print(type(error).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("PermissionError", "b''", "ConnectionResetError")
    assert pids(runtime) == before
    value_seen(environment)


@pytest.mark.parametrize(
    ("variable", "in_ci", "terminal", "project", "value"),
    [
        (None, False, True, None, "600"),
        (None, False, False, None, "0"),
        (None, True, True, None, "0"),
        (None, False, True, 30.0, "30"),
        (None, False, True, 0, "0"),
        ("5", True, False, None, "5"),
    ],
)
def test_when_they_are_kept(
    monkeypatch: pytest.MonkeyPatch,
    variable: str | None,
    in_ci: bool,
    terminal: bool,
    project: float | None,
    value: str,
) -> None:
    monkeypatch.delenv("PHOTOMETER_KEEP", raising=False)
    monkeypatch.delenv("CI", raising=False)
    if variable is not None:
        monkeypatch.setenv("PHOTOMETER_KEEP", variable)
    if in_ci:
        monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert keep_in_terminal(project) == value


def test_none_are_kept_if_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOTOMETER_KEEP", "600")
    assert keep_seconds() == 600
    monkeypatch.setattr(warm, "available_bytes", lambda: 1024**3)
    assert keep_seconds() == 0
    monkeypatch.setenv("PHOTOMETER_KEEP", "nonsense")
    assert keep_seconds() == 0


def imported(file: Path, loaded_after: int) -> dict[str, list[int]]:
    status = file.stat()
    return {str(file): [loaded_after, status.st_mtime_ns, status.st_ctime_ns]}


def test_a_record_is_current_only_if_all_its_files_are_older(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text("")
    later_ns = time.time_ns() + 10**9
    record = {"files": imported(file, later_ns), "path": [], "found_in": {}}
    assert is_current(record)
    assert not is_current({**record, "files": imported(file, 1)})
    assert not is_current({**record, "files": {str(tmp_path / "gone.py"): [later_ns, 1, 1]}})
    for name in ("a\0b", "\ud800"):
        assert not is_current({**record, "files": {name: [later_ns, 1, 1]}})
        assert is_current({**record, "path": [name], "found_in": {"module": str(tmp_path)}})
    assert is_current({**record, "path": ["/no/such/folder", str(tmp_path)], "found_in": {"module": str(tmp_path)}})
    later = {**record, "path": [str(tmp_path), "/later"], "found_in": {"module": "/later"}}
    assert not is_current(later)
    assert json.dumps(later)


def test_a_clock_that_was_set_back_hides_no_change(tmp_path: Path) -> None:
    """The file is edited after the zygote has loaded it, and its new time is before that."""
    file = tmp_path / "module.py"
    file.write_text("VALUE = 1")
    record = {"files": imported(file, time.time_ns() + 3600 * 10**9), "path": [], "found_in": {}}
    assert is_current(record)
    time.sleep(0.02)
    file.write_text("VALUE = 2")
    assert not is_current(record)


def test_a_clock_that_was_set_loses_no_server_and_ends_no_other_process(
    runtime: WarmFolder, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    value_seen(environment)
    first = pids(runtime)
    for hours in (-10, 10):
        monkeypatch.setattr(time, "time", lambda by=hours: time.monotonic() + by * 3600)
        assert pids(runtime) == first
        assert all(0 <= each.age_seconds < 600 for each in runtime.present())
        # A record whose pid belongs to a process of today that began at another moment.
        (record, *_) = runtime.folder.glob("*.json")
        other = {**json.loads(record.read_text()), "pid": os.getpid()}
        (runtime.folder / f"{'0' * 24}.json").write_text(json.dumps(other))
        assert pids(runtime) == first
        runtime.remove("0" * 24)
    value_seen(environment)
    assert pids(runtime) == first


def test_one_that_can_keep_no_record_ends_with_its_command(runtime: WarmFolder, environment: Environment) -> None:
    """As on a full disk: nobody could know whether what it has imported is still current."""
    package = Path(environment.path[0]) / "warm_package.py"
    package.write_text(
        "import os\ndef replace(*paths):\n    raise OSError(28, 'full')\nos.replace = replace\nVALUE = 1\n"
    )
    value_seen(environment)
    (first,) = runtime.present()
    assert first.imports == ()
    wait_until(lambda: [path.stem for path in runtime.folder.glob("*.sock")] == [first.name])


def test_the_least_recently_used_make_room(
    runtime: WarmFolder, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "MOST_KEPT", 3)
    for value in ("1", "2", "3"):
        value_seen(Environment(environment.python, environment.path, (("SOME_VARIABLE", value),)))
    assert len(runtime.present()) <= 3
    value_seen(environment)


@pytest.mark.warm
@pytest.mark.valgrind
@pytest.mark.slow
def test_a_warm_server_counts_what_a_cold_one_does(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Private, kept and just started, warm: all instructions are equal, the allocator's among them.

    The kept ones are forks of the torch that other tests count with; the private one imports it anew. Random data are
    the same in all, or the number of those that are not zero would differ.
    """
    monkeypatch.setattr(warm, "LEAST_AVAILABLE_BYTES", 0)
    setup = f"{PACKAGE.setup}\nx = torch.rand(1000)\nw = torch.ones(4, 4, requires_grad=True)"
    statements = ("torch.where(x > 0.5, x, -x)", "(x > 0.5).nonzero()", "(w * w).sum().backward()", "str(value)")

    def counted(keep: str) -> list[object]:
        monkeypatch.setenv("PHOTOMETER_KEEP", keep)
        with remarks_to(lambda text: None), Session(environment) as session:
            counter = InstructionCounter(session)
            tasks = [CountTask(TaskSpec(stmt, setup)) for stmt in statements]
            (figures,) = zip(*(counter.count(task).instruction_counts().repeats for task in tasks), strict=True)
            return [(each.outside_allocator, each.allocator_calls, each.total) for each in figures]

    # The folder of the private one has a longer path.
    elsewhere = tmp_path / "a-temporary-folder-with-a-longer-name"
    elsewhere.mkdir()
    with monkeypatch.context() as there:
        there.setattr(tempfile, "tempdir", str(elsewhere))
        cold = counted("0")
    for _ in ("just started", "warm", "warm again"):
        assert counted("600") == cold
    assert any(each.imports == ("import warm_package",) for each in WarmFolder(0.0).present())


def test_a_zygote_whose_template_was_killed_is_replaced(runtime: WarmFolder, environment: Environment) -> None:
    value_seen(environment)
    first = pids(runtime)
    templates = [pid for each in first for pid in _children(each) if os.getpgid(pid) == os.getpgid(each)]
    assert len(templates) == len(first)
    for pid in templates:
        os.kill(pid, signal.SIGKILL)
    value_seen(environment)
    assert not first & pids(runtime)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
