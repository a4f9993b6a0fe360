"""The standard suite: how much there is of what, and that its Python runs. Its C++ is built by `photometer check`."""

from __future__ import annotations

import importlib.util
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from photometer.definition import load_suite
from photometer.model.task import Language
from photometer.plan import ScriptingJob, materialize, order_tree, select

PLAN = materialize(load_suite("standard"))
SECTIONS = {
    "allocation",
    "pointwise",
    "reduction",
    "indexing",
    "metadata and views",
    "order and size",
    "matmul",
    "nn modules",
    "mesoscale",
    "training",
}


def test_it_has_all_sections_and_enough_orders() -> None:
    tree = order_tree("standard", PLAN)
    assert {child.name for child in tree.children} == SECTIONS
    assert len(PLAN) >= 156
    modules = next(child for child in tree.children if child.name == "nn modules")
    assert len(modules.children) == 10


def test_every_benchmark_is_there_in_python_and_cpp() -> None:
    languages: dict[tuple[Any, ...], set[Language]] = {}
    for order in PLAN:
        auto = order.auto
        languages.setdefault((order.label, auto.runtime, auto.autograd, auto.num_threads), set()).add(auto.language)
    assert all(found == {Language.PYTHON, Language.CPP} for found in languages.values())


def test_training_has_everything_with_one_and_two_threads() -> None:
    training = [order for order in PLAN if order.label[0] == "training"]
    points = Counter((o.auto.runtime, o.auto.autograd, o.auto.language, o.auto.num_threads) for o in training)
    assert len(points) == 16
    assert set(points.values()) == {2}


def test_quick_touches_nearly_all_sections() -> None:
    quick = select(PLAN, tags=["quick"])
    assert len(SECTIONS - {order.label[0] for order in quick}) <= 2
    assert len(quick) < len(PLAN) / 3


def scripted(job: ScriptingJob, folder: Path) -> str:
    source = folder / f"standard_{job.id}.py"
    source.write_text(job.source)
    spec = importlib.util.spec_from_file_location(source.stem, source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
        module.jit_model.save(str(source.with_suffix(".pt")))
    return str(source.with_suffix(".pt"))


@pytest.mark.lengthy
def test_every_python_order_runs(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    paths = {job.id: scripted(job, tmp_path) for job in PLAN.scripting_jobs}
    try:
        for order in PLAN:
            if order.auto.language is not Language.PYTHON:
                continue
            args = (order if order.model_id is None else order.with_model_path(paths[order.model_id])).args
            torch.set_num_threads(args.num_threads)
            lines = [*args.setup.splitlines(), *args.stmt.splitlines(), *args.stmt.splitlines()]
            namespace: dict[str, Any] = {"torch": torch}
            exec("def run():\n" + "\n".join(f"    {line}" for line in lines), namespace)
            namespace["run"]()
    finally:
        torch.set_num_threads(threads)
