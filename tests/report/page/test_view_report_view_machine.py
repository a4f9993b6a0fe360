from __future__ import annotations

from photometer.model.diagnosis import Conditions
from photometer.model.machine import Machine, TorchBuild
from photometer.report.page.view_report import disturbances_of, machine_view


def test_facts_are_what_is_known() -> None:
    machine = Machine(cpu_model="CPU", logical_cores=8, usable_cores=2, memory_bytes=2**34, commit="abcdef0123456789")
    facts = dict(machine_view("f", machine, []).facts)
    assert facts == {"Processor": "CPU", "Cores": "8, 2 usable", "Memory": "16 GiB", "Commit": "abcdef0123"}
    assert machine_view("f", None, []).facts == ()


def test_the_summary_is_one_line() -> None:
    machine = Machine(
        cpu_model="CPU", python="3.11", torch=TorchBuild(version="2.13", cuda="12.8", debug=True), date="today"
    )
    assert machine_view("f", machine, []).summary == "CPU · torch 2.13, CUDA 12.8, debug build · Python 3.11 · today"
    assert machine_view("f", Machine(cpu_model="CPU"), [], devices=["GPU"]).summary == "CPU · GPU"


def test_dates_are_shown_to_the_minute() -> None:
    for date, shown in (("2026-11-15T10:47:23+00:00", "2026-11-15 10:47 UTC"), ("some day", "some day")):
        assert dict(machine_view("f", Machine(date=date), []).facts)["Date"] == shown


def test_a_comparison_says_what_its_sides_are() -> None:
    header = {"comparison": {"base": {"spec": "git:main", "commit": "0123456789abcdef"}, "branch": {"spec": "current"}}}
    assert machine_view("f", None, [], header).facts == (("Base", "git:main, commit 0123456789"), ("Branch", "current"))


def test_what_the_instruments_noticed_is_said_without_a_judgement() -> None:
    calm = [Conditions(wall_seconds=1.0, cpu_seconds=0.999)] * 3
    busy = [Conditions(wall_seconds=1.0, cpu_seconds=0.9, preempted_blocks=4)] * 3
    said = "While they were measured, the benchmarks were off their core for 0.1 % of the time."
    assert disturbances_of(None, calm) == said
    sentence = disturbances_of(Machine(stolen_share=0.02), busy)
    assert "uiet" not in sentence
    assert "10.0 % of the time" in sentence
    assert "12 interrupted blocks were set aside" in sentence
    assert "the hypervisor took 2.0 %" in sentence
    assert disturbances_of(None, []) == ""
    # More processor time than wall time: several threads.
    assert "0.0 %" in disturbances_of(None, [Conditions(wall_seconds=1.0, cpu_seconds=2.0)])
