"""Checks that a fuzzer's parameters and tensors fit together, before anything is drawn.

In come parameters and tensors. A DefinitionError is raised for names used twice or unknown, aliases in a circle, values
that cannot be sizes, and limits that no draw can meet.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

from photometer.errors import DefinitionError, ImpossibleSpec
from photometer.fuzzing.element_type import dtype_name
from photometer.fuzzing.parameter import FuzzedParameter, ParameterAlias
from photometer.fuzzing.sparse_tensor import FuzzedSparseTensor
from photometer.fuzzing.tensor import FuzzedTensor


def check_spec(parameters: Sequence[FuzzedParameter], tensors: Sequence[FuzzedTensor]) -> None:
    """Raise for the first mistake found."""
    _check_names([parameter.name for parameter in parameters] + [tensor.name for tensor in tensors])
    by_name = {parameter.name: parameter for parameter in parameters}
    _check_aliases(by_name)
    for tensor in tensors:
        _check_tensor(tensor, by_name)


def _check_names(names: Iterable[str]) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise DefinitionError(
            f"Used for more than one parameter or tensor: {', '.join(twice)}.", remedy="Give each its own name."
        )


def _alias_targets(parameter: FuzzedParameter) -> tuple[str, ...]:
    return tuple(value.alias_to for value in parameter.possible_choices if isinstance(value, ParameterAlias))


def _check_aliases(by_name: Mapping[str, FuzzedParameter]) -> None:
    for parameter in by_name.values():
        for target in _alias_targets(parameter):
            if target not in by_name:
                raise DefinitionError(
                    f"Parameter {parameter.name!r} is an alias of {target!r}, which does not exist.",
                    remedy=_known(by_name),
                )
    finished: set[str] = set()
    for name in by_name:
        _walk_aliases(name, (), by_name, finished)


def _walk_aliases(name: str, path: tuple[str, ...], by_name: Mapping[str, FuzzedParameter], finished: set[str]) -> None:
    if name in path:
        circle = " -> ".join((*path[path.index(name) :], name))
        raise DefinitionError(f"The aliases are circular: {circle}.", remedy="Let one of them have a value of its own.")
    if name in finished:
        return
    for target in _alias_targets(by_name[name]):
        _walk_aliases(target, (*path, name), by_name, finished)
    finished.add(name)


def _check_tensor(tensor: FuzzedTensor, by_name: Mapping[str, FuzzedParameter]) -> None:
    for name in (*tensor.size_names, *tensor.step_names, *tensor.other_names):
        if name not in by_name:
            raise DefinitionError(
                f"Tensor {tensor.name!r} uses {name!r}, which is not a parameter.", remedy=_known(by_name)
            )
    if (
        isinstance(tensor, FuzzedSparseTensor)
        and tensor.density is None
        and tensor.nnz is None
        and "density" not in by_name
    ):
        raise DefinitionError(
            f"Tensor {tensor.name!r} has neither density nor nnz.",
            remedy='Give density=, nnz=, or a parameter "density".',
        )
    if tensor.dtype_parameter is not None:
        ranges, values = _leaf_parameters(tensor.dtype_parameter, by_name)
        for value in values if not ranges else [tensor.dtype_parameter]:
            dtype_name(value)  # raises if it is not a dtype
    sizes = [_whole_range(entry, by_name, tensor, "size", least=0) for entry in tensor.size]
    steps = [_whole_range(entry, by_name, tensor, "steps", least=1) for entry in tensor.steps]
    dims = [len(tensor.size)]
    if tensor.dim_parameter is not None:
        low, high = _whole_range(tensor.dim_parameter, by_name, tensor, "dim_parameter", least=0)
        dims = sorted(_possible_dims(tensor.dim_parameter, by_name, low, min(high, len(sizes))))
    problems = [_hopeless(tensor, sizes[:dim], steps[:dim]) for dim in dims]
    if problems and all(problems):
        raise ImpossibleSpec(
            f"Tensor {tensor.name!r} can never keep its limits: {'; '.join(dict.fromkeys(filter(None, problems)))}.",
            remedy="Widen the limit, or change the ranges of the parameters it is sized by.",
        )


def _hopeless(tensor: FuzzedTensor, sizes: list[tuple[int, int]], steps: list[tuple[int, int]]) -> str | None:
    """Return why every draw of this dimensionality breaks a limit, or None if some draw does not."""
    fewest, most = math.prod(low for low, _ in sizes), math.prod(high for _, high in sizes)
    if tensor.max_elements is not None and fewest > tensor.max_elements:
        return f"at least {fewest} elements, max_elements is {tensor.max_elements}"
    if tensor.min_elements is not None and most < tensor.min_elements:
        return f"at most {most} elements, min_elements is {tensor.min_elements}"
    if tensor.max_allocation_bytes is not None and not isinstance(tensor, FuzzedSparseTensor):
        element_bytes = 1 if tensor.dtype_parameter is not None else tensor.bytes_per_element
        least_bytes = fewest * math.prod(low for low, _ in steps) * element_bytes
        if least_bytes > tensor.max_allocation_bytes:
            return f"at least {least_bytes} bytes, max_allocation_bytes is {tensor.max_allocation_bytes}"
    return None


def _leaf_parameters(name: str, by_name: Mapping[str, FuzzedParameter]) -> tuple[list[FuzzedParameter], list[Any]]:
    """Return the ranges and the plain values that a parameter can take, following its aliases."""
    parameter = by_name[name]
    if isinstance(parameter.distribution, str):
        return [parameter], []
    ranges: list[FuzzedParameter] = []
    values: list[Any] = []
    for choice in parameter.possible_choices:
        if isinstance(choice, ParameterAlias):
            more_ranges, more_values = _leaf_parameters(choice.alias_to, by_name)
            ranges += more_ranges
            values += more_values
        else:
            values.append(choice)
    return ranges, values


def _whole_range(
    entry: str | int, by_name: Mapping[str, FuzzedParameter], tensor: FuzzedTensor, role: str, least: int
) -> tuple[int, int]:
    """Return the smallest and largest value of an entry of `size` or `steps`, which must be whole numbers."""
    if isinstance(entry, int):
        return entry, entry
    ranges, values = _leaf_parameters(entry, by_name)
    bounds: list[Any] = list(values)
    for parameter in ranges:
        if parameter.distribution == "uniform" and not parameter.is_whole_number_range:
            bounds.append(0.5)  # a float range: refused below
        bounds += [parameter.minval, parameter.maxval]
    if any(not isinstance(bound, Integral) or bound < least for bound in bounds):
        raise DefinitionError(
            f"Tensor {tensor.name!r}: parameter {entry!r} is used in {role} and may be something other than"
            f" a whole number from {least}.",
            remedy="Give it integer bounds or integer values.",
        )
    return int(min(bounds)), int(max(bounds))


def _possible_dims(name: str, by_name: Mapping[str, FuzzedParameter], low: int, high: int) -> set[int]:
    """Return the numbers of dimensions that can be drawn; dimensions beyond `size` are ones and make no difference."""
    ranges, values = _leaf_parameters(name, by_name)
    dims = {min(int(value), high) for value in values}
    return dims | set(range(low, high + 1)) if ranges else dims


def _known(by_name: Mapping[str, FuzzedParameter]) -> str:
    return f"Parameters are: {', '.join(by_name) or 'none'}."
