"""Results files made by code: what a run, a comparison and a fuzz run leave behind, with no torch and no clock."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

from photometer.analysis.verdict import DetectableChange, Verdict, reason_for_replicates
from photometer.definition.loading import load_suite
from photometer.model.comparison_replicate import ComparisonReplicate
from photometer.model.diagnosis import Conditions
from photometer.model.fuzz_trial import FuzzTrial, TensorFacts, TrialFailure
from photometer.model.instruction_counts import FunctionCount, InstructionCounts, InstructionFigures
from photometer.model.machine import Machine, TorchBuild
from photometer.model.measurement import Measurement
from photometer.model.packed_stacks import ComparisonStacks, pack_stacks
from photometer.model.records import to_record
from photometer.model.results_reader import Results
from photometer.model.task import TaskSpec
from photometer.plan.expand import materialize
from photometer.plan.work_order import WorkOrder

MACHINE = Machine(
    cpu_model="AMD EPYC 9R14",
    logical_cores=2,
    usable_cores=2,
    governor="performance",
    memory_bytes=8 * 2**30,
    kernel="Linux 6.1.0",
    hypervisor="KVM",
    stolen_share=0.002,
    python="3.11.2",
    torch=TorchBuild(version="2.13.0+cpu", cpu_capability="AVX512"),
    photometer="1.0.0",
    commit="4f0c1d2e9a7b",
    date="2026-11-15 10:40 UTC",
)
FUNCTIONS = (
    ("ceval.c:_PyEval_EvalFrameDefault [python3.11]", 0.19),
    ("TensorIterator.cpp:at::TensorIteratorBase::build(at::TensorIteratorConfig&) [libtorch_cpu.so]", 0.12),
    ("Dispatcher.h:c10::Dispatcher::call<at::Tensor, at::Tensor const&> [libtorch_cpu.so]", 0.09),
    ("python_variable.cpp:THPVariable_Wrap(at::TensorBase const&) [libtorch_python.so]", 0.08),
    ("python_arg_parser.cpp:torch::FunctionSignature::parse [libtorch_python.so]", 0.08),
    ("malloc.c:_int_malloc [libc.so.6]", 0.07),
    ("CPUAllocator.cpp:c10::alloc_cpu(unsigned long) [libc10.so]", 0.05),
    ("TensorImpl.cpp:c10::TensorImpl::~TensorImpl() [libc10.so]", 0.05),
    ("object.c:PyObject_GenericGetAttr [python3.11]", 0.04),
    ("malloc.c:_int_free [libc.so.6]", 0.04),
    ("UnaryOpsKernel.cpp:at::native::vectorized_loop2d [libtorch_cpu.so]", 0.03),
    ("typeobject.c:_PyType_Lookup [python3.11]", 0.03),
)
MAIN = ("loop", "_PyEval_EvalFrameDefault", "THPVariable_add")
STACKS = (
    (("loop",), 0.03),
    (("loop", "_PyEval_EvalFrameDefault"), 0.16),
    (MAIN, 0.04),
    ((*MAIN, "torch::PythonArgParser::raw_parse"), 0.05),
    ((*MAIN, "torch::PythonArgParser::raw_parse", "torch::FunctionSignature::parse"), 0.07),
    ((*MAIN, "torch::PythonArgParser::raw_parse", "torch::FunctionSignature::parse", "_PyType_Lookup"), 0.03),
    ((*MAIN, "at::_ops::add_Tensor::call"), 0.04),
    ((*MAIN, "at::_ops::add_Tensor::call", "c10::Dispatcher::call"), 0.08),
    ((*MAIN, "at::_ops::add_Tensor::call", "c10::Dispatcher::call", "at::TensorIteratorBase::build"), 0.12),
    (
        (
            *MAIN,
            "at::_ops::add_Tensor::call",
            "c10::Dispatcher::call",
            "at::TensorIteratorBase::build",
            "c10::alloc_cpu",
        ),
        0.12,
    ),
    ((*MAIN, "at::_ops::add_Tensor::call", "c10::Dispatcher::call", "at::native::add_kernel"), 0.11),
    ((*MAIN, "THPVariable_Wrap"), 0.08),
    ((*MAIN, "THPVariable_Wrap", "PyType_GenericAlloc"), 0.05),
    (("loop", "_PyEval_EvalFrameDefault", "subtype_dealloc", "c10::TensorImpl::~TensorImpl"), 0.02),
)


def samples(
    random_: random.Random, seconds: float, count: int = 180, noise: float = 0.004, drift: float = 0.0
) -> list[float]:
    """Skewed as real ones are, with a stray block now and then."""
    made = []
    for i in range(count):
        value = seconds * (1 + abs(random_.gauss(0, noise)) + drift * i / count)
        made.append(value * (1.3 if random_.random() < 0.01 else 1.0))
    return made


def order_of(order: WorkOrder) -> dict[str, Any]:
    return {"id": order.id, "label": list(order.label), "auto": to_record(order.auto), "tags": list(order.tags)}


def spec_of(order: WorkOrder) -> TaskSpec:
    return TaskSpec(
        order.args.stmt,
        order.args.setup,
        order.args.global_setup,
        label=order.label[0],
        sub_label=" › ".join(order.label[1:]) or None,
        num_threads=order.args.num_threads,
    )


def instructions_of(order: WorkOrder, random_: random.Random) -> int:
    size = {"forward+backward": 8.0}.get(order.auto.autograd.value, 1.0)
    size *= {"cpp": 0.45}.get(to_record(order.auto)["language"], 1.0)
    return int(6000 * size * math.exp(random_.gauss(0, 0.7)))


def counts_of(spec: TaskSpec, per_run: int, runs: int = 100) -> InstructionCounts:
    total = per_run * runs
    figures = InstructionFigures(total, int(total * 0.86), 4 * runs)
    functions = tuple(FunctionCount(int(total * part), name) for name, part in FUNCTIONS)
    return InstructionCounts(spec, runs, (figures,) * 3, InstructionFigures(0, 0, 0), functions)


def run_records(seed: int = 1, with_stacks: bool = True) -> list[dict[str, Any]]:
    """The standard suite as a run leaves it: a time and a count each, two failures, one record of an unknown kind."""
    random_ = random.Random(seed)
    records: list[dict[str, Any]] = []
    for number, order in enumerate(materialize(load_suite("standard"))):
        spec, identity = spec_of(order), {"order": order_of(order)}
        if number in (40, 111):
            log = 'Traceback (most recent call last):\n  File "<setup>", line 2\nRuntimeError: out of memory'
            records.append(
                {
                    "kind": "failure",
                    "step": "time",
                    "type": "WorkerCrashed",
                    "message": "the child died of signal 11",
                    "log": log,
                    "remedy": "Run it alone under gdb.",
                    "task_spec": to_record(spec),
                    **identity,
                }
            )
            continue
        per_run = instructions_of(order, random_)
        drift, noise = (0.09, 0.004) if number == 7 else (0.0, 0.2) if number == 21 else (0.0, 0.004)
        times = samples(random_, per_run / 4.1e9, noise=noise, drift=drift)
        conditions = Conditions(wall_seconds=0.21, cpu_seconds=0.2098, preemptions=1, preempted_blocks=1)
        measured = Measurement(500, [t * 500 for t in times], spec, conditions=conditions)
        records.append({**to_record(measured), **identity})
        counts = {**to_record(counts_of(spec, per_run)), **identity}
        if with_stacks:
            counts["stacks"] = packed(per_run * 100)
        records.append(counts)
    records.append({"kind": "horoscope", "text": "good"})
    return records


def many_records(number: int, samples_each: int = 150) -> list[dict[str, Any]]:
    random_ = random.Random(5)
    records = []
    for i in range(number):
        spec = TaskSpec(f"f{i}(x)", "x = torch.ones(8)", label=f"group {i // 100:03}", sub_label=f"case {i}")
        times = samples(random_, 1e-6 * (1 + i % 97), samples_each)
        records.append(to_record(Measurement(1, times, spec)))
    return records


def verdict(word: str, ratio: float, half: float, base: float, reason: str) -> Verdict:
    low, high = ratio - half, ratio + half
    return Verdict(
        verdict=word,  # type: ignore[arg-type]
        ratio=ratio,
        interval=(low, high),
        difference_seconds=base * (ratio - 1),
        difference_interval_seconds=(base * (low - 1), base * (high - 1)),
        base_seconds=base,
        p=1e-5,
        log_evidence=11.0,
        replicates=12,
        margin=0.005,
        confidence=0.95,
        false_alarm=0.01,
        paired=True,
        detectable=DetectableChange(half * 1.5, half, half * 0.7),
        reason=reason,
    )


def comparison_records(seed: int = 2) -> list[dict[str, Any]]:
    random_ = random.Random(seed)
    records = []
    for number, order in enumerate(materialize(load_suite("standard"))):
        if order.auto.num_threads > 1:
            continue
        per_run = instructions_of(order, random_)
        base = per_run / 4.1e9
        half = 0.003 * math.exp(random_.gauss(0, 0.3))
        word, ratio, more = "same", 1 + random_.gauss(0, 0.0008), 0.0
        if number in (3, 30, 77):
            word, more = "slower", {3: 0.083, 30: 0.041, 77: 0.0}[number]
            ratio = {3: 1.067, 30: 1.031, 77: 1.019}[number]
        elif number in (12, 55):
            word, ratio, half = "undecided", 1.011, 0.02
        elif number in (20, 90):
            word, ratio, more = "faster", 0.962, -0.05
        reason = reason_for_replicates(
            word,  # type: ignore[arg-type]
            ratio=ratio,
            interval=(ratio - half, ratio + half),
            within=0.005 if word == "same" else None,
            p=1e-5,
            count=12,
            times_to_certain=None,
        )
        branch = per_run * (1 + more)
        change = {
            "base_per_run": per_run * 0.86,
            "branch_per_run": branch * 0.86,
            "base_allocator_calls_per_run": 4.0,
            "branch_allocator_calls_per_run": 4.0,
            "layouts": 3,
            "layout_spread": 0.0002,
            "functions": []
            if not more
            else [
                [per_run * more * 0.7, "at::TensorIteratorBase::build"],
                [per_run * more * 0.3, "c10::alloc_cpu"],
                [-12.0, "_PyType_Lookup"],
            ],
        }
        record: dict[str, Any] = {
            "kind": "comparison",
            "order_id": order.id,
            "title": order.title,
            "order": order_of(order),
            "task_spec": to_record(spec_of(order)),
            "verdict": to_record(verdict(word, ratio, half, base, reason)),
            "instructions": change,
            "layout_ratios": [],
            "warnings": [],
            "cause": "",
        }
        if more:
            both = (packed(per_run * 100), packed(per_run * 100, grown=more))
            records.append(to_record(ComparisonStacks(order.id, 100, *both)))
        if word == "slower":
            record["layout_ratios"] = [ratio * 0.996, ratio * 1.003, ratio]
            sentence = f"+{per_run * more:,.0f} instructions per run, most in at::TensorIteratorBase::build."
            same = "slower with the same instructions: memory, layout or machine."
            record["cause"] = f"more instructions and slower: {sentence}" if more else same
        for _ in range(4):
            sides = {0: samples(random_, base, 30), 1: samples(random_, base * ratio, 30)}
            replicate = ComparisonReplicate.from_seconds(
                order.id, 1000, sides, measuring_seconds=0.1, whole_seconds=0.2
            )
            records.append(to_record(replicate))
        records.append(record)
    return records


def packed(instructions: int, grown: float = 0.0) -> dict[str, Any]:
    made = []
    for stack, part in STACKS:
        extra = grown if stack[-1] == "at::TensorIteratorBase::build" else 0.0
        made.append((stack, int(instructions * (part + extra))))
    return pack_stacks(made)


def fuzz_records() -> list[dict[str, Any]]:
    random_ = random.Random(3)
    trials = []
    for i in range(120):
        contiguous = random_.random() < 0.7
        facts = TensorFacts("x", (2 ** random_.randint(2, 9), 2 ** random_.randint(2, 9)), "float32", contiguous)
        ratio = math.exp(random_.gauss(0.0 if contiguous else 0.65, 0.04))
        base = 2e-6 + facts.numel * 1e-10
        trials.append(FuzzTrial(i, {"k": i}, (facts,), f"fuzzer.at({i})", (base * ratio, base), math.log(ratio), 0.004))
    trials.append(
        FuzzTrial(
            120,
            {"k": 1},
            (),
            "fuzzer.at(120)",
            failure=TrialFailure("x.sum(5)", "IndexError", "Dimension out of range", ""),
        )
    )
    return [to_record(trial) for trial in trials]


RUNGS = (
    ("torch.Tensor", 1.9e-6, 7800),
    ("SubTensor", 2.05e-6, 8400),
    ("SubWithTorchFunction", 4.6e-6, 19500),
    ("WithTorchFunction", 4.2e-6, 17100),
    ("TorchFunctionMode", 6.0e-6, 26000),
    ("__torch_dispatch__", 11.2e-6, 49000),
)


def ladder_records() -> list[dict[str, Any]]:
    random_ = random.Random(4)
    records = []
    for case, factor in (("torch.add", 1.0), ("x.sum()", 1.3)):
        for rung, seconds, instructions in RUNGS:
            spec = TaskSpec(f"{case}  # {rung}", "x = make()", label=case, sub_label=rung)
            records.append(to_record(Measurement(100, [t * 100 for t in samples(random_, seconds * factor)], spec)))
            records.append(to_record(counts_of(spec, int(instructions * factor))))
    return records


def loaded(records: list[dict[str, Any]], name: str = "results.json", **header: Any) -> Results:
    return Results(Path(name), {"machine": to_record(MACHINE), **header}, tuple(records))
