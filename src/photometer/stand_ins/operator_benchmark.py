"""Stands in for the module `operator_benchmark` of PyTorch's operator benchmarks: their files import it as `op_bench`.

In: the configurations and classes that a file registers. Out: `Case`s, each of which can be made ready to run. Nothing
is run when a file is imported. Standard library and torch only.
"""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import random
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

# As PyTorch's own samples: the same ones in every process.
SAMPLING_SEED = 0
_TAGS = "tags"
_DEVICE = "device"
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")

Config = Sequence[Mapping[str, Any]]


class TorchBenchmarkBase(torch.nn.Module):  # type: ignore[misc]  # torch is not typed
    """What the classes of benchmarks derive from: they define `init`, which makes `self.inputs`, and `forward`."""

    def __init__(self) -> None:
        super().__init__()
        self._given_name: str | None = None
        self._is_backward = False

    def _set_backward_test(self, is_backward: bool) -> None:
        self._is_backward = is_backward

    def auto_set(self) -> bool:
        """Return whether an input requires its gradient: all do if the backward pass is measured."""
        return self._is_backward

    def set_module_name(self, name: str) -> None:
        """Name the operator."""
        self._given_name = name

    def module_name(self) -> str:
        """Return the operator's name."""
        return self._given_name or type(self).__name__

    def extract_inputs_tuple(self) -> None:
        """Make a tuple of the inputs."""
        # Older files have none: their `forward` reads attributes.
        self.inputs_tuple = tuple(getattr(self, "inputs", {}).values())

    def get_inputs(self) -> tuple[Any, ...]:
        """Return the inputs."""
        return self.inputs_tuple

    def forward_impl(self) -> Any:
        """Run `forward` on the inputs."""
        return self.forward(*self.get_inputs())


@dataclasses.dataclass(frozen=True)
class Written:
    """A value that cannot be written as code: it is found among the registered ones by how it is printed."""

    text: str


@dataclasses.dataclass(frozen=True)
class Case:
    """One configuration of one class. `op` is the entry of an op_list, if it comes from one."""

    module: str
    benchmark: type[TorchBenchmarkBase]
    attributes: Mapping[str, Any]
    tags: str
    backward: bool
    op: Mapping[str, Any] | None = None

    @property
    def key(self) -> str:
        """The names of the class and, of a list, the operator."""
        return " ".join([self.benchmark.__name__, *([] if self.op is None else [str(self.op["op_name"])])])

    @property
    def device(self) -> str:
        """The device that the configuration names."""
        return str(self.attributes.get(_DEVICE, "cpu"))

    @property
    def configuration(self) -> dict[str, Any]:
        """The attributes without the device."""
        return {name: value for name, value in self.attributes.items() if name != _DEVICE}

    def prepared(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return what is run and its arguments, with the inputs made."""
        bench = self.benchmark()
        bench._set_backward_test(self.backward)
        attributes = dict(self.attributes)
        if self.op is not None:
            attributes["op_func"] = self.op["op_func"]
            bench.set_module_name(str(self.op["op_name"]))
        bench.init(**attributes)
        bench.extract_inputs_tuple()
        inputs = bench.get_inputs()
        if self.backward:
            # Their own runner measures the backward pass of the mean.
            return _backward(bench.forward(*inputs).mean()), ()
        for part in vars(bench)["_modules"].values():
            part.requires_grad_(False)
        return bench.forward, inputs


def printed(value: object) -> str:
    """Return how a value is printed; where a function lies in memory is left out."""
    return _ADDRESS.sub("", str(value))


def _backward(output: Any) -> Callable[[], None]:
    def run() -> None:
        output.backward(retain_graph=True)

    return run


REGISTERED: list[Case] = []
"""What the files that were imported have registered, in their order."""


def prepared(
    module: str, key: str, configuration: Mapping[str, Any], device: str, *, backward: bool = False
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return what is run and its arguments: of a class that the module registers, with this configuration."""
    importlib.import_module(module)
    alike = [
        case
        for case in REGISTERED
        if (case.module, case.key, case.backward) == (module, key, backward)
        and case.configuration.keys() == configuration.keys()
    ]
    if not alike:
        raise LookupError(f"{module} registers no benchmark {key!r} with {', '.join(configuration)}")
    values = {name: _value(alike, name, given) for name, given in configuration.items()}
    given_device = {_DEVICE: device} if _DEVICE in alike[0].attributes else {}
    # In the order of the configuration, as `init` may take them by position.
    attributes = {name: {**values, **given_device}[name] for name in alike[0].attributes}
    return dataclasses.replace(alike[0], attributes=attributes).prepared()


def _value(cases: Sequence[Case], name: str, given: Any) -> Any:
    if not isinstance(given, Written):
        return given
    for case in cases:
        if printed(case.attributes[name]) == given.text:
            return case.attributes[name]
    raise LookupError(f"no configuration has {name}={given.text}")


def cross_product_configs(**configs: Iterable[Any]) -> list[tuple[dict[str, Any], ...]]:
    """Return every combination of the values of each name."""
    return list(itertools.product(*([{name: value} for value in values] for name, values in configs.items())))


def config_list(
    *,
    attr_names: Sequence[str],
    attrs: Iterable[Sequence[Any]],
    tags: Sequence[str],
    cross_product_configs: Mapping[str, Iterable[Any]] | None = None,
) -> list[list[dict[str, Any]]]:
    """Return the listed configurations, each combined with all values of the cross product."""
    crossed = globals()["cross_product_configs"](**(cross_product_configs or {}))
    configs = []
    for values in attrs:
        listed = [{name: value} for name, value in zip(attr_names, values, strict=False)]
        configs += [[*listed, {_TAGS: "_".join(tags)}, *more] for more in crossed]
    return configs


def attr_probs(**probs: Sequence[float]) -> dict[str, Sequence[float]]:
    """Return the weights of values, by name."""
    return probs


def random_sample_configs(
    *, probs: Mapping[str, Sequence[float]], total_samples: int, tags: Sequence[str], **configs: Sequence[Any]
) -> list[list[dict[str, Any]]]:
    """Return configurations of values that are drawn by their weights: the same in every process."""
    drawn = random.Random(SAMPLING_SEED)
    return [
        [
            *({name: drawn.choices(list(values), probs[name])[0]} for name, values in configs.items()),
            {_TAGS: "_".join(tags)},
        ]
        for _ in range(total_samples)
    ]


def op_list(*, attr_names: Sequence[str], attrs: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the listed operators, each as a dict of `op_name` and `op_func`."""
    return [dict(zip(attr_names, values, strict=False)) for values in attrs]


def generate_pt_test(configs: Iterable[Config], benchmark: type[TorchBenchmarkBase]) -> None:
    """Register the forward pass of a class for each configuration."""
    _register(configs, benchmark, backward=False)


def generate_pt_gradient_test(configs: Iterable[Config], benchmark: type[TorchBenchmarkBase]) -> None:
    """Register the backward pass of a class for each configuration."""
    _register(configs, benchmark, backward=True)


def generate_pt_tests_from_op_list(
    ops: Iterable[Mapping[str, Any]], configs: Iterable[Config], benchmark: type[TorchBenchmarkBase]
) -> None:
    """Register the forward pass of each operator for each configuration."""
    configs = list(configs)
    for op in ops:
        _register(configs, benchmark, backward=False, op=op)


def generate_pt_gradient_tests_from_op_list(
    ops: Iterable[Mapping[str, Any]], configs: Iterable[Config], benchmark: type[TorchBenchmarkBase]
) -> None:
    """Register the backward pass of each operator for each configuration."""
    configs = list(configs)
    for op in ops:
        _register(configs, benchmark, backward=True, op=op)


def _register(
    configs: Iterable[Config],
    benchmark: type[TorchBenchmarkBase],
    *,
    backward: bool,
    op: Mapping[str, Any] | None = None,
) -> None:
    module = str(sys._getframe(2).f_globals.get("__name__"))
    if op is not None and not {"op_name", "op_func"} <= {*op}:
        raise ValueError(
            f"each operator of a list needs op_name and op_func, not {', '.join(map(str, op)) or 'nothing'}"
        )
    for config in configs:
        merged: dict[str, Any] = {}
        for part in config:
            merged.update(part)
        if _TAGS not in merged:
            raise ValueError("a configuration has no tags")
        tags = str(merged.pop(_TAGS))
        REGISTERED.append(Case(module, benchmark, merged, tags, backward, op))


class _Runner:
    """`op_bench.benchmark_runner`: a file that is run by itself would call its `main`."""

    def main(self) -> None:
        """Do nothing: photometer runs the benchmarks."""


benchmark_runner = _Runner()
