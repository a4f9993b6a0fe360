"""A suite of photometer's own code, which CI compares on every pull request: what it costs to plan, record and show."""

from photometer.definition import TimerArgs

_PLAN = """
from photometer.definition import load_suite
from photometer.plan import materialize
suite = load_suite("standard")
"""
_RECORDS = """
from photometer.model.measurement import Measurement
from photometer.model.records import from_record, to_record
from photometer.model.task import TaskSpec
measured = Measurement(100, [1e-6] * 50, TaskSpec("x + x", "x = torch.ones(4)"))
record = to_record(measured)
"""

BENCHMARKS = {
    "plan": {"standard suite": TimerArgs("materialize(suite)", _PLAN)},
    "records": {
        "write": TimerArgs("to_record(measured)", _RECORDS),
        "read": TimerArgs("from_record(Measurement, record)", _RECORDS),
    },
}
