"""The work of one run of a statement: its FLOPs by torch's own counter, and the bytes that it must move.

Bytes are those that cannot be avoided: each input is read once, each output is written once, and values that live only
between two operations are not counted. An input is memory that an operation reads and none has made; an output is
memory that an operation has written and none has read after that, or that was there before. The values that a statement
leaves in its variables, own metrics and marks of phases, are read here, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .figure_messages import CountWork, Observe, Observed, Work
from .torch_here import needed_torch

# A metric beyond this is a mistake, and no file of numbers has room for infinity.
LARGEST = 1e30


def count_work(run_block: Callable[[int], float], request: CountWork) -> Work:
    needed_torch("counting FLOPs and bytes")
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import FlopCounterMode

    counter: Any = FlopCounterMode(display=False, custom_mapping=formulas())
    traffic = Traffic(counter.get_total_flops)

    class TrafficMode(TorchDispatchMode):  # type: ignore[misc]  # torch is Any here
        """Sees every operation before the counter of FLOPs does."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return traffic.run(func, args, kwargs or {})

    with counter, TrafficMode():
        run_block(1)
    flops = float(counter.get_total_flops())
    return Work(flops or None, float(traffic.bytes_moved()) or None, traffic.busiest_type())


class Traffic:
    """The memory that operations read and write. `flops_so_far` is called before and after each."""

    def __init__(self, flops_so_far: Callable[[], float]) -> None:
        self._flops_so_far = flops_so_far
        # By memory: bytes of the largest tensor in it that was read, or written last.
        self._read: dict[Any, int] = {}
        self._written: dict[Any, int] = {}
        self._made: set[Any] = set()
        self._flops_by_type: dict[str, float] = {}

    def run(self, func: Any, args: Any, kwargs: Any) -> Any:
        inputs = tensors_in((args, kwargs))
        before = self._flops_so_far()
        result = func(*args, **kwargs)
        self._attribute(self._flops_so_far() - before, inputs)
        if not func.is_view:
            self._note(inputs, tensors_in(written_arguments(func, args, kwargs)), tensors_in(result))
        return result

    def _note(self, inputs: list[Any], changed: list[Any], outputs: list[Any]) -> None:
        read = {memory_of(tensor) for tensor in inputs}
        for tensor in inputs:
            memory = memory_of(tensor)
            if memory in self._made:
                # Made here and used here: it need not leave the processor.
                self._written.pop(memory, None)
            else:
                self._read[memory] = max(bytes_of(tensor), self._read.get(memory, 0))
        for tensor in changed:
            self._written[memory_of(tensor)] = bytes_of(tensor)
        for tensor in outputs:
            memory = memory_of(tensor)
            if memory not in read:
                self._made.add(memory)
                self._written[memory] = bytes_of(tensor)

    def _attribute(self, flops: float, inputs: list[Any]) -> None:
        if flops > 0 and inputs:
            name = str(inputs[0].dtype).replace("torch.", "")
            self._flops_by_type[name] = self._flops_by_type.get(name, 0.0) + flops

    def bytes_moved(self) -> int:
        return sum(self._read.values()) + sum(self._written.values())

    def busiest_type(self) -> str:
        """Return the type that most FLOPs are done in; empty if there are none."""
        return max(self._flops_by_type, key=self._flops_by_type.__getitem__, default="")


def tensors_in(values: Any) -> list[Any]:
    """Return the tensors that have memory of their own: no sparse ones, none without data."""
    import torch
    from torch.utils._pytree import tree_leaves

    leaves = [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]
    return [leaf for leaf in leaves if leaf.layout == torch.strided and leaf.device.type != "meta"]


def memory_of(tensor: Any) -> Any:
    """Return a weak reference to its memory: this is freed as usual, and not mistaken for its successor."""
    from torch.multiprocessing.reductions import StorageWeakRef

    return StorageWeakRef(tensor.untyped_storage())


def bytes_of(tensor: Any) -> int:
    # A tensor that was expanded has more elements than memory.
    return min(int(tensor.numel() * tensor.element_size()), int(tensor.untyped_storage().nbytes()))


def written_arguments(func: Any, args: Any, kwargs: Any) -> list[Any]:
    """Return the arguments that the operation changes, as its schema says: those of `add_` and of `out=`."""
    written = []
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            written.append(args[place] if place < len(args) else kwargs.get(argument.name))
    return written


def formulas() -> dict[Any, Any]:
    """Return FLOPs of operations that torch's counter does not know: fused attention and recurrent layers."""
    import torch

    known = {
        "_scaled_dot_product_flash_attention_for_cpu": attention_flops,
        "_scaled_dot_product_flash_attention_for_cpu_backward": attention_backward_flops,
        "mkldnn_rnn_layer": recurrent_flops,
        "mkldnn_rnn_layer_backward": recurrent_backward_flops,
        "_cudnn_rnn": cudnn_flops,
    }
    return {getattr(torch.ops.aten, name): count for name, count in known.items() if hasattr(torch.ops.aten, name)}


def attention_flops(query: Any, key: Any, value: Any, *rest: Any, **names: Any) -> int:
    """Return the FLOPs of two products, of queries with keys and of weights with values.

    Each has a multiplication and an addition per element.
    """
    batch, heads, queries, width = query
    return int(2 * batch * heads * queries * key[2] * (width + value[3]))


def attention_backward_flops(gradient: Any, query: Any, key: Any, value: Any, *rest: Any, **names: Any) -> int:
    """Five products in place of two: the weights are computed again, and there are four gradients."""
    return attention_flops(query, key, value) * 5 // 2


def recurrent_flops(steps: Any, weight_input: Any, weight_hidden: Any, *rest: Any, **names: Any) -> int:
    length, batch = steps[0], steps[1]
    return int(2 * length * batch * (_elements(weight_input) + _elements(weight_hidden)))


def recurrent_backward_flops(steps: Any, weight_input: Any, weight_hidden: Any, *rest: Any, **names: Any) -> int:
    return 2 * recurrent_flops(steps, weight_input, weight_hidden)


def cudnn_flops(steps: Any, weights: Any, *rest: Any, **names: Any) -> int:
    length, batch = steps[0], steps[1]
    return int(2 * length * batch * sum(_elements(weight) for weight in weights if len(weight) > 1))


def _elements(shape: Any) -> int:
    product = 1
    for size in shape:
        product *= size
    return product


def observe(run_block: Callable[[int], float], variable: Callable[[str], Any], request: Observe) -> Observed:
    """Run it `runs` times; `variable` returns the value that a name has after the last run."""
    for _ in range(request.warmup_runs):
        run_block(1)
    values: list[list[float]] = [[] for _ in request.names]
    for _ in range(request.runs):
        run_block(1)
        for found, name in zip(values, request.names):  # noqa: B905 - Python 3.9 may run this
            found.append(number_in(variable(name), name))
    return Observed(values)


def number_in(value: Any, name: str) -> float:
    """Return a number, or the one element of a tensor, as a float."""
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"the metric {name} is {type(value).__name__}, not a number: {error}") from None
    if not abs(number) <= LARGEST:
        raise ValueError(f"the metric {name} is {number}: not a finite number")
    return number
