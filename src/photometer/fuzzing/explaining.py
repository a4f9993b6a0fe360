"""Which parameters of a fuzzer may explain that an input is slow, and which belong to its description.

In comes a fuzzer; out come names. Most parameters only serve to draw sizes, which the shapes show better.
"""

from __future__ import annotations

from photometer.fuzzing.fuzzer import Fuzzer
from photometer.fuzzing.parameter import FuzzedParameter
from photometer.fuzzing.parameter_alias import ParameterAlias

# A parameter with more values than this is a seed for the statement, not something that explains its speed.
WIDEST_EXPLAINING_RANGE = 2**20


def explaining_parameters(fuzzer: Fuzzer) -> frozenset[str]:
    """The parameters that may explain a difference: not those that only serve to draw others, nor mere entropy."""
    serving = set(fuzzer.idle_parameters)
    for parameter in fuzzer.parameters:
        serving |= {choice.alias_to for choice in parameter.possible_choices if isinstance(choice, ParameterAlias)}
    for tensor in fuzzer.tensors:
        serving |= {*tensor.step_names, *tensor.other_names}
        if tensor.dim_parameter is not None:  # a size that may be cut off says little; the shape itself says it
            serving |= set(tensor.size_names)
    return frozenset(each.name for each in fuzzer.parameters if each.name not in serving and not _is_entropy(each))


def shown_parameters(fuzzer: Fuzzer) -> tuple[str, ...]:
    """The parameters that explain and cannot be read off the tensors' shapes, in the fuzzer's order."""
    sizes = {name for tensor in fuzzer.tensors for name in tensor.size_names}
    explaining = explaining_parameters(fuzzer) - sizes
    return tuple(parameter.name for parameter in fuzzer.parameters if parameter.name in explaining)


def _is_entropy(parameter: FuzzedParameter) -> bool:
    low, high = parameter.minval, parameter.maxval
    if not parameter.is_whole_number_range or low is None or high is None:
        return False
    return high - low > WIDEST_EXPLAINING_RANGE
