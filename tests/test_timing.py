"""Timer: torch's meaning kept, its gotchas managed, and what is new."""

from __future__ import annotations

import gc
import timeit
from typing import Any, ClassVar

import pytest
import torch

from photometer import Language, Measurement, Timer
from photometer.errors import DefinitionError
from photometer.instruments.clock import accelerator_in_use, choose_clock, timer
from photometer.model.diagnosis import SuspicionKind
from photometer.statement_arguments import bind_call, tidy
from tests.worker.fake_backend import Abacus, install


def test_blocked_autorange_measures_the_time_asked() -> None:
    m = Timer("x + 1", "x = torch.ones(4)").blocked_autorange(min_run_time=0.02)
    assert isinstance(m, Measurement)
    assert sum(m.raw_times) >= 0.02
    assert m.conditions is not None
    assert m.conditions.loop_overhead_seconds_per_run
    assert m.conditions.clock_resolution_seconds


def test_timeit_runs_once_in_one_block_after_a_small_warm_up() -> None:
    runs: list[int] = []
    m = Timer("runs.append(1)", globals={"runs": runs}).timeit(500)
    assert len(m.raw_times) == 1
    assert m.number_per_run == 500
    assert 502 <= len(runs) <= 500 + 2 * 5 + 2


def test_adaptive_autorange_and_precision_stop_by_their_rules() -> None:
    adaptive = Timer("x + 1", "x = 1").adaptive_autorange(threshold=0.9, min_run_time=0.005, max_run_time=1.0)
    precise = Timer("x + 1", "x = 1").blocked_autorange(min_run_time=0.005, precision=0.5, max_run_time=1.0)
    for measured, said in ((adaptive, "spread"), (precise, "interval")):
        assert measured.conditions is not None
        assert said in (measured.conditions.stopped_because or "")


def test_labels_travel() -> None:
    m = Timer("pass", label="l", sub_label="s", description="d", env="e", num_threads=2).timeit(10)
    assert (m.label, m.sub_label, m.description, m.env, m.num_threads) == ("l", "s", "d", "e", 2)


def test_threads_are_set_and_restored_after_an_exception_too() -> None:
    before = torch.get_num_threads()
    seen: list[int] = []
    Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=2).timeit(3)
    assert set(seen) == {2}
    assert torch.get_num_threads() == before
    with pytest.raises(ZeroDivisionError):
        Timer("1 / 0", num_threads=2).blocked_autorange()
    assert torch.get_num_threads() == before
    assert gc.isenabled()


def test_callable_with_arguments() -> None:
    seen: list[tuple[object, ...]] = []

    def work(*args: object, flag: bool = False) -> None:
        seen.append((*args, flag))

    m = Timer(work, args=(1, "two"), kwargs={"flag": True}, label="calls").timeit(5)
    assert set(seen) == {(1, "two", True)}
    assert m.stmt == "work(…)"
    shown, text, names = bind_call(work, (1,), {"flag": 2})
    assert "*" not in text
    assert len(names) == 3
    assert shown == "work(…)"


def test_subclasses_written_for_torch_run_unchanged() -> None:
    class CountingTimer:
        calls: ClassVar[list[int]] = []

        def __init__(self, stmt: str, setup: str, timer: object, globals: dict[str, Any], **kwargs: Any) -> None:
            self.globals = globals

        def timeit(self, number: int) -> float:
            self.calls.append(number)
            return 1e-6 * number

    class MyTimer(Timer):
        _timer_cls = CountingTimer

    m = MyTimer("whatever", globals={"a": 1}).blocked_autorange(min_run_time=0.01)
    assert m.median == pytest.approx(1e-6)
    assert CountingTimer.calls

    class Stock(Timer):
        _timer_cls = timeit.Timer

    assert Stock("x + 1", "x = 1").blocked_autorange(min_run_time=0.01).median > 0


def test_a_subclass_may_replace_the_block_itself() -> None:
    class MyTimer(Timer):
        def _timeit(self, number: int) -> float:
            return 3e-6 * number

    assert MyTimer("pass").blocked_autorange(min_run_time=0.01).median == pytest.approx(3e-6)


def test_globals_are_copied_and_torch_is_there() -> None:
    names = {"x": torch.ones(2)}
    Timer("y = torch.add(x, 1)", globals=names).timeit(2)
    assert set(names) == {"x"}


def test_users_own_clock_is_kept() -> None:
    ticks = iter(range(10**9))
    m = Timer("pass", timer=lambda: float(next(ticks))).timeit(4)
    assert m.raw_times == [1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"stmt": 3}, "text or a callable"),
        ({"global_setup": "#include <x>"}, "C\\+\\+ only"),
        ({"language": "fortran"}, "unknown language"),
        ({"num_threads": 0}, "at least 1"),
        ({"stmt": "pass", "args": (1,)}, "go with a callable"),
        ({"stmt": print, "language": "cpp"}, "a callable stmt is Python"),
        ({"setup": 3}, "expected text"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Timer(**arguments)


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(DefinitionError):
        Timer("pass").timeit(0)
    with pytest.raises(DefinitionError):
        Timer("pass").blocked_autorange(min_run_time=-1)


def test_repeat_and_autorange_point_elsewhere() -> None:
    for method in (Timer().repeat, Timer().autorange):
        with pytest.raises(NotImplementedError, match="blocked_autorange"):
            method()


def test_languages_are_spelled_as_in_torch() -> None:
    from torch.utils.benchmark import Language as TorchLanguage

    assert Language.parse("py") is Language.parse(TorchLanguage.PYTHON) is Language.PYTHON
    assert Language.parse("c++") is Language.parse(TorchLanguage.CPP) is Language.CPP


def test_text_is_tidied() -> None:
    assert tidy("\n    a = 1\n    b = 2\n    ") == "a = 1\nb = 2"


def test_an_empty_statement_is_suspected_of_doing_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever the machine does meanwhile: beside an empty loop of a second the statement takes no time.
    monkeypatch.setattr("photometer.instruments.wall_time.empty_loop_seconds", lambda: 1.0)
    m = Timer("pass").blocked_autorange(min_run_time=0.02)
    assert SuspicionKind.MAY_DO_NOTHING in {w.kind for w in m.warnings}


def test_no_synchronisation_where_no_accelerator_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    device = install(monkeypatch, Abacus())
    waited: list[None] = []
    device.synchronize = lambda: waited.append(None)
    assert not accelerator_in_use()
    Timer("pass").timeit(10)
    assert waited == []
    known_before = Timer("pass")
    known_before.timeit(10)
    device.opened = True
    known_before.timeit(10)
    assert len(waited) >= 2
    assert choose_clock(timer) is not timer


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("label must be text, not int", {"label": 3}),
        ("sub_label must be text", {"sub_label": b"x"}),
        ("description must be text", {"description": ("a",)}),
        ("env must be text", {"env": 1.5}),
        ("setup: expected text, not NoneType", {"setup": None}),
        ("global_setup must be text", {"global_setup": 1, "language": "cpp"}),
        ("num_threads must be a whole number, not str", {"num_threads": "2"}),
        ("num_threads must be a whole number, not float", {"num_threads": 2.0}),
        ("num_threads must be a whole number, not NoneType", {"num_threads": None}),
        ("num_threads must be at least 1", {"num_threads": 0}),
        ("globals must be a dict", {"globals": [1]}),
        ("timer must be a function", {"timer": None}),
        ("stmt must be text or a callable", {"stmt": 3}),
    ],
)
def test_arguments_of_another_type_are_named(words: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match=words):
        Timer(**{"stmt": "1", **arguments})


@pytest.mark.parametrize("number", [None, "5", 1.5, 0, -1])
def test_the_number_of_runs_is_a_whole_number(number: Any) -> None:
    with pytest.raises(DefinitionError, match="number must be"):
        Timer("1").timeit(number)


@pytest.mark.parametrize("seconds", [None, "5", float("nan"), -1])
def test_the_time_to_run_is_a_positive_number(seconds: Any) -> None:
    for measure in (Timer("1").blocked_autorange, Timer("1").adaptive_autorange):
        with pytest.raises(DefinitionError, match="must be"):
            measure(min_run_time=seconds, max_run_time=seconds)
