"""The standard suite: everyday operations of PyTorch in Python and C++, some with TorchScript and autograd.

Tensors are small, so that the call is measured rather than the kernel; "long vector" is the exception, because two
threads need work to share. Inputs are random numbers, because zeros and denormals run at other speeds. The tag `quick`
selects nine groups from eight of the ten sections.
"""

from __future__ import annotations

from photometer.definition import (
    GroupedModules,
    GroupedSetup,
    GroupedStmts,
    GroupedVariants,
    iter_parsed_lines,
    parse_stmts,
)

MATRICES = GroupedSetup(
    py_setup="""
        x = torch.rand((8, 8))
        y = torch.rand((8, 8))
        k = torch.randint(0, 9, (8, 8))
    """,
    cpp_setup="""
        auto x = torch::rand({8, 8});
        auto y = torch::rand({8, 8});
        auto k = torch::randint(0, 9, {8, 8}, torch::kLong);
    """,
)

CUBES = GroupedSetup(
    py_setup="""
        x = torch.rand((4, 4, 4))
        y = torch.rand((4, 4, 4))
        i = torch.tensor([0, 2])
    """,
    cpp_setup="""
        using namespace torch::indexing;
        auto x = torch::rand({4, 4, 4});
        auto y = torch::rand({4, 4, 4});
        auto i = torch::tensor({0, 2}, torch::kLong);
    """,
)

SEQUENCE = GroupedSetup("x = torch.rand((2, 4, 8))", "auto x = torch::rand({2, 4, 8});")
IMAGE = GroupedSetup("x = torch.rand((1, 4, 8, 8))", "auto x = torch::rand({1, 4, 8, 8});")

ATTENTION = GroupedSetup(
    py_setup="""
        q = torch.rand((8, 16))
        k = torch.rand((8, 16))
        v = torch.rand((8, 16))
    """,
    cpp_setup="""
        auto q = torch::rand({8, 16});
        auto k = torch::rand({8, 16});
        auto v = torch::rand({8, 16});
    """,
)

REGRESSION = GroupedSetup(
    py_setup="""
        x = torch.rand((16, 8))
        t = torch.rand((16,))
        w0 = torch.rand((8, 8), requires_grad=True)
        w1 = torch.rand((8,), requires_grad=True)
    """,
    cpp_setup="""
        auto x = torch::rand({16, 8});
        auto t = torch::rand({16});
        auto w0 = torch::rand({8, 8}, torch::requires_grad());
        auto w1 = torch::rand({8}, torch::requires_grad());
    """,
)

# ATen gives each thread at least 32,768 elements of pointwise work, so two threads need twice that.
LONG_VECTOR = GroupedSetup(
    py_setup="""
        x = torch.rand((65536,))
        t = torch.rand((65536,))
        w = torch.rand((65536,), requires_grad=True)
    """,
    cpp_setup="""
        auto x = torch::rand({65536});
        auto t = torch::rand({65536});
        auto w = torch::rand({65536}, torch::requires_grad());
    """,
)

ALLOCATION = {
    "no elements": GroupedStmts("torch.empty((0,))", "torch::empty({0});"),
    "one element": GroupedStmts("torch.empty((1,))", "torch::empty({1});", tags="quick"),
    "64 KiB": GroupedStmts("torch.empty((128, 128))", "torch::empty({128, 128});"),
    "like another": GroupedStmts("torch.zeros_like(x)", "torch::zeros_like(x);", MATRICES),
}

POINTWISE = {
    "maths": {
        "add": {
            "scalar": GroupedStmts("x += 1.0", "x += 1.0;", MATRICES),
            "tensor": GroupedStmts(
                "x += y", "x += y;", MATRICES, signature="f(x, y) -> None", torchscript=True, tags="quick"
            ),
            "tensor of another type": GroupedStmts("x += k", "x += k;", MATRICES),
            "out of place": GroupedStmts("z = x + y", "auto z = x + y;", MATRICES),
        },
        "multiply": GroupedStmts("z = x * y", "auto z = x * y;", MATRICES),
        "exponential": GroupedStmts("z = x.exp()", "auto z = x.exp();", MATRICES),
        "equality": {
            "tensor": GroupedStmts("z = x == y", "auto z = x == y;", MATRICES),
            "scalar": GroupedStmts("z = x == 1.0", "auto z = x == 1.0;", MATRICES),
        },
    },
    "data movement": {
        "contiguous already": GroupedStmts("z = x.contiguous()", "auto z = x.contiguous();", MATRICES),
        "contiguous from a transpose": GroupedStmts("z = x.t().contiguous()", "auto z = x.t().contiguous();", MATRICES),
        "clone": GroupedStmts("z = x.clone()", "auto z = x.clone();", MATRICES, tags="quick"),
        "copy_": GroupedStmts("x.copy_(y)", "x.copy_(y);", MATRICES),
        "zero_": GroupedStmts("x.zero_()", "x.zero_();", MATRICES),
        "uniform_": GroupedStmts("x.uniform_()", "x.uniform_();", MATRICES),
    },
}

REDUCTION = {
    "sum": GroupedStmts("z = x.sum()", "auto z = x.sum();", MATRICES, tags="quick"),
    "maximum": GroupedStmts("z = x.max()", "auto z = x.max();", MATRICES),
    "mean of a dimension": GroupedStmts("z = x.mean(1)", "auto z = x.mean(1);", MATRICES),
    "variance of a dimension": GroupedStmts("z = x.var(0)", "auto z = x.var(0);", MATRICES),
}

# Each row reads with the index and writes with it.
INDEXING = {
    **{
        py_index: GroupedStmts(
            f"x{py_index} = y{py_index}",
            f"x.index_put_({cpp_index}, y.index({cpp_index}));",
            CUBES,
            tags="quick" if py_index == "[0]" else (),
        )
        for py_index, cpp_index in iter_parsed_lines("""
            Python    | C++
            --------- | --------------------------
            [0]       | {0}
            [0, 0]    | {0, 0}
            [0, 0, 0] | {0, 0, 0}
            [1:3]     | {Slice(1, 3)}
            [::2]     | {Slice(None, None, 2)}
            [...]     | {Ellipsis}
            [None]    | {None}
            [True]    | {true}
            [False]   | {false}
        """)
    },
    "tensor": GroupedStmts(
        "x[i, None, ...] = 1.0",
        "x.index_put_({i, None, Ellipsis}, 1.0);",
        CUBES,
        signature="f(x, i) -> None",
        torchscript=True,
    ),
}

# `volatile` keeps the compiler from dropping a number that is never read.
METADATA = GroupedVariants(
    py_block="""
        # @setup
        x = torch.rand((8, 8))

        # @size
        n = x.size(0)
        # @stride
        n = x.stride(0)
        # @as_strided
        z = x.as_strided((2, 3), (4, 1), 2)
        # @select
        z = x.select(1, 1)
        # @unsqueeze
        z = x.unsqueeze(0)
        # @view
        z = x.view(-1, 4)
        # @transpose
        z = x.t()
    """,
    cpp_block="""
        // @setup
        auto x = torch::rand({8, 8});

        // @size
        volatile int64_t n = x.size(0);
        // @stride
        volatile int64_t n = x.stride(0);
        // @as_strided
        auto z = x.as_strided({2, 3}, {4, 1}, 2);
        // @select
        auto z = x.select(1, 1);
        // @unsqueeze
        auto z = x.unsqueeze(0);
        // @view
        auto z = x.view({-1, 4});
        // @transpose
        auto z = x.t();
    """,
)

ORDER_AND_SIZE = {
    "sort": GroupedStmts("z = torch.sort(x)", "auto z = torch::sort(x);", MATRICES),
    "resize_": GroupedStmts(
        """
        x.resize_((0,))
        x.resize_((8, 8))
        """,
        """
        x.resize_({0});
        x.resize_({8, 8});
        """,
        MATRICES,
    ),
}

MATMUL = {
    "mm": GroupedStmts("z = torch.mm(x, y)", "auto z = torch::mm(x, y);", MATRICES, tags="quick"),
    "matmul": GroupedStmts("z = torch.matmul(x, y)", "auto z = torch::matmul(x, y);", MATRICES),
}

MODULES = {
    py_constructor.split("(")[0]: GroupedModules(
        f"model = torch.nn.{py_constructor}",
        f"auto model = torch::nn::{cpp_constructor};",
        setup,
        signature="f(x) -> y",
        # An LSTM returns a tuple of tuples and is mostly one kernel: scripting it would measure the same again.
        torchscript=not py_constructor.startswith("LSTM"),
        tags="quick" if py_constructor.startswith("Linear") else (),
    )
    for setup, py_constructor, cpp_constructor in (
        (MATRICES, "Linear(8, 4)", "Linear(8, 4)"),
        (SEQUENCE, "Conv1d(4, 4, 3)", "Conv1d(4, 4, 3)"),
        (IMAGE, "Conv2d(4, 4, 3)", "Conv2d(4, 4, 3)"),
        (IMAGE, "BatchNorm2d(4)", "BatchNorm2d(4)"),
        (IMAGE, "GroupNorm(2, 4)", "GroupNorm(2, 4)"),
        (SEQUENCE, "LayerNorm(8)", "LayerNorm(torch::nn::LayerNormOptions({8}))"),
        (IMAGE, "MaxPool2d(2)", "MaxPool2d(2)"),
        (MATRICES, "ReLU()", "ReLU()"),
        (MATRICES, "Sigmoid()", "Sigmoid()"),
        (SEQUENCE, "LSTM(8, 4)", "LSTM(8, 4)"),
    )
}

MESOSCALE = {
    "attention": GroupedStmts(
        *parse_stmts("""
            Python                                    | C++
            ----------------------------------------- | -------------------------------------------
            scores = torch.mm(q, k.t()) / 4.0         | auto scores = torch::mm(q, k.t()) / 4.0;
            z = torch.mm(torch.softmax(scores, 1), v) | auto z = torch::mm(torch::softmax(scores, 1), v);
        """),
        ATTENTION,
        signature="f(q, k, v) -> z",
        torchscript=True,
        tags="quick",
    ),
    "selection by a mask": GroupedStmts(
        *parse_stmts("""
            Python                           | C++
            -------------------------------- | ------------------------------------------
            above = x > x.mean()             | auto above = x > x.mean();
            z = x[above].sort()[0].cumsum(0) | auto z = std::get<0>(x.index({above}).sort()).cumsum(0);
        """),
        MATRICES,
        signature="f(x) -> z",
        torchscript=True,
    ),
}

TRAINING = {
    "two layers": GroupedStmts(
        *parse_stmts("""
            Python                                       | C++
            -------------------------------------------- | --------------------------------------------------
            h = torch.tanh(torch.mm(x, w0))              | auto h = torch::tanh(torch::mm(x, w0));
            loss = (torch.mv(h, w1) - t).square().mean() | auto loss = (torch::mv(h, w1) - t).square().mean();
        """),
        REGRESSION,
        signature="f(x, t, w0, w1) -> loss",
        torchscript=True,
        autograd=True,
        num_threads=(1, 2),
        tags="quick",
    ),
    "long vector": GroupedStmts(
        *parse_stmts("""
            Python                              | C++
            ----------------------------------- | -----------------------------------------
            a = torch.relu(x * w)               | auto a = torch::relu(x * w);
            loss = (a - t).abs().mean()         | auto loss = (a - t).abs().mean();
        """),
        LONG_VECTOR,
        signature="f(x, t, w) -> loss",
        torchscript=True,
        autograd=True,
        num_threads=(1, 2),
    ),
}

BENCHMARKS = {
    "allocation": ALLOCATION,
    "pointwise": POINTWISE,
    "reduction": REDUCTION,
    "indexing": INDEXING,
    "metadata and views": METADATA,
    "order and size": ORDER_AND_SIZE,
    "matmul": MATMUL,
    "nn modules": MODULES,
    "mesoscale": MESOSCALE,
    "training": TRAINING,
}
