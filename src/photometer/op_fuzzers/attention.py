"""AttentionFuzzer: queries `q`, keys `k` and values `v` of (batch, heads, length, head size)."""

from __future__ import annotations

from typing import Any

from photometer.fuzzing.element_type import DEFAULT_DTYPE
from photometer.fuzzing.parameter import FuzzedParameter, ParameterAlias
from photometer.fuzzing.tensor import FuzzedTensor
from photometer.op_fuzzers.preset import MAX_ALLOCATION_BYTES, PresetFuzzer, any_or_power_of_two

MAX_BATCH, MAX_LENGTH = 64, 8192
HEADS = {1: 0.1, 4: 0.2, 8: 0.3, 12: 0.1, 16: 0.2, 32: 0.1}
HEAD_SIZES = {32: 0.15, 64: 0.45, 80: 0.1, 128: 0.3}
# Scores of all heads together: the plain implementation stores them, which takes 512 MiB in single precision.
MAX_SCORES = 2**27


class AttentionFuzzer(PresetFuzzer):
    """Inputs of `scaled_dot_product_attention(q, k, v, is_causal=is_causal)` from `torch.nn.functional`.

    There are as many keys as queries (training, prompt) or more (decoding, perhaps with a single query). With
    `grouped_queries`, keys and values may have fewer heads: pass `enable_gqa=True`. Memory is sometimes laid out as
    (batch, length, heads, head size). Parameters: `batch`, `heads`, `kv_heads`, `q_length`, `kv_length`, `head_size`,
    `is_causal`.
    """

    def __init__(
        self,
        seed: int | None,
        dtype: Any = DEFAULT_DTYPE,
        cuda: bool = False,
        *,
        grouped_queries: bool = False,
        device: Any = None,
        max_scores: int = MAX_SCORES,
        max_allocation_bytes: int = MAX_ALLOCATION_BYTES,
    ) -> None:
        def heads_divide(params: dict[str, Any]) -> bool:
            return bool(params["heads"] % params["kv_heads"] == 0)

        def enough_keys_and_affordable(params: dict[str, Any]) -> bool:
            scores = params["batch"] * params["heads"] * params["q_length"] * params["kv_length"]
            return bool(params["q_length"] <= params["kv_length"] and scores <= max_scores)

        kv_heads: dict[Any, float] = {ParameterAlias("heads"): 1.0}
        if grouped_queries:
            kv_heads = {ParameterAlias("heads"): 0.4, 1: 0.2, 4: 0.2, 8: 0.2}
        shared = {"dtype": dtype, "cuda": cuda, "device": device, "max_allocation_bytes": max_allocation_bytes}

        def tensor(name: str, heads: str, length: str) -> FuzzedTensor:
            return FuzzedTensor(name, ("batch", heads, length, "head_size"), probability_contiguous=0.6, **shared)

        super().__init__(
            parameters=[
                FuzzedParameter("batch", 1, MAX_BATCH, "loguniform"),
                FuzzedParameter("heads", distribution=HEADS),
                FuzzedParameter("kv_heads", distribution=kv_heads),
                FuzzedParameter("head_size", distribution=HEAD_SIZES, strict=True),
                any_or_power_of_two(2, 16, MAX_LENGTH, prefix="length"),
                FuzzedParameter("kv_length", distribution={ParameterAlias("length0"): 1.0}),
                FuzzedParameter(
                    "q_length",
                    distribution={ParameterAlias("kv_length"): 0.6, ParameterAlias("length1"): 0.2, 1: 0.2},
                    strict=True,
                ),
                FuzzedParameter("is_causal", distribution={False: 0.5, True: 0.5}),
            ],
            tensors=[
                tensor("q", "heads", "q_length"),
                tensor("k", "kv_heads", "kv_length"),
                tensor("v", "kv_heads", "kv_length"),
            ],
            constraints=[heads_divide, enough_keys_and_affordable],
            seed=seed,
            arguments={"grouped_queries": grouped_queries, "max_scores": max_scores, **shared},
        )
