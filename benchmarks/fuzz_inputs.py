"""Feed mutated inputs to everything that reads what others wrote, in this process, and count what is not in words.

    python benchmarks/fuzz_inputs.py                          ten seconds of each kind
    python benchmarks/fuzz_inputs.py --kind store --minutes 5 --totals totals.json
    python benchmarks/fuzz_inputs.py --processes 16 --minutes 1 --totals totals.json  as many seeds as processes
    python benchmarks/fuzz_inputs.py --kind store --seed 0 --first 4711 --count 1     one input again

Kinds: command lines, results files, suites, pyproject, pickles of torch, SQLite stores, Callgrind files, messages of
the worker, replies of GitHub, records of all instruments (shown, exported, on a page), suites of asv, of PyTorch's
operator benchmarks and of triton, and records of warm servers. An input is made from its kind, the seed and its number
alone. Counted are tracebacks, exit codes outside the table, more than 5 s (without the time for which other processes
had the core), more than 500 MB, and control characters in what is printed. Nothing is measured and no program is
started: what would is stubbed, and all files are in a private folder. With --totals, counts are added to those of
earlier runs; each kind and seed goes on where it stopped.
"""

from __future__ import annotations

import argparse
import collections.abc
import contextlib
import copy
import dataclasses
import functools
import gc
import http.client
import importlib
import io
import json
import multiprocessing
import os
import pickle
import random
import resource
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import types
import typing
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jinja2
import typer
from benchmarks.figures import write_figures
from tests.cli.hostile_records import ACTING, EXAMPLE, LARGE, LONG, MARKUP, PLACES, SMALL, places
from tests.definition.loaders.projects import asv_project, operator_file, triton_file
from tests.history.records import counts, failure, header, origin, times

from photometer import cli
from photometer.ci.export_formats import EXPORTS
from photometer.ci.github_api import GitHubApi
from photometer.ci.github_run import Head
from photometer.ci.project import read_project
from photometer.cli.ending import OUT_OF_MEMORY
from photometer.cli.exit_codes import ExitCode
from photometer.cli.help_page import EXAMPLES
from photometer.definition.loading import load_suite
from photometer.errors import PhotometerError
from photometer.history.connection import make_engine
from photometer.history.schema import known_revisions
from photometer.history.store import open_store
from photometer.instruments.callgrind.parser import parse_text
from photometer.model.records import from_record
from photometer.model.visible_text import visible
from photometer.plan import materialize
from photometer.results import record_types
from photometer.session import warm as warm_module
from photometer.session.warm import WarmFolder
from photometer.torch_pickle import load_torch_pickle
from photometer.worker import figure_messages, messages
from photometer.worker.protocol import Disconnected, Garbled, MessageBuffer

ROOT = Path(__file__).resolve().parent.parent
HANG_SECONDS = 5.0
WAITED = Path("/proc/self/schedstat")
# Each input is a file or two: a disk would be the slowest part.
IN_MEMORY = Path("/dev/shm")
MORE_MEMORY_BYTES = 500 * 2**20
# How often the limit is set anew: what modules keep is no input's fault.
INPUTS_PER_LIMIT = 5000
# What acts on a terminal, turns text around, or cannot be encoded. Tables in CSV end their lines with \r\n.
CONTROL = {chr(n) for n in (*range(32), 0x7F, *range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
CONTROL -= {"\n", "\t"}
NUMBERS = (*SMALL, *LARGE, float("nan"), float("inf"), -float("inf"))
# A record is copied by reading it again, which is faster than copy.deepcopy.
EXAMPLE_RECORDS: list[dict[str, Any]] = EXAMPLE["records"]  # type: ignore[assignment]
RECORDS = [json.dumps(record) for record in EXAMPLE_RECORDS]
EXAMPLE_HEAD = json.dumps({**EXAMPLE, "records": []})
TEXTS = (*ACTING, *MARKUP, *LONG, "postgresql://u:hunter2@h/x")
# Modules of commands, and the functions that are replaced by ones that do nothing.
PARSED_ONLY = {"doctor": "doctor", "fuzz": "fuzz", "warm": "warm", "history": "serve"}
FAULTS = ("traceback", "exit code", "hang", "memory", "control characters", "password")


class Stubbed(PhotometerError):
    """What stands for a server, another program or the network."""


class Hang(BaseException):
    """The input took too long. No `except Exception` may catch it."""


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    fault: str
    seed: int
    number: int
    # Where it was raised: inputs with one cause have one place.
    place: str
    words: str


def refuse(*_: Any, **__: Any) -> Any:
    raise Stubbed("this would start something")


def anything(rng: random.Random) -> Any:
    choices: tuple[Any, ...] = (
        rng.choice(NUMBERS),
        rng.choice(TEXTS),
        None,
        True,
        [],
        {},
        [rng.choice(NUMBERS)],
        {"x": rng.choice(TEXTS)},
    )
    return rng.choice(choices)


def flipped(data: bytes, rng: random.Random, alphabet: Sequence[bytes] = ()) -> bytes:
    """Return the bytes with some bits, bytes or stretches changed; `alphabet` has words of their grammar."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(changed) + 1)
        end = min(at + rng.choice((1, 2, 4, 8, 64)), len(changed))
        act = rng.randrange(8)
        if act == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif act == 1 and at < len(changed):
            changed[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif act == 2:
            del changed[at:end]
        elif act == 3:
            changed[at:at] = changed[at:end] * rng.choice((1, 2, 50))
        elif act == 4:
            start = rng.randrange(len(changed) + 1)
            changed[at:at] = changed[start : start + rng.randrange(1, 64)]
        elif act == 5 and rng.random() < 0.1:
            del changed[at:]
        elif alphabet:
            changed[at : end if act == 6 else at] = rng.choice(alphabet)
    return bytes(changed)


def words_of(text: bytes) -> list[bytes]:
    return sorted(
        {*text.split(), b"\xff", b"\x1b[31m", b"9" * 400, b"1e999", b"nan", b"(" * 300, b"[" * 3000, b'"', b"=", b"\n"}
    )


class Kinds:
    """A method per kind: makes an input from `rng`, gives it to photometer, and returns what was printed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._golden = [
            path.read_bytes()
            for path in (ROOT / "tests/instruments/callgrind/golden").glob("*.out")
            if path.stat().st_size < 40_000
        ]
        self._replies = [
            each
            for module in (messages, figure_messages)
            for each in vars(module).values()
            if isinstance(each, type) and issubclass(each, messages.Reply) and each is not messages.Reply
        ]
        self._requests = list(messages.REQUESTS.values())
        self._places: dict[int | None, list[tuple[Any, ...]]] = {}
        for place in PLACES:
            self._places.setdefault(place[1] if place[0] == "records" else None, []).append(place)
        self._alphabets: dict[bytes, list[bytes]] = {}

    def command(self, rng: random.Random) -> str:
        name = rng.choice(sorted(EXAMPLES))
        words = rng.choice(EXAMPLES[name]).split()[1:]
        options = _options()[name]
        for _ in range(rng.choice((0, 1, 1, 2, 5))):
            option = rng.choice(options)
            words += [option] if rng.random() < 0.3 else [option, self._value(rng)]
        if rng.random() < 0.4:
            words[rng.randrange(len(words))] = self._value(rng)
        if rng.random() < 0.3:
            at = rng.randrange(len(words))
            words[at] = _harmless(
                flipped(words[at].encode("utf-8", "surrogatepass"), rng).decode("utf-8", "surrogateescape")
            )
        if rng.random() < 0.1:
            del words[rng.randrange(len(words))]
        return _run_command(words)

    def results(self, rng: random.Random) -> str:
        picked = rng.sample(range(len(RECORDS)), rng.randrange(1, 7))
        document = {**json.loads(EXAMPLE_HEAD), "records": [json.loads(RECORDS[number]) for number in picked]}
        if rng.random() < 0.7:
            for _ in range(rng.choice((1, 1, 2, 5))):
                at = rng.randrange(-1, len(picked))
                place = rng.choice(self._places[picked[at] if at >= 0 else None])
                _change(document, place if at < 0 else ("records", at, *place[2:]), anything(rng))
            content = json.dumps(document).encode("utf-8", "surrogatepass")
        else:
            content = flipped(
                json.dumps(document, indent=1).encode(), rng, (b"{", b"}", b"null", b"1e999", b'"kind"', b"[" * 2000)
            )
        path = self.folder / "hostile.json"
        path.write_bytes(content)
        shapes: tuple[list[str], ...] = ([], ["--markdown"], ["--html"], ["--csv"], ["--json"])
        act = rng.random()
        recover = ["--recover"] * rng.randrange(2)
        if act < 0.65:
            more = rng.choice(([], ["--by-file"], ["--relative", "%"], ["--transpose"], ["--variants"]))
            return _run_command(["show", str(path), *rng.choice(shapes), *more, *recover])
        if act < 0.75:
            return _run_command(["report", str(path), "-o", str(self.folder / "page")])
        return _run_command(["compare", str(path), str(path), *rng.choice(([], ["--markdown"], ["--json"]))])

    def suite(self, rng: random.Random) -> str:
        path = self.folder / f"suite_{rng.randrange(8)}.py"
        path.write_bytes(flipped(SUITE, rng, self._alphabet(SUITE)))
        try:
            return "\n".join(order.title for order in materialize(load_suite(str(path))).orders) and ""
        finally:
            sys.modules.pop(path.stem, None)

    def pyproject(self, rng: random.Random) -> str:
        folder = self.folder / "project"
        folder.mkdir(exist_ok=True)
        (folder / ".git").mkdir(exist_ok=True)
        (folder / "pyproject.toml").write_bytes(flipped(PYPROJECT, rng, self._alphabet(PYPROJECT)))
        read_project(folder)
        return ""

    def torch_pickle(self, rng: random.Random) -> str:
        path = self.folder / "results.pkl"
        path.write_bytes(flipped(rng.choice(self._pickles), rng, PICKLE_WORDS))
        for result in load_torch_pickle(path):
            str(result)
        return ""

    def store(self, rng: random.Random) -> str:
        path = self.folder / "store.sqlite"
        for suffix in ("-wal", "-shm", "-journal"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        data = bytearray(self._store)
        for _ in range(rng.choice((1, 1, 2, 8, 64))):
            # Half of them in the header and the schema, which decide how the rest is read.
            at = rng.randrange(200 if rng.random() < 0.3 else 8192 if rng.random() < 0.5 else len(data))
            data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, data[at] ^ 1 << rng.randrange(8)))
        path.write_bytes(data[: rng.randrange(len(data))] if rng.random() < 0.05 else data)
        words = rng.choice(
            (["runs"], ["curves"], ["verify"], ["changes"], ["export", "--csv"], ["runs", "--rows", "3"])
        )
        return _run_command(["history", *words, "--store", str(path)])

    def instruments(self, rng: random.Random) -> str:
        """Records of kinds that have no place in the example of results files."""
        records = [json.loads(text) for text in rng.sample(self._instrument_records, rng.randrange(1, 5))]
        for _ in range(rng.choice((1, 1, 2, 5))):
            at = rng.randrange(len(records))
            _change(records, (at, *rng.choice(list(places(records[at])) or [("kind",)])), anything(rng))
        # Two of one benchmark, as an interrupted run may leave them, and their measurement beside them.
        records += [json.loads(text) for text in rng.sample(self._instrument_records + RECORDS, rng.randrange(3))]
        path = self.folder / "instruments.json"
        content = json.dumps({**json.loads(EXAMPLE_HEAD), "records": records}).encode("utf-8", "surrogatepass")
        path.write_bytes(flipped(content, rng) if rng.random() < 0.2 else content)
        act = rng.random()
        if act < 0.5:
            shape = rng.choice(([], ["--markdown"], ["--html"], ["--csv"], ["--json"], ["--variants"]))
            return _run_command(["show", str(path), *shape])
        if act < 0.8:
            return _run_command(["show", str(path), "--format", rng.choice(sorted(EXPORTS))])
        return _run_command(["report", str(path), "-o", str(self.folder / "page")])

    def loaders(self, rng: random.Random) -> str:
        """Suites of other tools. Their code runs, as it does for their users."""
        name, made = rng.choice(sorted(self._projects.items()))
        place, files = made
        file = rng.choice(sorted(files))
        file.write_bytes(flipped(files[file], rng, self._alphabet(files[file])))
        path = list(sys.path)
        try:
            for order in materialize(load_suite(f"{name}:{place}")).orders:
                str(order.title)
            return ""
        finally:
            file.write_bytes(files[file])
            sys.path[:] = path
            for module, code in list(sys.modules.items()):
                if str(getattr(code, "__file__", None)).startswith(str(self.folder)):
                    del sys.modules[module]

    def warm(self, rng: random.Random) -> str:
        """Records of servers that stay warm: only the user can write there, but a disk may be full."""
        folder = WarmFolder(0.0, self.folder / "warm")
        this_file = Path(__file__).stat()
        record: dict[str, Any] = {
            "pid": rng.choice((1, os.getpid(), 2**31, -1, 0)),
            "version": messages.PROTOCOL_VERSION,
            "started_ticks": 1,
            "title": "times, python",
            "imports": ["import torch"],
            "path": [str(ROOT)],
            "found_in": {"torch": str(ROOT)},
            "files": {__file__: [2**62, this_file.st_mtime_ns, this_file.st_ctime_ns]},
        }
        for _ in range(rng.choice((0, 1, 1, 2))):
            _change(record, rng.choice(list(places(record))), anything(rng))
        text = json.dumps(record).encode("utf-8", "surrogatepass")
        name = "0" * 24
        (folder.folder / f"{name}.json").write_bytes(flipped(text, rng) if rng.random() < 0.5 else text)
        shown = [f"{visible(each.title)} {each.is_current}" for each in folder.present()]
        # The process of a record counts as running only if it began at that moment: none of these did.
        assert shown == []
        assert not folder.can_be_used(name)
        kept = warm_module.read_record(folder.folder / f"{name}.json")
        if kept is not None:
            warm_module.is_current(kept)
        return ""

    def callgrind(self, rng: random.Random) -> str:
        golden = rng.choice(self._golden)
        parse_text(flipped(golden, rng, self._alphabet(golden)).decode("utf-8", "replace"), source="fuzz")
        return ""

    def message(self, rng: random.Random) -> str:
        """What a far side may send: framing, JSON, fields. Requests come from the near side, which is trusted."""
        kind = rng.choice(self._replies)
        fields = {field.name: _plausible(field.type, rng) for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
        body = {"ok": rng.random() < 0.8, "id": rng.choice((0, 0, 0, 1, None)), **fields}
        if rng.random() < 0.5:
            body[rng.choice(sorted(body))] = anything(rng)
        text = json.dumps(body).encode()
        data = struct.pack(">Q", len(text)) + text
        buffer = MessageBuffer()
        buffer.add(flipped(data, rng) if rng.random() < 0.5 else data)
        with contextlib.suppress(Garbled, Disconnected, messages.BadMessage):
            while (message := buffer.next_message()) is not None:
                messages.decode_reply(kind, message)
        return ""

    def github(self, rng: random.Random) -> str:
        # The real opener would read all certificates for each input.
        with mock.patch("urllib.request.build_opener", return_value=_FakeOpener(rng)):
            api = GitHubApi("a/b", "s3cret", sleep=lambda seconds: None, now=lambda: 1000.0)
        try:
            if rng.random() < 0.3:
                api.pull_request_of(Head("a:branch", "0" * 40))
            else:
                api.post(7, "<!-- marker -->\ntext")
        except PhotometerError as error:
            return visible(str(error).replace("hunter2", "").replace("s3cret", "hunter2"))
        return ""

    def _value(self, rng: random.Random) -> str:
        own = (
            str(self.folder / "none.json"),
            "standard",
            "git:HEAD",
            "current",
            "x = 1",
            "n=1..4*2",
            "slower:5%",
            "5%",
        )
        return str(
            rng.choice((*own, *own, rng.choice(NUMBERS), _harmless(rng.choice(TEXTS)), "-1", "", "=", "=5%", "a=b=c"))
        )

    def _alphabet(self, text: bytes) -> list[bytes]:
        return self._alphabets.setdefault(text, words_of(text))

    @functools.cached_property
    def _instrument_records(self) -> list[str]:
        order = next(record["order"] for record in EXAMPLE_RECORDS if "order" in record)
        known = {record["kind"] for record in EXAMPLE_RECORDS}
        made = []
        for kind, noun in record_types().items():
            if kind not in known:
                record = {**example_of(noun), "kind": kind, "order": order}
                try:
                    from_record(noun, record)
                except PhotometerError:
                    # Its parts must agree, which made-up ones do not.
                    continue
                made.append(json.dumps(record))
        assert len(made) > 10
        return made

    @functools.cached_property
    def _projects(self) -> dict[str, tuple[Path, dict[Path, bytes]]]:
        """The place of each tool's suite, and its files."""
        # What they import takes more memory than an input may.
        importlib.import_module("torch")
        _limit_memory()
        made = {}
        for name, make in (("asv", asv_project), ("operator_benchmark", operator_file), ("triton", triton_file)):
            folder = self.folder / name
            folder.mkdir()
            place = make(folder)
            made[name] = (place, {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()})
        return made

    @functools.cached_property
    def _pickles(self) -> list[bytes]:
        import torch.utils.benchmark as theirs

        task = theirs.utils.common.TaskSpec("x + 1", "x = 1", label="L", sub_label="S", num_threads=1)
        one = theirs.Measurement(1, [1e-6, 2e-6, 3e-6], task)
        return [pickle.dumps(value, protocol) for protocol in (0, 2, 4) for value in (one, [one, one], {"a": [one]})]

    @functools.cached_property
    def _store(self) -> bytes:
        path = self.folder / "made.sqlite"
        with open_store(path, create=True) as store:
            for number in range(3):
                records = [times("work", 1e-6 * (number + 1)), counts("work", 12_000), failure("broken")]
                store.add_run(header(), records, origin(number))
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("VACUUM")
        return path.read_bytes()


class _FakeOpener:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def open(self, request: Any, timeout: float) -> Any:
        rng = self._rng
        if rng.random() < 0.1:
            raise rng.choice(
                (OSError("refused \x1b"), http.client.BadStatusLine("x"), TimeoutError(), ValueError("bad"))
            )
        comment = {
            "id": 5,
            "body": "<!-- marker -->\nold",
            "html_url": "https://h/",
            "user": {"login": "me", "type": "Bot"},
        }
        pull = {"number": 7, "head": {"sha": "0" * 40}}
        body: Any = rng.choice(
            ([comment], [comment], comment, [pull], [pull], {"login": "me"}, {"message": "rate limit"}, [])
        )
        body = copy.deepcopy(body)
        if rng.random() < 0.7:
            target = body[0] if isinstance(body, list) and body else body
            if isinstance(target, dict):
                inner = rng.choice([target, *(each for each in target.values() if isinstance(each, dict))])
                inner[rng.choice(sorted(inner))] = anything(rng)
            else:
                body = anything(rng)
        data = json.dumps(body).encode()
        if rng.random() < 0.3:
            data = flipped(data, rng, (b"[" * 3000, b"1e999", b"\xff"))
        headers = {
            rng.choice(("Retry-After", "X-RateLimit-Reset", "X")): rng.choice(("1", "²", "9" * 400, "-1", "x", ""))
        }
        if rng.random() < 0.3:
            headers["X-RateLimit-Remaining"] = "0"
        return _FakeReply(rng.choice((200, 200, 200, 201, 204, 301, 401, 403, 404, 422, 429, 500, 503)), headers, data)


class _FakeReply(contextlib.AbstractContextManager[Any]):
    def __init__(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.status, self.headers, self._data = status, headers, data

    def read(self, most: int) -> bytes:
        return self._data[:most]

    def __exit__(self, *_: object) -> None:
        pass


def example_of(hint: Any) -> Any:
    """Return JSON for a type of records: the first choice of each part."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Annotated, typing.Union, types.UnionType):
        return example_of(next(each for each in inner if each is not type(None)))
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        return {field.name: example_of(hints[field.name]) for field in dataclasses.fields(hint)}
    if origin is typing.Literal:
        return inner[0]
    if origin in (list, tuple, collections.abc.Sequence):
        return [example_of(each) for each in inner if each is not ...]
    if origin in (dict, collections.abc.Mapping):
        return {"x": example_of(inner[1])}
    return {bool: True, int: 3, float: 0.5, str: "text"}.get(hint)


def _plausible(hint: Any, rng: random.Random) -> Any:
    text = str(hint)
    if "list[float]" in text:
        return [rng.choice(NUMBERS)]
    if "list" in text:
        return []
    if "dict" in text:
        return {}
    if "float" in text:
        return 0.5
    if "bool" in text:
        return True
    return 3 if "int" in text else "text" if "str" in text else None


def _change(document: Any, place: tuple[Any, ...], value: Any) -> None:
    """Set what is at the place, if the document has it."""
    for key in place[:-1]:
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return
    if isinstance(document, dict) or (
        isinstance(document, list) and isinstance(place[-1], int) and place[-1] < len(document)
    ):
        document[place[-1]] = value


def _harmless(text: str) -> str:
    """Return the text without what could name a file elsewhere, and without zero bytes, which no argument has."""
    return text if "://" in text else text.replace("\0", "").replace("/", "_").replace("~", "_").replace("..", "._")


_build = functools.cache(cli.build_app)


def _cached_app(commands: Sequence[str] = cli.COMMANDS) -> typer.Typer:
    return _build(tuple(commands))


_NAMES: dict[str, list[str]] = {}


def _options() -> dict[str, list[str]]:
    """Return the names of each command's options."""
    if not _NAMES:
        root = typer.main.get_command(cli.build_app())
        for name, command in root.commands.items():  # type: ignore[attr-defined]
            for below, each in [
                (name, command),
                *((f"{name} {n}", c) for n, c in getattr(command, "commands", {}).items()),
            ]:
                _NAMES[below] = sorted(
                    {
                        option
                        for parameter in each.params
                        for option in (*parameter.opts, *parameter.secondary_opts)
                        if option.startswith("-")
                    }
                )
    return _NAMES


def _run_command(words: Sequence[str]) -> str:
    """Run the command in this process; return what it printed, or raise what it must not end with."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli._status_of(words)
    text = "".join(stream.buffer.getvalue().decode() for stream in (out, err))
    if OUT_OF_MEMORY in text:
        raise MemoryError
    if status not in {*ExitCode} or "Traceback" in text:
        raise WrongStatus(f"{status}: {text[-300:]!r}")
    return text


class WrongStatus(Exception):
    """An exit code that is in no table."""


def _only_parsed(command: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(command)
    def wrapper(*_: Any, **__: Any) -> None:
        return None

    return wrapper


def _compiled_once(compile_template: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[Any, Any] = {}

    def wrapper(environment: jinja2.Environment, source: Any, *where: Any, **more: Any) -> Any:
        key = (str(source), *where)
        if key not in known:
            known[key] = compile_template(environment, source, *where, **more)
        return known[key]

    return wrapper


@contextlib.contextmanager
def confined(folder: Path) -> Iterator[None]:
    """Run the block in a private folder, with private caches, and start nothing."""
    places = {name: str(folder) for name in ("HOME", "PHOTOMETER_CACHE", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TMPDIR")}
    variables = {
        **places,
        "CI": "1",
        "COLUMNS": "80",
        "GITHUB_REPOSITORY": "a/b",
        "GITHUB_TOKEN": "s3cret",
        "PHOTOMETER_STORE": "",
    }
    before = Path.cwd()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, variables))
        stack.enter_context(mock.patch.object(tempfile, "tempdir", str(folder)))
        for owner, name in (
            (subprocess, "Popen"),
            (os, "fork"),
            (os, "posix_spawn"),
            (socket, "create_connection"),
            (socket, "getaddrinfo"),
            (socket.socket, "bind"),
            (socket.socket, "connect"),
        ):
            stack.enter_context(mock.patch.object(owner, name, refuse))
        for target in ("photometer.cli.time._loaded_torch", "photometer.remote.cluster.import_ray"):
            stack.enter_context(mock.patch(target, refuse))
        # Commands that look at the machine, or change it: only their words are read.
        for place, name in PARSED_ONLY.items():
            module = importlib.import_module(f"photometer.cli.{place}")
            stack.enter_context(mock.patch.object(module, name, _only_parsed(getattr(module, name))))
        # Every command would build its parser anew, which takes longer than most inputs.
        stack.enter_context(mock.patch.object(cli, "build_app", _cached_app))
        stack.enter_context(mock.patch("typer.main.get_command", functools.cache(typer.main.get_command)))
        # So would every store its queries and its list of schemas, and every page its template.
        for target, make in (
            ("photometer.history.store.make_engine", make_engine),
            ("photometer.history.schema.known_revisions", known_revisions),
        ):
            stack.enter_context(mock.patch(target, functools.cache(make)))
        stack.enter_context(
            mock.patch.object(jinja2.Environment, "compile", _compiled_once(jinja2.Environment.compile))
        )
        try:
            import psycopg
        except ImportError:
            pass
        else:
            stack.enter_context(mock.patch.object(psycopg.Connection, "connect", refuse))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


class _Clock:
    """How long an input takes, without the time for which other processes had the core."""

    def __init__(self) -> None:
        self._start = 0.0

    def start(self) -> None:
        self._start = self._now()
        signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS, HANG_SECONDS)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def ring(self, number: int, frame: Any) -> None:
        if self._now() - self._start >= HANG_SECONDS:
            raise Hang(f"more than {HANG_SECONDS:g} s")

    def _now(self) -> float:
        # Linux without this file counts the waiting, too.
        waited = int(WAITED.read_text().split()[1]) / 1e9 if WAITED.exists() else 0.0
        return time.monotonic() - waited


def try_input(kinds: Kinds, kind: str, seed: int, number: int, clock: _Clock) -> Fault | None:
    """Give one input to photometer; return what was wrong, if anything."""
    rng = random.Random(f"{seed}/{kind}/{number}")

    def fault(name: str, error: BaseException | None = None, words: str = "") -> Fault:
        frames = traceback.extract_tb(error.__traceback__) if error is not None else []
        ours = [frame for frame in frames if "photometer" in frame.filename] or frames
        place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno} {type(error).__name__}" if ours else name
        return Fault(kind, name, seed, number, place, words or str(error)[:300])

    clock.start()
    try:
        text = getattr(kinds, kind)(rng)
    except PhotometerError as error:
        text = visible(str(error))
    except Hang as error:
        return fault("hang", error)
    except MemoryError as error:
        return fault("memory", error)
    except WrongStatus as error:
        return fault("exit code", error)
    except (Exception, SystemExit) as error:
        return fault("traceback", error)
    finally:
        clock.stop()
    # What a results file holds is shown as it is.
    if "hunter2" in text and kind not in ("results", "instruments"):
        return fault("password", words=text[-300:])
    acting = CONTROL.intersection(text.replace("\r\n", "\n")) | {c for c in text if "\ud800" <= c <= "\udfff"}
    return fault("control characters", words=f"{sorted(acting)} {text[-200:]!r}") if acting else None


def _limit_memory() -> None:
    size = next(
        int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData")
    )
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size * 1024 + MORE_MEMORY_BYTES, hard))


KINDS = (
    "command",
    "results",
    "suite",
    "pyproject",
    "torch_pickle",
    "store",
    "callgrind",
    "message",
    "github",
    "instruments",
    "loaders",
    "warm",
)


@dataclasses.dataclass
class Total:
    """What was done of a kind. `next` is the number of the next input."""

    inputs: int = 0
    seconds: float = 0.0
    next: int = 0
    faults: list[dict[str, Any]] = dataclasses.field(default_factory=list)


def fuzz(kind: str, seed: int, total: Total, *, count: int | None, seconds: float) -> list[Fault]:
    """Try inputs until the time is over or the count is reached; add them to the total."""
    clock = _Clock()
    found: list[Fault] = []
    limit = resource.getrlimit(resource.RLIMIT_DATA)
    before = signal.signal(signal.SIGALRM, clock.ring)
    folder = Path(tempfile.mkdtemp(prefix="photometer-fuzz-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None))
    try:
        with confined(folder), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kinds = Kinds(folder)
            begin = time.perf_counter()
            tried = 0
            while (count is None or tried < count) and time.perf_counter() - begin < seconds:
                if tried % INPUTS_PER_LIMIT == 0:
                    gc.collect()
                    _limit_memory()
                one = try_input(kinds, kind, seed, total.next, clock)
                total.next += 1
                tried += 1
                if one is not None:
                    found.append(one)
            total.inputs += tried
            total.seconds += time.perf_counter() - begin
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, limit)
        signal.signal(signal.SIGALRM, before)
        shutil.rmtree(folder, ignore_errors=True)
    total.faults += [dataclasses.asdict(each) for each in found]
    return found


SUITE = b"""from photometer.definition import TimerArgs
BENCHMARKS = {
    "add": TimerArgs("x + 1", "x = torch.ones(4)", tags=("quick",)),
    "group": {
        "mul": TimerArgs("x * 2", setup="x = torch.ones(4)", num_threads=(1, 2)),
        ("a", "b"): TimerArgs("y", "y = 1"),
    },
}
"""
PYPROJECT = b"""[tool.photometer]
suite = "benchmarks/suite.py"
base = "git:merge-base:main"
fail-on = ["slower:2%", "memory:0"]
keep = 0
margin = "2%"
budget = 60
limit = 1.5
store = "sqlite:///history.sqlite"
accepted = "accepted.toml"

[[tool.photometer.thresholds]]
tag = "noisy"
margin = "2%"
fail-on = "slower:10%"

[[tool.photometer.thresholds]]
benchmark = "add"
margin = 0.05
"""
PICKLE_WORDS = (
    b"cos\nsystem\n",
    b"R",
    b"b",
    b"(",
    b"t",
    b"l",
    b"d",
    b"]",
    b"}",
    b"0",
    b"2",
    b"\x81",
    b"\x93",
    b"\x94",
    b"r\xff\xff\xff\x7f",
    b"j\x00\x00\x00\x00",
    b"B\xff\xff\xff\x7f",
    b"G\x7f\xf8\0\0\0\0\0\0",
    b"\x8c\x01\x1b",
    b"N",
    b"\x80\x05",
    b"\x95\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"a",
    b"e",
    b"s",
    b"u",
    b".",
)


def fuzz_seed(kind: str, seed: int, total: Total, count: int | None, seconds: float) -> Total:
    """Return the total with what was tried in this process, which may be one of several."""
    fuzz(kind, seed, total, count=count, seconds=seconds)
    return total


class Totals:
    """What was done of each kind with each seed, in a file if one is given."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        kept = json.loads(path.read_text()) if path is not None and path.exists() else {}
        self.of = {kind: {int(s): Total(**each) for s, each in kept.get(kind, {}).items()} for kind in KINDS}

    def add(self, kind: str, seed: int, total: Total) -> None:
        """Keep the new total, and print one line for each place of its new faults."""
        before = self.of[kind].get(seed, Total())
        places = {each["place"] for other in self.of[kind].values() for each in other.faults}
        for fault in total.faults[len(before.faults) :]:
            if fault["place"] not in places:
                places.add(fault["place"])
                again = f"--kind {kind} --seed {seed} --first {fault['number']} --count 1"
                print(f"{fault['fault']}: {again}: {fault['place']}: {fault['words']}", flush=True)
        self.of[kind][seed] = total
        if self._path is not None:
            as_json = {
                k: {seed: dataclasses.asdict(each) for seed, each in seeds.items()} for k, seeds in self.of.items()
            }
            self._path.write_text(json.dumps(as_json, indent=1))

    def add_file(self, path: Path) -> None:
        """Add what was done on another machine, with other seeds."""
        for kind, seeds in Totals(path).of.items():
            for seed, total in seeds.items():
                if seed in self.of[kind]:
                    raise SystemExit(f"{path}: {kind} has seed {seed}, which is in these totals already")
                self.add(kind, seed, total)

    def rows(self) -> dict[str, tuple[str, ...]]:
        by_kind = {kind: list(seeds.values()) for kind, seeds in self.of.items() if seeds}
        by_kind["all"] = [total for totals in by_kind.values() for total in totals]
        return {kind: _row(totals) for kind, totals in by_kind.items()}


def _row(totals: Sequence[Total]) -> tuple[str, ...]:
    inputs, seconds = sum(each.inputs for each in totals), sum(each.seconds for each in totals)
    faults = [fault["fault"] for each in totals for fault in each.faults]
    return (
        f"{inputs:,}",
        f"{inputs / seconds if seconds else 0.0:,.0f}",
        *(str(faults.count(name)) for name in FAULTS),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", action="append", choices=KINDS, help="may be given several times (default: all)")
    parser.add_argument("--count", type=int, help="inputs per kind and process (default: as many as the time allows)")
    parser.add_argument("--first", type=int, help="number of the first input (default: where the totals stopped)")
    parser.add_argument("--seed", type=int, default=0, help="of the first process; the others have those after it")
    parser.add_argument("--processes", type=int, default=1, help="how many work at once, each with a seed of its own")
    parser.add_argument("--minutes", type=float, default=1 / 6, help="at most this long per kind")
    parser.add_argument("--totals", type=Path, help="JSON file in which totals are kept")
    parser.add_argument("--add", type=Path, action="append", default=[], help="totals of another machine to add")
    parser.add_argument(
        "--figures", nargs="?", const="fuzz_inputs", metavar="NAME", help="write the totals to docs/figures/NAME.json"
    )
    given = parser.parse_args()
    totals = Totals(given.totals)
    for path in given.add:
        totals.add_file(path)
    # Not forks: a process is limited in its memory, and torch is imported in it.
    with ProcessPoolExecutor(given.processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for kind in given.kind or KINDS:
            asked = {}
            for seed in range(given.seed, given.seed + given.processes):
                total = dataclasses.replace(totals.of[kind].get(seed, Total()))
                total.next = total.next if given.first is None else given.first
                work = pool.submit(fuzz_seed, kind, seed, total, given.count, given.minutes * 60)
                asked[work] = seed
            for work in as_completed(asked):
                totals.add(kind, asked[work], work.result())
    rows = totals.rows()
    columns = ("inputs", "per second", *FAULTS)
    print("".join(f"{word:>19}" for word in ("kind", *columns)))
    for kind, row in rows.items():
        print("".join(f"{word:>19}" for word in (kind, *row)))
    if given.figures:
        write_figures(given.figures, columns, rows)


if __name__ == "__main__":
    main()
