"""After a failure: who is compiled again, how, and whose failure is final."""

from __future__ import annotations

from photometer.instruments.cpp.grouping import Unit, Variants
from photometer.instruments.cpp.retry import Plan, guard_to_tell, plan_after_failure
from photometer.instruments.cpp.snippet import CppSnippet
from photometer.instruments.cpp.source import Guard, NamedSnippet, Prelude

DIGITS = "abcdef"


def unit_of(*snippets: CppSnippet, variants: Variants = Variants.KEPT, shared: bool = True) -> Unit:
    members = tuple(NamedSnippet(s, f"photometer_{DIGITS[i] * 32}") for i, s in enumerate(snippets))
    return Unit(members, Prelude.TENSOR, shared, variants)


def error(index: int, part: str, line: int, message: str, guard: str = "kept") -> str:
    return f"photometer_{DIGITS[index] * 32}.{guard}/{part}:{line}:1: error: {message}\n"


def after(unit: Unit, log: str) -> Plan:
    return plan_after_failure(unit, log, hopeless=False)


def summary(plan: Plan) -> list[tuple[list[str], Variants, Prelude, bool]]:
    return [([m.snippet.stmt for m in u.members], u.variants, u.prelude, u.shared) for u in plan.units]


def test_an_error_that_is_surely_the_users_is_final_and_the_others_go_on() -> None:
    unit = unit_of(CppSnippet("auto y = x.summ();"), CppSnippet("auto z = 1;"), CppSnippet("auto w = 2;"))
    plan = after(unit, error(0, "stmt", 1, "no member named ‘summ’"))
    assert [m.snippet.stmt for m in plan.failed] == ["auto y = x.summ();"]
    assert summary(plan) == [(["auto z = 1;", "auto w = 2;"], Variants.KEPT, Prelude.TENSOR, True)]


def test_an_unknown_name_is_tried_with_all_of_torch() -> None:
    unit = unit_of(CppSnippet("auto y = torch::rare();"))
    plan = after(unit, error(0, "stmt", 1, "‘rare’ is not a member of ‘torch’"))
    assert summary(plan) == [(["auto y = torch::rare();"], Variants.BOTH, Prelude.EVERYTHING, True)]
    (wider,) = plan.units
    assert after(wider, error(0, "stmt", 1, "‘rare’ is not a member of ‘torch’", "plain")).failed == wider.members


def test_where_keeping_the_result_may_be_to_blame_both_ways_are_tried() -> None:
    for log in (error(0, "stmt", 1, "expected primary-expression"), error(0, "photometer", 2, "cannot bind bit-field")):
        plan = after(unit_of(CppSnippet("f(x);")), log)
        assert summary(plan) == [(["f(x);"], Variants.BOTH, Prelude.TENSOR, True)]


def test_an_error_in_the_setup_is_not_blamed_on_keeping() -> None:
    unit = unit_of(CppSnippet("f(x);", "int x = ;"))
    assert after(unit, error(0, "setup", 1, "expected primary-expression")).failed == unit.members


def test_what_compiles_only_as_it_stands_is_compiled_as_it_stands() -> None:
    unit = unit_of(CppSnippet("f(x);"), variants=Variants.BOTH)
    plan = after(unit, error(0, "stmt", 1, "expected primary-expression", "kept"))
    assert summary(plan) == [(["f(x);"], Variants.PLAIN, Prelude.TENSOR, True)]


def test_what_fails_as_it_stands_has_failed() -> None:
    unit = unit_of(CppSnippet("f(x);"), variants=Variants.BOTH)
    log = error(0, "stmt", 1, "expected ;", "plain") + error(0, "stmt", 1, "expected ;", "kept")
    assert after(unit, log) == Plan(failed=unit.members)
    assert guard_to_tell(unit) is Guard.PLAIN


def test_file_level_code_is_tried_at_file_level() -> None:
    unit = unit_of(CppSnippet("auto y = f();", global_setup="int f() { return ::g(); }"))
    plan = after(unit, error(0, "global_setup", 1, "expected something"))
    assert summary(plan) == [(["auto y = f();"], Variants.BOTH, Prelude.TENSOR, False)]


def test_an_error_of_nobody_halves_the_file() -> None:
    unit = unit_of(*(CppSnippet(f"auto y = {i};") for i in range(5)))
    plan = after(unit, "/x.h:1:1: error: rotten\n")
    assert [len(u.members) for u in plan.units] == [2, 3]
    assert plan.failed == ()
    single = unit_of(CppSnippet("auto y = 1;"), shared=False, variants=Variants.PLAIN)
    assert after(single, "/x.h:1:1: error: rotten\n").failed == single.members


def test_the_hopeless_all_fail() -> None:
    unit = unit_of(CppSnippet("a();"), CppSnippet("b();"))
    assert plan_after_failure(unit, "", hopeless=True) == Plan(failed=unit.members)


def test_every_way_comes_to_an_end() -> None:
    """Whatever the compiler says, the same log again and again leads to a verdict."""
    snippet = CppSnippet("f(x);", global_setup="int f(int x) { return x; }")
    for guard in ("kept", "plain"):
        for part in ("stmt", "photometer", "global_setup"):
            log = error(0, part, 1, "‘x’ was not declared", guard)
            units, rounds = [unit_of(snippet)], 0
            while units:
                rounds += 1
                assert rounds < 8
                units = [following for unit in units for following in after(unit, log).units]
