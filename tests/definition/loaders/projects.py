"""Small projects with suites of other tools, written for the tests."""

from __future__ import annotations

from pathlib import Path

ASV = """
from ourlib import work


class Sums:
    params = [[10, 1000], ["list", "tuple"]]
    param_names = ["n", "kind"]
    timeout = 33

    def setup(self, n, kind):
        self.values = {"list": list, "tuple": tuple}[kind](range(n))

    def time_sum(self, n, kind):
        work(self.values)

    def track_length(self, n, kind):
        return len(self.values)

    def peakmem_sum(self, n, kind):
        sum(self.values)


class Renewed:
    number = 1

    def setup(self):
        self.values = [3, 1, 2]

    def time_sort(self):
        self.values.sort()


class Cached:
    params = [max, min]

    def setup_cache(self):
        return [3, 1, 2]

    def time_of(self, values, function):
        function(values)


def time_nothing():
    pass


def timeraw_import():
    return "import json"


def helper():
    pass
"""

OPERATORS = """
import operator_benchmark as op_bench
import torch

short = op_bench.config_list(
    attr_names=["M", "N"], attrs=[[2, 3], [4, 5]], cross_product_configs={"device": ["cpu", "cuda"]}, tags=["short"]
)
long = op_bench.cross_product_configs(
    M=[64], N=[64], dtype=[torch.float32, torch.float64], device=["cpu"], tags=["long"]
)


class AddBenchmark(op_bench.TorchBenchmarkBase):
    def init(self, M, N, device, dtype=torch.float32):
        self.inputs = {
            "one": torch.rand(M, N, device=device, dtype=dtype, requires_grad=self.auto_set()),
            "two": torch.rand(M, N, device=device, dtype=dtype, requires_grad=self.auto_set()),
        }
        self.set_module_name("add")

    def forward(self, one, two):
        return torch.add(one, two)


op_bench.generate_pt_test(short + long, AddBenchmark)
op_bench.generate_pt_gradient_test(short, AddBenchmark)


class UnaryBenchmark(op_bench.TorchBenchmarkBase):
    def init(self, M, op_func):
        self.inputs = {"x": torch.rand(M)}
        self.op = op_func

    def forward(self, x):
        return self.op(x)


op_bench.generate_pt_tests_from_op_list(
    op_bench.op_list(attr_names=["op_name", "op_func"], attrs=[["abs", torch.abs], ["neg", torch.neg]]),
    op_bench.config_list(attr_names=["M"], attrs=[[8]], tags=["short"]),
    UnaryBenchmark,
)

if __name__ == "__main__":
    op_bench.benchmark_runner.main()
"""

TRITON = """
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.heuristics({})
def kernel(x_ptr, BLOCK: tl.constexpr):
    pass


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["n"],
        x_vals=[16, 64],
        line_arg="provider",
        line_vals=["exp", "sin"],
        line_names=["Exp", "Sin"],
        plot_name="pointwise",
        ylabel="GB/s",
        args={"dtype": torch.float32},
    )
)
def benchmark(n, provider, dtype):
    x = torch.rand(n, dtype=dtype)
    run = {"exp": lambda: torch.exp(x), "sin": lambda: torch.sin(x)}[provider]
    ms, low, high = triton.testing.do_bench(run, quantiles=[0.5, 0.2, 0.8])
    return n / ms, n / high, n / low


benchmark.run(print_data=True)
"""


def asv_project(folder: Path) -> Path:
    """Write a package, and a folder of asv benchmarks of it; return the latter."""
    (folder / "ourlib.py").write_text("def work(values):\n    return sum(values)\n")
    benchmarks = folder / "benchmarks"
    benchmarks.mkdir()
    (benchmarks / "__init__.py").write_text("")
    (benchmarks / "sums.py").write_text(ASV)
    return benchmarks


def operator_file(folder: Path) -> Path:
    file = folder / "pt" / "add_test.py"
    file.parent.mkdir()
    file.write_text(OPERATORS)
    return file


def triton_file(folder: Path) -> Path:
    file = folder / "01-bench.py"
    file.write_text(TRITON)
    return file
