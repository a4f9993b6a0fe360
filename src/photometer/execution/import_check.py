"""Try the imports of a plan once in its environment before anything is compiled or timed.

In: a plan and a session. Out: nothing, or, if no benchmark could run, one error that names every module that cannot be
imported; otherwise each benchmark would fail by itself, after minutes of compiling. If some can run, the run starts.
"""

from __future__ import annotations

import ast
import collections
import sys
from collections.abc import Iterable, Iterator

from photometer.errors import DefinitionError, SnippetError, WorkerCrashed, WorkerTimeout
from photometer.instruments.ready_order import kind_of
from photometer.model.task import Language
from photometer.plan.work_order import WorkOrder, WorkOrders
from photometer.session.session import Session
from photometer.worker.messages import Prepare

# Importing a package may compile kernels or read models.
IMPORT_SECONDS = 600.0
# These are there, or nothing is. The last is of photometer's probes, which get its folder with their request.
ALWAYS_THERE = sys.stdlib_module_names | {"torch", "photometer_result"}


def check_imports(plan: WorkOrders, session: Session) -> None:
    """Raise DefinitionError if every set-up imports something at its top level that cannot be imported."""
    wanted = wanted_imports(plan)
    if not wanted:
        return
    failed: dict[str, SnippetError] = {}
    try:
        # In a server that is needed anyway: what most benchmarks import is imported there already.
        kinds = collections.Counter(kind_of(order) for order in plan)
        with session.child(kinds.most_common(1)[0][0]) as child:
            for line in wanted:
                try:
                    child.ask(Prepare(setup=line), IMPORT_SECONDS)
                except SnippetError as error:
                    failed[line] = error
    except (WorkerCrashed, WorkerTimeout):
        # The benchmark that imports it will report it.
        return
    if failed and all(failed.keys() & _imports_of(order) for order in plan):
        raise _error_of(failed, wanted)


def wanted_imports(orders: Iterable[WorkOrder]) -> dict[str, int]:
    """Return import statements, each once, with the number of benchmarks that have it in their set-up."""
    wanted: dict[str, int] = {}
    for order in orders:
        for line in _imports_of(order):
            wanted[line] = wanted.get(line, 0) + 1
    return wanted


def _imports_of(order: WorkOrder) -> dict[str, None]:
    """Return the import statements of an order, in their order; C++ has none."""
    if order.args.language is not Language.PYTHON:
        return {}
    return dict.fromkeys(_top_level_imports(order.args.setup))


def _top_level_imports(setup: str) -> Iterator[str]:
    """Yield imports that always run; one in a function, or behind `try` or `if`, may be meant to fail."""
    try:
        tree = ast.parse(setup)
    except (SyntaxError, ValueError):
        return  # reported where the set-up is run
    for node in tree.body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        else:
            continue
        if any(name.split(".")[0] not in ALWAYS_THERE for name in names):
            yield ast.unparse(node)


def _error_of(failed: dict[str, SnippetError], wanted: dict[str, int]) -> DefinitionError:
    lines = []
    for line, error in failed.items():
        count = wanted[line]
        lines.append(f"{line!r} fails in {count} benchmark{'' if count == 1 else 's'}: {error.message}")
    first = next(iter(failed.values()))
    return DefinitionError(
        "; ".join(lines), log=first.log, remedy="Nothing was run. Correct the import, or leave these out with -k."
    )
