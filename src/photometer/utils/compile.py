"""What torch.utils.benchmark.utils.compile offers: a model under each backend of torch.compile, as a table.

In: a model and its input. Out: milliseconds of the first call and of a later one. Times are photometer's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from photometer.report.escape import markdown_text
from photometer.timing import Timer

__all__ = ["bench_all", "benchmark_compile"]

_HEADS = ("Train/Inference", "Backend", "Mode", "Compilation Time", "Average Running Time")
_TRAINING = """
output = model(sample_input)
loss = loss_fn(output) if loss_fn else output.sum()
loss.backward()
optimizer.step()
optimizer.zero_grad()
"""


def benchmark_compile(
    model: Callable[..., Any],
    sample_input: Any,
    num_iters: int = 5,
    backend: str | None = None,
    mode: str | None = "default",
    optimizer: Any = None,
    loss_fn: Callable[..., Any] | None = None,
) -> tuple[float | None, float | None]:
    """Return milliseconds of the first call, which compiles, and of a later one; (None, None) if it cannot compile.

    Without a backend the model runs as it is, and there is no first time.
    """
    import torch

    names = {"model": model, "sample_input": sample_input, "optimizer": optimizer, "loss_fn": loss_fn}
    if backend is None:
        return None, _milliseconds(names, num_iters)
    torch._dynamo.reset()
    try:
        names["model"] = torch.compile(model, backend=backend, mode=mode)
        first = Timer(_statement(names), globals=names)._timeit(1) * 1e3
        return round(first, 2), _milliseconds(names, num_iters)
    except Exception as error:
        # A backend may lack a library, or not know an operator: then it has no figures, and the others go on.
        warnings.warn(f"{backend} with mode {mode} failed: {error}", stacklevel=2)
        return None, None


def bench_all(
    model: Callable[..., Any],
    sample_input: Any,
    num_iters: int = 5,
    optimizer: Any = None,
    loss_fn: Callable[..., Any] | None = None,
) -> str:
    """Return a Markdown table of the model without torch.compile and with each backend and mode that works here."""
    import torch

    kind = "Training" if optimizer else "Inference"
    rows = [(kind, "Eager", "-", *benchmark_compile(model, sample_input, num_iters, None, None, optimizer, loss_fn))]
    for backend in torch._dynamo.list_backends():
        modes = [None, *_modes()] if backend == "inductor" else [None]
        for mode in modes:
            times = benchmark_compile(model, sample_input, num_iters, backend, mode, optimizer, loss_fn)
            if times[1] is not None:
                rows.append((kind, backend, mode or "-", *times))
    lines = ["| " + " | ".join(_HEADS) + " |", "|" + " --- |" * len(_HEADS)]
    for kind, backend, mode, first, later in rows:
        figures = ("-" if first is None else f"{first} ms", "-" if later is None else f"{later} ms")
        lines.append("| " + " | ".join(markdown_text(str(cell)) for cell in (kind, backend, mode, *figures)) + " |")
    return "\n".join(lines)


def _modes() -> list[str]:
    import torch

    return [mode for mode in torch._inductor.list_mode_options() if mode != "default"]


def _statement(names: dict[str, Any]) -> str:
    return _TRAINING if names["optimizer"] is not None else "model(sample_input)"


def _milliseconds(names: dict[str, Any], num_iters: int) -> float:
    return round(Timer(_statement(names), globals=names).timeit(num_iters).median * 1e3, 2)
