"""The fixtures `photometer` and `benchmark`: what a test calls. An Engine behind them does the work.

In this process it measures; with --photometer-off it calls the function once; in a comparison it stops there and serves
the near side. Standard library and pytest only: an environment that is compared need not have photometer.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import pytest

from .options import Asked

FUNCTION = "photometer_function"
NEXT_ARGUMENTS = "photometer_next_arguments"


@dataclasses.dataclass(frozen=True)
class Arguments:
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Call:
    """The call to measure: a function with its arguments, or with a `setup` that makes new ones for every round.

    `rounds` is None if the number of runs is left to the engine.
    """

    function: Callable[..., Any]
    arguments: Arguments = Arguments()
    setup: Callable[[], Any] | None = None
    teardown: Callable[..., Any] | None = None
    rounds: int | None = None
    iterations: int = 1
    warmup_rounds: int = 0

    def __post_init__(self) -> None:
        for name, least in (("iterations", 1), ("warmup_rounds", 0), ("rounds", 1)):
            value = getattr(self, name)
            if (name, value) != ("rounds", None) and (not isinstance(value, int) or value < least):
                raise ValueError(f"{name} is {value!r}; give a whole number from {least} up")
        if self.setup is not None and self.iterations != 1:
            raise ValueError("a setup makes arguments for one run: leave iterations at 1")
        if not callable(self.function):
            raise TypeError(f"what is measured must be a function, not {type(self.function).__name__}")

    def new_arguments(self) -> Arguments:
        """Return the arguments of the next round; `setup` may return `args, kwargs`, or None if it makes none."""
        made = None if self.setup is None else self.setup()
        if made is None:
            return self.arguments
        if self.arguments.args or self.arguments.kwargs:
            raise TypeError("setup returns arguments, but args or kwargs are also given: use one or the other")
        args, kwargs = made
        return Arguments(tuple(args), dict(kwargs))

    def run_once(self) -> Any:
        """Run the call with set-up and tear-down, and return its result."""
        arguments = self.new_arguments()
        result = self.function(*arguments.args, **arguments.kwargs)
        self.tear_down(arguments)
        return result

    def tear_down(self, arguments: Arguments) -> None:
        if self.teardown is not None:
            self.teardown(*arguments.args, **arguments.kwargs)

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", None) or type(self.function).__name__


@dataclasses.dataclass(frozen=True)
class Statement:
    """A call as text, and the names that the text uses."""

    text: str
    names: dict[str, Any]


def statement_of(call: Call) -> Statement:
    """Return the call with one name per argument, so that a plain call is timed; with a set-up, using its arguments."""
    names: dict[str, Any] = {FUNCTION: call.function}
    if call.setup is not None:
        text = f"photometer_made = {NEXT_ARGUMENTS}(); {FUNCTION}(*photometer_made.args, **photometer_made.kwargs)"
        return Statement(text, {**names, NEXT_ARGUMENTS: call.new_arguments})
    words = []
    for place, value in enumerate(call.arguments.args):
        names[f"photometer_arg_{place}"] = value
        words.append(f"photometer_arg_{place}")
    for key, value in call.arguments.kwargs.items():
        names[f"photometer_kwarg_{key}"] = value
        words.append(f"{key}=photometer_kwarg_{key}")
    return Statement(f"{FUNCTION}({', '.join(words)})", names)


class Stats:
    """Seconds per round under pytest-benchmark's names: `stats.mean`, `stats["median"]`, `stats.stats.min`."""

    FIELDS = (
        *("min", "max", "mean", "stddev", "rounds", "median", "iqr", "q1", "q3", "ops", "total", "iterations"),
        *("ld15iqr", "hd15iqr", "iqr_outliers", "stddev_outliers", "outliers"),
    )

    def __init__(self, data: Sequence[float], iterations: int) -> None:
        self.data = list(data)
        self.iterations = iterations
        self.rounds = len(self.data)
        self.min, self.max, self.total = min(self.data), max(self.data), sum(self.data)
        self.mean, self.median = statistics.fmean(self.data), statistics.median(self.data)
        self.stddev = statistics.stdev(self.data) if self.rounds > 1 else 0.0
        several = statistics.quantiles(self.data, n=4) if self.rounds > 1 else [self.median] * 3
        self.q1, self.q3 = several[0], several[2]
        self.iqr = self.q3 - self.q1
        self.ops = 1.0 / self.mean if self.mean else 0.0
        # Tukey's fences: the smallest and largest round within 1.5 interquartile ranges of the middle half.
        within = [each for each in self.data if self.q1 - 1.5 * self.iqr <= each <= self.q3 + 1.5 * self.iqr]
        # Rounding may put the quartiles of equal numbers beside them.
        within = within or self.data
        self.ld15iqr, self.hd15iqr = min(within), max(within)
        self.iqr_outliers = self.rounds - len(within)
        self.stddev_outliers = sum(abs(each - self.mean) > self.stddev for each in self.data)
        self.outliers = f"{self.stddev_outliers};{self.iqr_outliers}"

    @property
    def stats(self) -> Stats:
        return self

    def __getitem__(self, name: str) -> Any:
        if name not in self.FIELDS:
            raise KeyError(name)
        return getattr(self, name)

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.FIELDS}


class Engine(Protocol):
    """Carries out the requests of a fixture."""

    stats: Stats | None
    enabled: bool

    def measure(self, call: Call) -> Any:
        """Measure the call, and return its result."""

    def ab(self, statements: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """Compare the statements in this process, and return the verdict."""

    def result(self) -> Any:
        """Return the measurement; None if there is none."""


class Once:
    """The engine of --photometer-off: nothing is measured, and nothing imported."""

    stats: Stats | None = None
    enabled = False

    def measure(self, call: Call) -> Any:
        return call.run_once()

    def ab(self, statements: Sequence[Any], options: Mapping[str, Any]) -> Any:
        pytest.skip("benchmarks are off, so there is no verdict")

    def result(self) -> Any:
        return None


class AlreadyUsed(Exception):
    """A test tried to measure a second time."""


class Bench:
    """One test's benchmark, whichever fixture it uses."""

    def __init__(self, item: pytest.Item, asked: Asked, engine: Engine) -> None:
        self.item = item
        self.asked = asked
        self.engine = engine
        self.group: str | None = asked.group or None
        self.extra_info: dict[str, Any] = {}
        self._used_by = ""

    def measure(self, call: Call, how: str) -> Any:
        self.use(how)
        return self.engine.measure(call)

    def use(self, how: str) -> None:
        if self._used_by:
            raise AlreadyUsed(f"this test was already measured by {self._used_by}: write one test per benchmark")
        self._used_by = how


class PhotometerFixture:
    """`photometer(function, *args, **kwargs)` measures a call and returns what it returns."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def __call__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return self._bench.measure(Call(function, Arguments(args, kwargs)), "photometer(…)")

    def ab(self, *statements: Any, **options: Any) -> Any:
        """Return the Verdict of two statements, or the Ranking of several; the options are those of `photometer.ab`."""
        return self._bench.engine.ab(statements, options)

    @property
    def measurement(self) -> Any:
        """The Measurement, or DeviceMeasurement; None if nothing was measured."""
        return self._bench.engine.result()

    @property
    def extra_info(self) -> dict[str, Any]:
        """Further values to keep with the measurement, by name."""
        return self._bench.extra_info


class BenchmarkFixture:
    """pytest-benchmark's fixture, as far as its documentation describes it."""

    def __init__(self, bench: Bench) -> None:
        item = bench.item
        callspec = getattr(item, "callspec", None)
        self._bench = bench
        self.name = item.name
        self.fullname = item.nodeid
        self.param = None if callspec is None else callspec.id
        self.params = None if callspec is None else dict(callspec.params)
        self._woven: list[Any] = []

    def __call__(self, function_to_benchmark: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return self._bench.measure(Call(function_to_benchmark, Arguments(args, kwargs)), "benchmark(…)")

    def pedantic(  # noqa: PLR0913, PLR0917 - pytest-benchmark's arguments
        self,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        setup: Callable[[], Any] | None = None,
        teardown: Callable[..., Any] | None = None,
        rounds: int = 1,
        warmup_rounds: int = 0,
        iterations: int = 1,
    ) -> Any:
        """Run the given rounds and iterations; a `setup` may make the arguments of each round."""
        arguments = Arguments(tuple(args), dict(kwargs or {}))
        call = Call(target, arguments, setup, teardown, rounds, iterations, warmup_rounds)
        return self._bench.measure(call, "benchmark.pedantic(…)")

    def weave(self, target: Any, **options: Any) -> None:
        """Measure what `target` names when something else calls it, until the test is over."""
        if importlib.util.find_spec("aspectlib") is None:
            pytest.fail(
                "benchmark.weave needs aspectlib: run `pip install aspectlib`, or call the function with benchmark(…)",
                pytrace=False,
            )
        import aspectlib

        def measured(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *args, **kwargs: self(function, *args, **kwargs)

        self._woven.append(aspectlib.weave(target, measured, **options))

    patch = weave

    def unweave(self) -> None:
        """Restore what `weave` has replaced, in reverse order."""
        while self._woven:
            self._woven.pop().rollback()

    @property
    def group(self) -> str | None:
        return self._bench.group

    @group.setter
    def group(self, name: str | None) -> None:
        self._bench.group = name

    @property
    def extra_info(self) -> dict[str, Any]:
        return self._bench.extra_info

    @extra_info.setter
    def extra_info(self, info: Mapping[str, Any]) -> None:
        self._bench.extra_info = dict(info)

    @property
    def stats(self) -> Stats | None:
        return self._bench.engine.stats

    @property
    def enabled(self) -> bool:
        return self._bench.engine.enabled

    @property
    def disabled(self) -> bool:
        return not self.enabled


BENCH = pytest.StashKey[Bench]()


def bench_of(item: pytest.Item, make_engine: Callable[[pytest.Item, Asked], Engine], asked: Asked) -> Bench:
    """Return the one benchmark of a test, created on first use."""
    if BENCH not in item.stash:
        item.stash[BENCH] = Bench(item, asked, make_engine(item, asked))
    return item.stash[BENCH]


class Fixtures:
    """A plugin with the fixture `photometer`."""

    def __init__(self, make_engine: Callable[[pytest.Item, Asked], Engine]) -> None:
        self._make_engine = make_engine

    @pytest.fixture(name="photometer")
    def photometer_fixture(self, request: pytest.FixtureRequest) -> PhotometerFixture:
        """Measure a call: photometer(function, *args, **kwargs); compare two: photometer.ab(f, g)."""
        return PhotometerFixture(_bench(request, self._make_engine))


class BenchmarkFixtures:
    """A plugin with pytest-benchmark's fixtures `benchmark` and `benchmark_weave`."""

    def __init__(self, make_engine: Callable[[pytest.Item, Asked], Engine]) -> None:
        self._make_engine = make_engine

    @pytest.fixture(name="benchmark")
    def benchmark_fixture(self, request: pytest.FixtureRequest) -> Iterator[BenchmarkFixture]:
        """Measure a call, as pytest-benchmark does: benchmark(function, *args, **kwargs); benchmark.pedantic(…)."""
        fixture = BenchmarkFixture(_bench(request, self._make_engine))
        yield fixture
        fixture.unweave()

    @pytest.fixture(name="benchmark_weave")
    def weave_fixture(self, benchmark: BenchmarkFixture) -> Callable[..., None]:
        """Measure a function when something else calls it: benchmark_weave(target, **options of aspectlib)."""
        return benchmark.weave


def _bench(request: pytest.FixtureRequest, make_engine: Callable[[pytest.Item, Asked], Engine]) -> Bench:
    from .options import asked_of

    item = request.node
    try:
        asked = asked_of(item)
    except (TypeError, ValueError) as error:
        pytest.fail(str(error), pytrace=False)
    return bench_of(item, make_engine, asked)
