"""fuzz: time statements over the inputs of a fuzzer, and find the inputs on which they are slow.

    found = photometer.fuzz("x.exp()", photometer.fuzzers.UnaryOpFuzzer(seed=3), against="x.abs()", count=50)
    print(photometer.fuzzers.render_fuzz_text(found))

In: statements and a Fuzzer. Out: a FuzzMap. The command `photometer fuzz` shows the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from photometer.analysis.fuzz_map import FuzzMap
    from photometer.fuzzing import Fuzzer


def fuzz(
    stmt: str,
    fuzzer: Fuzzer,
    *,
    against: str | None = None,
    count: int = 100,
    setup: str = "pass",
    num_threads: int = 1,
    min_run_time: float = 0.1,
    rehearse: bool | None = None,
    timeout: float = 120.0,
) -> FuzzMap:
    """Time one statement, or two against each other, on `count` inputs of a fuzzer, and return the map.

    The statements see the tensors, the parameters and torch by name. Each input is timed for `min_run_time` seconds.
    With `rehearse` each statement first runs once in a fork of this process, so that a crash or an endless run costs
    that input alone; the default is to do so wherever it is safe. A rehearsal is given up after `timeout` seconds.
    """
    from photometer.analysis.fuzz_map import make_map
    from photometer.execution.fuzz_run import FuzzRequest, run_trials
    from photometer.fuzzing.fuzzer import explaining_parameters, shown_parameters

    request = FuzzRequest(
        fuzzer, count, stmt, against, setup, num_threads, min_run_time, rehearsed=rehearse, timeout_seconds=timeout
    )
    trials = list(run_trials(request))
    return make_map(request.statements, trials, explaining_parameters(fuzzer), shown_parameters(fuzzer))
