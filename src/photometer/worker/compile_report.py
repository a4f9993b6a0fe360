"""What torch.compile made of a statement: graphs, graph breaks, recompilations, the time of guards, cache hits.

The set-up compiles and makes the first call (see plan/codegen_python.py), while this module observes. Graph breaks and
recompilations are read from torch's own logs; guards are timed when torch has built them. Figures that a version of
torch does not provide are None or missing; nothing here fails for that. Standard library and torch only.
"""

from __future__ import annotations

import contextlib
import linecache
import logging
import os
import re
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from .messages import CompileFacts, ReportCompile

# A global of this name, called by the set-up between the first size and the others.
MARK = "photometer_compile_mark"
# Torch evaluates the guards once, with the caches emptied; a statement that runs in a loop finds them warm. So many
# evaluations in a block, and the fastest of this many blocks.
GUARD_CALLS = 200
GUARD_BLOCKS = 5
# Enough to see what is wrong; a model that breaks a thousand times breaks in the same few ways.
MOST_KEPT = 50
_ARTIFACTS = ("__graph_breaks", "__recompiles")
_BREAK = re.compile(r"in user code at (?P<file>.+?):(?P<line>\d+)\n(?:Graph Break )?Reason: (?P<why>.*)", re.DOTALL)
_RECOMPILE = re.compile(r"Recompiling function (?P<name>\S+) in (?P<file>.+):(?P<line>\d+)\n(?P<why>.*)", re.DOTALL)
_TRACEBACK = "User code traceback:"
_PREAMBLE = "Encountered graph break"


def use_compile_cache(folder: str) -> None:
    """Keep code that is compiled from now on in this folder; torch reads it when it first compiles."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    # Inductor puts Triton's cache below its own unless this says otherwise.
    os.environ.pop("TRITON_CACHE_DIR", None)


def report_compile(
    request: ReportCompile, open_blocks: Callable[[str], Any], seconds: Callable[[], Any]
) -> CompileFacts:
    """Run the set-up, the other sizes and one run under observation. `open_blocks` takes the set-up's text."""
    with watching() as watch:
        later = [f"{MARK}()", *request.later] if request.later else []
        with open_blocks("\n".join([request.setup, *later])) as run_block:
            run_block(1)
            return CompileFacts(watch.report(seconds()))


class Watch:
    """The observations so far. `mark` ends the part of the first size."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.guard_seconds: list[float] = []
        self._marked: dict[str, Any] | None = None

    def mark(self) -> None:
        self._marked = self._state()

    def report(self, compile_seconds: Any) -> dict[str, Any]:
        first, last = self._marked or self._state(), self._state()
        breaks = first["breaks"]
        return {
            "compile_seconds": compile_seconds,
            "graphs": first["graphs"],
            "breaks": breaks[:MOST_KEPT],
            "guards": first["guards"],
            "guard_seconds": first["guard_seconds"],
            "cache_hits": last["cache_hits"],
            "cache_misses": last["cache_misses"],
            "recompilations": last["recompilations"][:MOST_KEPT],
            "swept": self._marked is not None,
        }

    def _state(self) -> dict[str, Any]:
        from torch._dynamo.utils import counters

        inductor = counters.get("inductor", {})
        known = [found for message in self.messages if (found := graph_break(message)) is not None]
        breaks = merged(known) if known else unplaced_breaks(counters.get("graph_break", {}))
        again = [found for message in self.messages if (found := recompilation(message)) is not None]
        times = list(self.guard_seconds)
        return {
            "graphs": int(counters.get("stats", {}).get("unique_graphs", 0)),
            "breaks": breaks,
            "recompilations": again,
            "guards": guard_count(),
            "guard_seconds": sum(times) if times else None,
            "cache_hits": int(inductor.get("fxgraph_cache_hit", 0)),
            "cache_misses": int(inductor.get("fxgraph_cache_miss", 0)),
        }


@contextlib.contextmanager
def watching() -> Iterator[Watch]:
    """Read torch's logs about compiling, and time its guards, until the block ends."""
    import torch._dynamo
    import torch._dynamo.guards
    import torch._dynamo.utils
    import torch._inductor.compile_fx  # noqa: F401 - its import is not part of compiling

    watch = Watch()
    with contextlib.ExitStack() as open_ones:
        open_ones.enter_context(_listening(watch.messages.append))
        open_ones.enter_context(_timed_guards(watch.guard_seconds.append))
        import builtins

        # The set-up's own names are local to the loop: a builtin is seen there too.
        setattr(builtins, MARK, watch.mark)
        open_ones.callback(delattr, builtins, MARK)
        yield watch


@contextlib.contextmanager
def _listening(take: Callable[[str], object]) -> Iterator[None]:
    import torch

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with contextlib.suppress(Exception):
                take(record.getMessage())

    with contextlib.suppress(AttributeError, ValueError):
        torch._logging.set_logs(graph_breaks=True, recompiles=True)
    listener = Listener()
    loggers = [
        logging.getLogger(name)
        for name in list(logging.root.manager.loggerDict)
        if name.startswith("torch.") and name.endswith(_ARTIFACTS)
    ]
    for logger in loggers:
        logger.addHandler(listener)
        logger.propagate = False
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(listener)


@contextlib.contextmanager
def _timed_guards(take: Callable[[float], object]) -> Iterator[None]:
    """Time the guards of each frame when torch does."""
    from torch._dynamo import guards

    own = getattr(guards, "profile_guard_manager", None)
    if own is None:
        yield
        return

    def timed(root: Any, names: Any, calls: int) -> float:
        with contextlib.suppress(Exception):
            take(_seconds_of_check(lambda: root.check(names)))
        return float(own(root, names, calls))

    guards.profile_guard_manager = timed
    try:
        yield
    finally:
        guards.profile_guard_manager = own


def _seconds_of_check(check: Callable[[], object]) -> float:
    fastest = float("inf")
    for _ in range(GUARD_BLOCKS):
        start = perf_counter()
        for _ in range(GUARD_CALLS):
            check()
        fastest = min(fastest, perf_counter() - start)
    return fastest / GUARD_CALLS


def guard_count() -> int | None:
    """Return how many guards all compiled frames have together."""
    import torch._dynamo.utils

    with contextlib.suppress(Exception):
        metrics = torch._dynamo.utils.get_compilation_metrics()
        return sum(int(getattr(each, "guard_count", 0) or 0) for each in metrics)
    return None


def graph_break(message: str) -> dict[str, Any] | None:
    """Return the place and the reason in a message about a graph break; None for other messages."""
    found = _BREAK.search(message)
    if found is None:
        return None
    file, line = found["file"], int(found["line"])
    return {"file": file, "line": line, "code": _code_at(file, line), "count": 1, **_reason(found["why"])}


def _reason(text: str) -> dict[str, str]:
    """Return the reason in one line, and the hint that goes with it."""
    lines = [line.strip() for line in text.split(_TRACEBACK)[0].splitlines()]
    stated = [line for line in lines if line and not line.startswith(_PREAMBLE)]
    hints = [line.removeprefix("Hint: ") for line in stated if line.startswith("Hint: ")]
    return {"reason": stated[0] if stated else "unknown", "hint": hints[0] if hints else ""}


def merged(breaks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each break once, with how often it happened: a recompiled function breaks again."""
    kept: dict[tuple[Any, ...], dict[str, Any]] = {}
    for each in breaks:
        key = (each["file"], each["line"], each["reason"])
        if key in kept:
            kept[key]["count"] += 1
        else:
            kept[key] = dict(each)
    return list(kept.values())


def unplaced_breaks(reasons: Any) -> list[dict[str, Any]]:
    """Return the breaks that torch has counted, if its log does not name them."""
    return [
        {"file": "", "line": 0, "code": "", "count": int(count), **_reason(str(reason))}
        for reason, count in dict(reasons).items()
    ]


def recompilation(message: str) -> dict[str, Any] | None:
    """Return the function, its place and the guard that failed, in a message about a recompilation."""
    found = _RECOMPILE.search(message)
    if found is None:
        return None
    reasons = [line.strip().removeprefix("- ") for line in found["why"].splitlines() if line.strip().startswith("- ")]
    return {
        "function": found["name"],
        "file": found["file"],
        "line": int(found["line"]),
        # After the guard, torch notes where in the code it comes from; the place is known already.
        "reason": re.sub(r"\s{2,}#.*", "", reasons[0]) if reasons else found["why"].strip()[:500],
    }


def _code_at(file: str, line: int) -> str:
    return linecache.getline(file, line).strip()
