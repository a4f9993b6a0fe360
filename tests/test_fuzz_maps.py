"""`photometer.fuzz`: a few inputs through both forms, one statement and two."""

from __future__ import annotations

import pytest

import photometer


def test_one_statement_gives_a_map_of_its_times() -> None:
    fuzzer = photometer.fuzzers.UnaryOpFuzzer(seed=3, max_elements=2**14)
    found = photometer.fuzz("x.exp()", fuzzer, count=3, min_run_time=0.002, rehearse=False)
    assert found.statements == ("x.exp()",)
    assert len(found.trials) == 3
    assert not found.failed
    assert not found.is_comparison
    assert "x.exp()" in photometer.fuzzers.render_fuzz_text(found)


def test_two_statements_are_compared() -> None:
    fuzzer = photometer.fuzzers.UnaryOpFuzzer(seed=3, max_elements=2**14)
    found = photometer.fuzz(
        "x.exp().exp().exp()", fuzzer, against="x.exp()", count=4, min_run_time=0.005, rehearse=False
    )
    assert found.is_comparison
    assert found.typical > 1.0
    assert "<html" in photometer.fuzzers.render_fuzz_page(found)


def test_a_statement_that_fails_is_in_the_map() -> None:
    fuzzer = photometer.fuzzers.UnaryOpFuzzer(seed=3, max_elements=2**14)
    found = photometer.fuzz("x.no_such_method()", fuzzer, count=1, min_run_time=0.002, rehearse=False)
    assert len(found.failed) == 1
    with pytest.raises(photometer.errors.DefinitionError):
        photometer.fuzz("x", fuzzer, count=0)
