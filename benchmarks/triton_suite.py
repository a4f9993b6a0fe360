"""A Triton kernel beside torch's, in Triton's own form: `photometer run triton:benchmarks/triton_suite.py`.

benchmarks/device_session.py measures it on a GPU; `python benchmarks/triton_suite.py` is Triton's own report of it.
"""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"
BLOCK = 1024


@triton.jit  # type: ignore[untyped-decorator]
def scale_kernel(source, target, elements, block: tl.constexpr):  # type: ignore[no-untyped-def]  # Triton compiles them
    places = tl.program_id(axis=0) * block + tl.arange(0, block)
    inside = places < elements
    tl.store(target + places, 2.0 * tl.load(source + places, mask=inside) + 1.0, mask=inside)


def scaled(x: torch.Tensor) -> torch.Tensor:
    """Return 2 x + 1 by the kernel above."""
    target = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, target, x.numel(), block=BLOCK)
    return target


@triton.testing.perf_report(  # type: ignore[untyped-decorator]
    triton.testing.Benchmark(
        x_names=["elements"],
        x_vals=[2**12, 2**18, 2**24],
        line_arg="provider",
        line_vals=["triton", "torch"],
        line_names=["Triton", "torch"],
        plot_name="scale",
        args={},
    )
)
def benchmark(elements: int, provider: str) -> float:
    x = torch.rand(elements, device=DEVICE)
    run = {"triton": lambda: scaled(x), "torch": lambda: torch.add(1.0, x, alpha=2.0)}[provider]
    milliseconds = float(triton.testing.do_bench(run))
    return 2 * x.numel() * x.element_size() / milliseconds / 1e6


if __name__ == "__main__":
    benchmark.run(print_data=True)
