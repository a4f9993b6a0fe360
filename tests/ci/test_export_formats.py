"""Results for services that keep those of many commits, held to what each of them reads.

github-action-benchmark (src/extract.ts): an array of objects with name, value and unit, perhaps range and extra; an
empty array is an error there, and a range counts if it is `±` and a number. Bencher: the schema it publishes
(bmf.json), and its limits on the length of names. PyTorch's HUD: the columns of oss_ci_benchmark_v3 that CI does not
fill in by itself; in ClickHouse a Map(String, String) takes only texts, and no column takes null.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from photometer.ci.export_formats import EXPORTS
from photometer.ci.exported_figures import ExportedFigure, figures_of_comparison, figures_of_results
from photometer.cli import compare
from photometer.cli.output_options import Service
from photometer.errors import ResultsFileError
from photometer.model.machine import Machine, TorchBuild
from photometer.model.order_name import OrderName
from photometer.model.results_reader import load_results
from tests.analysis.verdicts import result
from tests.ci.reviews import HOSTILE, memory, more_instructions, review
from tests.photometer_command import photometer

TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
SCHEMAS: dict[str, dict[str, Any]] = {
    "github-action-benchmark": {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "value": {"type": "number"},
                "unit": {"type": "string", "minLength": 1},
                "range": {"type": "string", "pattern": r"^± \d[0-9.e+-]*$"},
                "extra": {"type": "string"},
            },
            "required": ["name", "value", "unit"],
            "additionalProperties": False,
        },
    },
    "bencher": {
        "type": "object",
        "propertyNames": {"minLength": 1, "maxLength": 1024},
        "additionalProperties": {
            "type": "object",
            "propertyNames": {"minLength": 1, "maxLength": 64},
            "additionalProperties": {
                "type": "object",
                "properties": {name: {"type": "number"} for name in ("value", "lower_value", "upper_value")},
                "required": ["value"],
                "additionalProperties": False,
            },
        },
    },
    "pytorch-hud": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "benchmark": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "minLength": 1},
                        "mode": {"type": "string"},
                        "dtype": {"type": "string"},
                        "extra_info": TEXTS,
                    },
                    "required": ["name"],
                    "additionalProperties": False,
                },
                "model": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "minLength": 1},
                        "type": {"type": "string"},
                        "backend": {"type": "string"},
                        "origins": {"type": "array", "items": {"type": "string"}},
                        "extra_info": TEXTS,
                    },
                    "required": ["name"],
                    "additionalProperties": False,
                },
                "metric": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "minLength": 1},
                        "benchmark_values": {"type": "array", "minItems": 1, "items": {"type": "number"}},
                        "target_value": {"type": "number"},
                        "extra_info": TEXTS,
                    },
                    "required": ["name", "benchmark_values"],
                    "additionalProperties": False,
                },
                "dependencies": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "properties": {name: {"type": "string"} for name in ("repo", "branch", "sha", "version")},
                        "additionalProperties": False,
                    },
                },
            },
            "required": ["benchmark", "model", "metric"],
            "additionalProperties": False,
        },
    },
}
NAME = OrderName(("maths", "add"), autograd="forward+backward", sizes=(("n", 64),), device="cuda")
MACHINE = Machine(torch=TorchBuild(version="2.13.0", git_version="abc"))
FIGURES = [
    ExportedFigure("ours", "maths › add [n=64]", NAME, "latency", 2e-6, "s", 1.5e-6, 2.5e-6, machine=MACHINE),
    ExportedFigure("ours", "maths › add [n=64]", NAME, "instructions", 1200, "instructions"),
    ExportedFigure("ours", "maths › add [n=64]", NAME, "loss", 0.5, "", remark="identical"),
    ExportedFigure("ours", "x" * 2000, NAME, "y" * 100, 1.0, "B", -math.inf, math.inf),
]


def rendered(format: str, figures: list[ExportedFigure] | None = None) -> Any:
    """Return what is printed, as the service's reader sees it: without NaN, and held to its schema."""
    text = EXPORTS[format](FIGURES if figures is None else figures)
    document = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    jsonschema.validate(document, SCHEMAS[format])
    return document


def test_every_format_has_a_schema_and_every_command_has_every_format() -> None:
    assert EXPORTS.keys() == SCHEMAS.keys()
    for formats in (Service, compare.ShownFor):
        assert EXPORTS.keys() <= {each.value for each in formats}


def test_github_action_benchmark_gets_nanoseconds_and_only_what_is_worse_if_more() -> None:
    first, second, third = rendered("github-action-benchmark")
    assert first == {
        "name": "maths › add [n=64]",
        "unit": "ns",
        "value": pytest.approx(2000.0),
        "range": "± 500",
        "extra": "suite: ours\ndevice: cuda",
    }
    assert (second["name"], second["value"]) == ("maths › add [n=64] (instructions)", 1200)
    assert third["unit"] == "B"
    assert "range" not in third


def test_bencher_gets_measures_by_benchmark() -> None:
    document = rendered("bencher")
    assert document["maths › add [n=64]"] == {
        "latency": {
            "value": pytest.approx(2000.0),
            "lower_value": pytest.approx(1500.0),
            "upper_value": pytest.approx(2500.0),
        },
        "instructions": {"value": 1200.0},
        "loss": {"value": 0.5},
    }


def test_the_hud_gets_a_record_per_metric() -> None:
    first, _, third, _ = rendered("pytorch-hud")
    assert first["benchmark"] == {
        "name": "ours",
        "mode": "training",
        "dtype": "",
        "extra_info": {"device": "cuda", "language": "python", "num_threads": "1", "size_n": "64"},
    }
    assert first["metric"]["benchmark_values"] == [pytest.approx(2.0)]
    assert first["metric"]["extra_info"] == {"unit": "us", "low": "1.5", "high": "2.5"}
    assert first["dependencies"]["pytorch"] == {"repo": "pytorch/pytorch", "version": "2.13.0", "sha": "abc"}
    assert third["metric"]["extra_info"] == {"remark": "identical"}
    assert "dependencies" not in third


@pytest.mark.parametrize("format", EXPORTS)
def test_a_comparison_gives_the_figures_of_the_branch(format: str) -> None:
    compared = review(
        result("slower", 1.1, "maths › add [n=64, C++]", instructions=more_instructions(0.1)),
        result("identical", 1.0, HOSTILE, memory=memory("more", 100, 200)),
    ).comparison
    figures = figures_of_comparison(compared)
    first = figures[0]
    assert first.title == "maths › add [n=64, C++]"
    assert first.value == pytest.approx(1.1e-6)
    assert first.remark == "slower than the reference"
    assert first.low is not None
    assert first.low < first.value
    assert [figure.value for figure in figures if figure.measure == "peak-memory"] == [200]
    text = json.dumps(rendered(format, figures), ensure_ascii=False)
    assert not re.search(r"[\x00-\x1f\x7f\x9b]", text)


SUITE = """
from photometer import GroupedStmts, GroupedSetup
BENCHMARKS = {
    "sum": GroupedStmts("total = sum(v)", setup=GroupedSetup("v = list(range(n))"), sizes={"n": (2, 4)},
                        metrics=("total",)),
}
"""


@pytest.mark.slow
@pytest.mark.warm
def test_run_and_show_print_the_same_document(tmp_path: Path) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    quickly = ("--no-instructions", "--min-run-time", "0.001")
    ran = photometer("run", "suite.py", *quickly, "--format", "bencher", "-o", "out", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    jsonschema.validate(document, SCHEMAS["bencher"])
    assert set(document) == {"sum [n=2]", "sum [n=4]"}
    assert document["sum [n=4]"]["total"] == {"value": 6.0}
    for name, schema in SCHEMAS.items():
        shown = photometer("show", "out", "--format", name, cwd=tmp_path)
        assert shown.returncode == 0, shown.stderr
        kept = json.loads(shown.stdout)
        jsonschema.validate(kept, schema)
        if name == "bencher":
            assert kept == document


@pytest.mark.slow
@pytest.mark.warm
def test_compare_prints_it_and_ends_as_usual(tmp_path: Path) -> None:
    (tmp_path / "suite.py").write_text(SUITE)
    done = photometer(
        *("compare", "current", "current", "--suite", "suite.py", "-k", "n=2", "--no-instructions", "--budget", "2"),
        *("--format", "github-action-benchmark", "-o", "out"),
        cwd=tmp_path,
    )
    assert done.returncode in (0, 4), done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMAS["github-action-benchmark"])
    assert {entry["unit"] for entry in document} == {"ns", "B"}
    figures = figures_of_results([load_results(tmp_path / "out" / "comparison.json")])
    assert {figure.title for figure in figures} == {entry["name"].partition(" (")[0] for entry in document}


def test_a_file_without_figures_is_an_error(tmp_path: Path) -> None:
    from photometer.results import save

    save(tmp_path / "empty.json", [])
    with pytest.raises(ResultsFileError, match="no figures"):
        figures_of_results([load_results(tmp_path / "empty.json")])


def test_single_measurements_have_figures_too(tmp_path: Path) -> None:
    from photometer import Timer
    from photometer.results import save

    measurement = Timer("1 + 1", label="maths", sub_label="add").blocked_autorange(min_run_time=0.001)
    save(tmp_path / "one.json", [measurement])
    (figure,) = figures_of_results([load_results(tmp_path / "one.json")])
    assert figure.title == "maths: add"
    assert figure.value == measurement.seconds
