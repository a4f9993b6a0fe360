"""C++ statements by Timer: built, run in a worker, and their failures told."""

from __future__ import annotations

import pytest

from photometer import Language, Timer
from photometer.errors import BuildError, DefinitionError, SnippetError, WorkerCrashed
from tests.compiled import CRASHES, ONES, THROWS, WANTS_TWO_THREADS

pytestmark = pytest.mark.compiler


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("language", [Language.CPP, "cpp", "c++"])
def test_the_three_ways_to_measure(language: Language | str) -> None:
    timer = Timer("auto y = x + 1;", ONES, language=language)
    fixed = timer.timeit(200)
    assert fixed.number_per_run == 200
    for m in (fixed, timer.blocked_autorange(min_run_time=0.02), timer.adaptive_autorange(max_run_time=0.05)):
        assert 1e-8 < m.median < 1e-2
        # The statement runs elsewhere: this thread's waiting says nothing of its core.
        assert m.conditions is not None
        assert m.conditions.cpu_seconds is None


@pytest.mark.usefixtures("compiled")
def test_threads_reach_the_worker() -> None:
    Timer(WANTS_TWO_THREADS, num_threads=2, language="cpp").timeit(3)
    with pytest.raises(SnippetError, match="1"):
        Timer(WANTS_TWO_THREADS, num_threads=1, language="cpp").timeit(3)


@pytest.mark.usefixtures("compiled")
def test_failures_are_told_and_the_next_statement_runs() -> None:
    with pytest.raises(SnippetError, match="std::runtime_error: planted"):
        Timer(THROWS, language="cpp").timeit(1)
    with pytest.raises(WorkerCrashed, match="SIGSEGV"):
        Timer(CRASHES, language="cpp").timeit(1)
    with pytest.raises(BuildError, match="stmt:2"):
        Timer("auto a = 1;\nauto b = ;", language="cpp").timeit(1)
    assert Timer("auto y = x + 1;", ONES, language="cpp").timeit(10).median > 0


def test_python_globals_are_refused() -> None:
    with pytest.raises(DefinitionError, match="cannot use the Python globals"):
        Timer("x;", globals={"x": 1}, language="cpp")
