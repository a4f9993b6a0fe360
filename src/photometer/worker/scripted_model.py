"""A small TorchScript model, saved, loaded and run: the server under Valgrind does it once, before it forks.

Loading a model and optimising its graph run a hundred thousand lines of torch that nothing else touches. Translated
once, they are inherited: counting a scripted statement then takes a second instead of four.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

# The profiling executor optimises after two runs; the third and fourth run what it made.
RUNS = 4


def run_scripted_model(torch: Any) -> None:
    class Layer(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x, w):  # type: ignore[no-untyped-def]
            return torch.relu(torch.mm(x, w) + x)

    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # TorchScript says that it is no longer developed; who measures it knows.
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(Layer()), buffer)
        buffer.seek(0)
        model = torch.jit.load(buffer)
    x = torch.ones(4, 4)
    w = torch.ones(4, 4, requires_grad=True)
    for _ in range(RUNS):
        model(x, w).sum().backward()
