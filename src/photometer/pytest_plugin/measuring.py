"""Measuring: the engine of an ordinary session. It measures in this process, which has the test's fixtures.

In: a Call and what the marks request. Out: a Measurement (or DeviceMeasurement), and verdicts of `ab`, also as records
with the test's identity. As in pytest-benchmark, `--benchmark-cprofile COLUMN` or `cprofile=True` adds a profile.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from photometer.pytest_plugin.fixtures import FUNCTION, Bench, Call, Statement, Stats, statement_of
from photometer.pytest_plugin.options import DEFAULT_MIN_TIME_SECONDS, Asked, asked_of, own_id

if TYPE_CHECKING:
    import pytest

    from photometer.analysis.ranking import Ranking
    from photometer.model.device_measurement import DeviceMeasurement
    from photometer.model.measurement import Measurement
    from photometer.plan.work_order import WorkOrder

import cProfile
import pstats
from pathlib import Path

PROFILE = "cprofile"
DEFAULT_COLUMN = "cumtime"
DEFAULT_TOP = 25


def profile_call(call: Call) -> list[dict[str, Any]]:
    """Run the call once more under cProfile, and return one row of CPROFILE_COLUMNS per function."""
    profile = cProfile.Profile()
    arguments = call.new_arguments()
    profile.runcall(call.function, *arguments.args, **arguments.kwargs)
    call.tear_down(arguments)
    found: Mapping[Any, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return [_row(place, figures) for place, figures in found.items()]


def _row(place: tuple[str, int, str], figures: Sequence[Any]) -> dict[str, Any]:
    file, line, name = place
    primitive, calls, own, whole = figures[:4]
    return {
        "ncalls": calls,
        "ncalls_recursion": f"{calls}/{primitive}" if calls != primitive else str(calls),
        "tottime": own,
        "tottime_per": own / calls,
        "cumtime": whole,
        "cumtime_per": whole / primitive,
        "function_name": name if file == "~" else f"{Path(file).name}:{line}({name})",
    }


def top_rows(rows: Sequence[dict[str, Any]], column: str, most: int) -> list[dict[str, Any]]:
    """Return the top rows by a column: the largest figures, or the first names."""
    key = "ncalls" if column == "ncalls_recursion" else column
    return sorted(rows, key=lambda row: row[key], reverse=key != "function_name")[:most]


# The variable of the loop that holds what the function returned.
RETURNED = "photometer_returned"


@dataclasses.dataclass(frozen=True)
class Rounds:
    """Measured rounds, as many as the test gave, and what the function returned."""

    measurement: Measurement
    returned: Any


class Measuring:
    """Measures one test."""

    enabled = True

    def __init__(self, item: pytest.Item, asked: Asked, min_time_seconds: float | None = None) -> None:
        self._item = item
        self._asked = asked
        self._min_time_seconds = asked.min_time or min_time_seconds or DEFAULT_MIN_TIME_SECONDS
        self._taken: Measurement | DeviceMeasurement | None = None
        self.rankings: list[Ranking] = []
        self.stats: Stats | None = None
        self.profile: list[dict[str, Any]] = []

    def measure(self, call: Call) -> Any:
        from photometer.model.measurement import Measurement

        process = os.getpid()
        if call.rounds is not None and not self._asked.device:
            rounds = self._measure_rounds(call, call.rounds)
            result, self._taken = rounds.returned, rounds.measurement
        else:
            result = call.run_once()
            self._taken = self._measure_device(call) if self._asked.device else self._measure_time(call)
        if os.getpid() != process:
            # A fork of the function that came back: it would go on with all further tests.
            os._exit(0)
        if isinstance(self._taken, Measurement):
            self.stats = Stats(self._taken.times, self._taken.number_per_run)
        if self._asked.cprofile:
            self.profile = profile_call(call)
        return result

    def ab(self, statements: Sequence[Any], options: Mapping[str, Any]) -> Any:
        from photometer.analysis.ranking import PairVerdict, Ranking, rank_statements
        from photometer.comparing.contenders import name_of
        from photometer.comparing.statements import ab

        # The plugin itself writes results (--photometer-store).
        marks: dict[str, Any] = {"num_threads": self._asked.threads, "store": "none"}
        marks |= {} if self._asked.margin is None else {"margin": self._asked.margin}
        marks |= {"device": self._asked.device} if self._asked.device else {}
        found = ab(*statements, **{**marks, **options})
        if isinstance(found, Ranking):
            self.rankings.append(found)
            return found
        names = [name if isinstance(name, str) else name_of(name) for name in statements]
        names = names if names[0] != names[1] else ["first", "second"]
        first, second = names
        self.rankings.append(rank_statements((first, second), [PairVerdict(first, second, found)]))
        return found

    def result(self) -> Any:
        return self._taken

    def _timer(self, call: Call) -> Any:
        from photometer.instruments.clock import timer
        from photometer.timing import Timer

        return Timer(
            call.function,
            num_threads=self._asked.threads,
            args=call.arguments.args,
            kwargs=call.arguments.kwargs,
            label=own_id(self._item).partition("::")[0],
            sub_label=own_id(self._item).partition("::")[2],
            timer=self._asked.timer or timer,
        )

    def _measure_time(self, call: Call) -> Measurement:
        taken: Measurement = self._timer(call).blocked_autorange(min_run_time=self._min_time_seconds)
        return taken

    def _measure_device(self, call: Call) -> DeviceMeasurement:
        if call.setup is not None:
            import pytest

            pytest.fail("a setup per round cannot be kept out of device time: make the arguments beforehand")
        taken: DeviceMeasurement = self._timer(call).measure_device(
            self._asked.device, min_run_time=self._min_time_seconds
        )
        return taken

    def _measure_rounds(self, call: Call, rounds: int) -> Rounds:
        """Time exactly this many rounds, without what `setup` and `teardown` do.

        The value is that of the last round; if a round has several iterations, that of an extra run, as in
        pytest-benchmark.
        """
        from photometer.instruments.clock import choose_clock, timer
        from photometer.model.measurement import Measurement
        from photometer.worker.python_loop import PythonLoop
        from photometer.worker.threads import set_torch_threads

        clock = choose_clock(self._asked.timer or timer)
        seconds = []
        returned: Any = None
        with set_torch_threads(self._asked.threads):
            for number in range(call.warmup_rounds + rounds):
                arguments = call.new_arguments()
                statement = statement_of(Call(call.function, arguments))
                loop = PythonLoop(f"{RETURNED} = {statement.text}", "pass", clock, dict(statement.names))
                with loop.open_blocks() as run_block:
                    taken = run_block(call.iterations)
                    returned = loop.variable(RETURNED)
                call.tear_down(arguments)
                if number >= call.warmup_rounds:
                    seconds.append(max(taken, 1e-9))
            if call.iterations > 1:
                returned = call.run_once()
        spec = dataclasses.replace(self._timer(call).task_spec, stmt=shown(call, statement))
        return Rounds(Measurement(call.iterations, seconds, spec), returned)


def skip_without_device(item: pytest.Item) -> None:
    """Skip a test whose accelerator this machine, or this torch, does not have. The fixture reports wrong marks."""
    import pytest

    from photometer.errors import DeviceMissing
    from photometer.instruments.device.torch_accelerator import open_accelerator

    try:
        device = asked_of(item).device
        if device:
            open_accelerator(device)
    except DeviceMissing as error:
        pytest.skip(str(error))
    except (TypeError, ValueError):
        return


def shown(call: Call, statement: Statement) -> str:
    """Return the call as shown to users, without the names that the loop uses."""
    return f"{call.name}({'…' if statement.text != f'{FUNCTION}()' else ''})"


def records_of(bench: Bench) -> list[dict[str, Any]]:
    """Return the records of a test for a results file, as plain values that an xdist worker can send."""
    from photometer.execution.run_file import identified
    from photometer.model.records import to_record

    engine = bench.engine
    if not isinstance(engine, Measuring):
        return []
    test = own_id(bench.item)
    order = order_of(test, bench.asked, bench.group)
    records = []
    taken = engine.result()
    if taken is not None:
        record = {**to_record(taken), "test": test}
        record["task_spec"] = {**record["task_spec"], "label": order.label[0], "sub_label": order.label[1]}
        profile = {PROFILE: engine.profile} if engine.profile else {}
        metadata = {**(record.get("metadata") or {}), **plain(bench.extra_info), **profile}
        records.append(identified({**record, **({"metadata": metadata} if metadata else {})}, order))
    records += [{**to_record(ranking), "test": test} for ranking in engine.rankings]
    return [plain(record) for record in records]


def order_of(nodeid: str, asked: Asked, group: str | None = None) -> WorkOrder:
    """Return a test as a work order: its identity in results files, stores and comparisons."""
    from photometer.definition.suite import content_hash
    from photometer.definition.timer_args import TimerArgs
    from photometer.model.task import Language
    from photometer.plan.auto_labels import AutogradMode, AutoLabels, RuntimeMode
    from photometer.plan.work_order import WorkOrder

    file, _, name = nodeid.partition("::")
    auto = AutoLabels(
        RuntimeMode.EXPLICIT, AutogradMode.EXPLICIT, Language.PYTHON, asked.threads, asked.device or "cpu"
    )
    # The id does not depend on the table that shows the test.
    identity = content_hash(["pytest", nodeid, asked.threads, asked.device])
    args = TimerArgs(name, num_threads=asked.threads, check=False)
    return WorkOrder(identity, (group or file, name), auto, args, margin=asked.margin)


def plain(value: Any) -> Any:
    """Return the value as JSON types; anything else becomes text."""
    return json.loads(json.dumps(value, default=str))
