"""ConvolutionFuzzer: images `x`, filters `weight` and a `bias` that fit each other, with stride, padding and groups."""

from __future__ import annotations

from typing import Any

from photometer.fuzzing.element_type import DEFAULT_DTYPE
from photometer.fuzzing.parameter import FuzzedParameter, ParameterAlias
from photometer.fuzzing.tensor import FuzzedTensor
from photometer.op_fuzzers.preset import MAX_ALLOCATION_BYTES, PresetFuzzer, any_or_power_of_two

MAX_BATCH, MAX_CHANNELS, MAX_SIDE = 64, 1024, 512
# This many multiplications and additions take about a tenth of a second on a few cores.
MAX_FLOPS = 2**33


def output_side(side: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Return the length of one side after the convolution; below 1, the filter does not fit."""
    return (side + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


class ConvolutionFuzzer(PresetFuzzer):
    """Inputs of `conv2d(x, weight, bias, stride, padding, dilation, groups)` from `torch.nn.functional`.

    `groups` is 1 or the number of input channels (depthwise). Memory order varies, channels-last included.
    Parameters: `batch`, `c_in`, `c_out`, `height`, `width`, `kernel`, `stride`, `padding`, `dilation`, `groups`.
    """

    def __init__(
        self,
        seed: int | None,
        dtype: Any = DEFAULT_DTYPE,
        cuda: bool = False,
        *,
        device: Any = None,
        max_flops: int = MAX_FLOPS,
        max_allocation_bytes: int = MAX_ALLOCATION_BYTES,
    ) -> None:
        def groups_fit(params: dict[str, Any]) -> bool:
            return bool(params["groups"] * params["c_in_of_group"] == params["c_in"]) and bool(
                params["c_out"] % params["groups"] == 0
            )

        def filter_fits_and_affordable(params: dict[str, Any]) -> bool:
            high, wide = (
                output_side(params[side], params["kernel"], params["stride"], params["padding"], params["dilation"])
                for side in ("height", "width")
            )
            if high < 1 or wide < 1:
                return False
            outputs = params["batch"] * params["c_out"] * high * wide
            return bool(2 * outputs * params["c_in_of_group"] * params["kernel"] ** 2 <= max_flops)

        shared = {"dtype": dtype, "cuda": cuda, "device": device, "max_allocation_bytes": max_allocation_bytes}
        super().__init__(
            parameters=[
                FuzzedParameter("batch", 1, MAX_BATCH, "loguniform"),
                any_or_power_of_two(2, 1, MAX_CHANNELS, prefix="channels"),
                FuzzedParameter("c_in", distribution={ParameterAlias("channels0"): 0.8, 3: 0.2}, strict=True),
                FuzzedParameter(
                    "c_out", distribution={ParameterAlias("channels1"): 0.6, ParameterAlias("c_in"): 0.4}, strict=True
                ),
                FuzzedParameter("groups", distribution={1: 0.8, ParameterAlias("c_in"): 0.2}),
                FuzzedParameter("c_in_of_group", distribution={ParameterAlias("c_in"): 0.8, 1: 0.2}),
                FuzzedParameter("height", 4, MAX_SIDE, "loguniform"),
                FuzzedParameter("width_any", 4, MAX_SIDE, "loguniform"),
                FuzzedParameter(
                    "width", distribution={ParameterAlias("height"): 0.6, ParameterAlias("width_any"): 0.4}
                ),
                FuzzedParameter("kernel", distribution={1: 0.3, 3: 0.4, 5: 0.15, 7: 0.15}),
                FuzzedParameter("stride", distribution={1: 0.7, 2: 0.3}),
                FuzzedParameter("padding", distribution={0: 0.4, 1: 0.4, 3: 0.2}),
                FuzzedParameter("dilation", distribution={1: 0.9, 2: 0.1}),
            ],
            tensors=[
                FuzzedTensor("x", ("batch", "c_in", "height", "width"), probability_contiguous=0.7, **shared),
                FuzzedTensor(
                    "weight", ("c_out", "c_in_of_group", "kernel", "kernel"), probability_contiguous=0.9, **shared
                ),
                FuzzedTensor("bias", ("c_out",), **shared),
            ],
            constraints=[groups_fit, filter_fits_and_affordable],
            seed=seed,
            arguments={"max_flops": max_flops, **shared},
        )
