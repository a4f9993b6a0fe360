"""PythonLoop: a user's Python statement compiled into a loop that times blocks of runs.

In: the statement and set-up as text, a clock, and globals. Out: seconds for n runs, either with a fresh set-up for
each block (as timeit does) or with one set-up for many blocks (as alternating measurements want).
Standard library only: the worker runs it too.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import itertools
import linecache
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

# The loop is a generator so that set-up and statement share fast local variables, as in a function, while the caller
# decides between blocks how many runs come next. Names are mangled: user code cannot collide with them by accident.
_TEMPLATE = """
def _photometer_blocks(_photometer_clock, _photometer_repeat):
    _photometer_seconds = 0.0
    while True:
        _photometer_runs = _photometer_repeat(None, (yield _photometer_seconds))
        _photometer_start = _photometer_clock()
        for _photometer_run in _photometer_runs:
            pass
        _photometer_seconds = _photometer_clock() - _photometer_start
"""

_serial = itertools.count(1)

Blocks = Generator[float, int, None]


class PythonLoop:
    """`timeit(n)` for one statement. Same constructor arguments as timeit.Timer, so either can stand for the other."""

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        timer: Callable[[], float] = time.perf_counter,
        globals: dict[str, Any] | None = None,
    ) -> None:
        self._clock = timer
        namespace = {} if globals is None else globals
        code, self.source_name = compile_blocks(stmt, setup)
        exec(code, namespace)
        self._make_blocks: Callable[..., Blocks] = namespace.pop("_photometer_blocks")
        self._opened: Blocks | None = None

    def timeit(self, number: int = 1_000_000) -> float:
        """Return the seconds for `number` runs after a fresh set-up, with the collector off."""
        with self.open_blocks() as run_block:
            return run_block(number)

    @contextlib.contextmanager
    def open_blocks(self) -> Iterator[Callable[[int], float]]:
        """Run the set-up once and yield a function that times a block of n runs; variables live on between blocks."""
        blocks = self._make_blocks(self._clock, itertools.repeat)
        collector_was_on = gc.isenabled()
        gc.disable()
        try:
            next(blocks)
            self._opened = blocks
            yield blocks.send
        finally:
            self._opened = None
            blocks.close()
            if collector_was_on:
                gc.enable()

    def variable(self, name: str) -> Any:
        """Return the value of a variable of the set-up or the statement after the last run of the open blocks."""
        frame: Any = getattr(self._opened, "gi_frame", None)
        if frame is None:
            raise RuntimeError("no blocks are open")
        for names in (frame.f_locals, frame.f_globals):
            if name in names:
                return names[name]
        raise NameError(f"the statement has no variable {name}")


def compile_blocks(stmt: str, setup: str) -> tuple[Any, str]:
    """Return the code object that defines the loop, and the name under which tracebacks find the user's lines.

    The two texts are parsed and placed into the loop as syntax trees, not as text: strings over several lines keep
    their content, and every node keeps its line, so that a traceback shows the user's own.
    """
    setup_tree, stmt_tree = _parse(setup, "<setup>"), _parse(stmt, "<stmt>")
    setup_lines = setup.splitlines() or [""]
    ast.increment_lineno(stmt_tree, len(setup_lines))

    module = ast.parse(_TEMPLATE)
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    loop = function.body[1]
    assert isinstance(loop, ast.While)
    runs = loop.body[2]
    assert isinstance(runs, ast.For)
    for node in ast.walk(module):
        # The loop's own instructions belong to no line of the user's; line 1 keeps the table monotone and harmless.
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = 1  # type: ignore[attr-defined]
    runs.body = stmt_tree.body or [ast.Pass(lineno=1, col_offset=0)]
    function.body[0:0] = setup_tree.body

    source_name = f"<photometer snippet {next(_serial)}>"
    text = "\n".join([*setup_lines, *stmt.splitlines()]) + "\n"
    # No mtime: linecache.checkcache then leaves the entry alone.
    linecache.cache[source_name] = (len(text), None, text.splitlines(keepends=True), source_name)
    return compile(module, source_name, "exec"), source_name


def _parse(text: str, name: str) -> ast.Module:
    """Return the tree of one text; a syntax error names `<stmt>` or `<setup>` and the line in it."""
    # compile() also rejects what only a whole module may not contain (a bare return); ast.parse lets it pass.
    compile(text, name, "exec", dont_inherit=True)
    return ast.parse(text, name)
