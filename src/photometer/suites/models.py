"""The suite of models: whole forward passes and training steps of small networks, on the CPU and on a GPU, if any.

Nothing is downloaded: weights are random, and so are inputs. Sizes are such that an order takes a few seconds on two
cores. Instructions are not counted: most of the time is in kernels, and under Valgrind a step would take minutes. The
tag `quick` selects one of each kind, `training` the steps, `compiled` those that torch.compile is tried on.
"""

from __future__ import annotations

from photometer.definition import GroupedModules, GroupedSetup, GroupedStmts, TrainingStep

# A perceptron of three layers.
MLP = """
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)
    )
"""

# Eight convolutions with two short cuts, as a ResNet for images of 32 by 32 has them.
RESNET = """
    class Block(torch.nn.Module):
        def __init__(self, before, after, stride):
            super().__init__()
            self.first = torch.nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.first_norm = torch.nn.BatchNorm2d(after)
            self.second = torch.nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.second_norm = torch.nn.BatchNorm2d(after)
            same = stride == 1 and before == after
            self.short_cut = torch.nn.Identity() if same else torch.nn.Conv2d(before, after, 1, stride, bias=False)

        def forward(self, x):
            y = torch.relu(self.first_norm(self.first(x)))
            return torch.relu(self.second_norm(self.second(y)) + self.short_cut(x))


    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, 1, 1, bias=False), torch.nn.BatchNorm2d(16), torch.nn.ReLU(),
        Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10),
    )
"""

# Two layers of a width of 128, as an encoder of text has them.
ENCODER = """
    layer = torch.nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
"""

# One step of text generation: a single new token that attends to those before it, whose keys and values are kept.
DECODER = """
    class Decoder(torch.nn.Module):
        def __init__(self, width, heads, tokens):
            super().__init__()
            self.heads = heads
            self.embedding = torch.nn.Embedding(tokens, width)
            self.projection = torch.nn.Linear(width, 3 * width)
            self.out = torch.nn.Linear(width, width)
            self.up = torch.nn.Linear(width, 4 * width)
            self.down = torch.nn.Linear(4 * width, width)
            self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)])

        def forward(self, token, keys, values):
            x = self.embedding(token)
            batch, length, width = x.shape
            q, k, v = self.projection(self.norms[0](x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            k, v = torch.cat((keys, k), dim=2), torch.cat((values, v), dim=2)
            seen = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
            x = x + self.down(torch.nn.functional.gelu(self.up(self.norms[1](x))))
            return x @ self.embedding.weight.t()


    model = Decoder(128, 4, 1000).eval()
"""

LSTM = "model = torch.nn.LSTM(64, 64, batch_first=True)"

# Sums of 20 rows each of a table with 10,000 rows, as in models that recommend.
EMBEDDING_BAG = """
    class Scorer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = torch.nn.EmbeddingBag(10_000, 32, mode="sum")
            self.top = torch.nn.Linear(32, 1)

        def forward(self, rows):
            return self.top(self.bag(rows))


    model = Scorer()
"""

DEVICES = ("cpu", "cuda")
CROSS_ENTROPY = "loss = torch.nn.functional.cross_entropy(y, t)"
ADAM = "torch.optim.AdamW(model.parameters(), lr=1e-3)"

VECTORS = """
    x = torch.randn(batch, 256, device=device)
    t = torch.randint(0, 10, (batch,), device=device)
"""
IMAGES = """
    x = torch.randn(batch, 3, 32, 32, device=device)
    t = torch.randint(0, 10, (batch,), device=device)
"""
SENTENCES = "x = torch.randn(4, tokens, 128, device=device)"
NEXT_TOKEN = """
    token = torch.randint(0, 1000, (1, 1), device=device)
    keys = torch.randn(1, 4, tokens, 32, device=device)
    values = torch.randn(1, 4, tokens, 32, device=device)
"""
ROWS = "rows = torch.randint(0, 10_000, (batch, 20), device=device)"
HEADS = """
    q = torch.randn(2, 4, tokens, 32, device=device)
    k = torch.randn(2, 4, tokens, 32, device=device)
    v = torch.randn(2, 4, tokens, 32, device=device)
"""

FORWARD = {
    "MLP": GroupedModules(
        MLP,
        setup=GroupedSetup("x = torch.randn(batch, 256, device=device)"),
        signature="f(x) -> y",
        sizes={"batch": (1, 16, 256)},
        devices=DEVICES,
        tags="quick",
        instructions=False,
    ),
    "ResNet": GroupedModules(
        RESNET,
        setup=GroupedSetup("x = torch.randn(batch, 3, 32, 32, device=device)"),
        signature="f(x) -> y",
        sizes={"batch": (1, 8)},
        devices=DEVICES,
        num_threads=(1, 2),
        instructions=False,
    ),
    "transformer encoder": GroupedModules(
        ENCODER,
        setup=GroupedSetup(SENTENCES),
        signature="f(x) -> y",
        sizes={"tokens": (16, 64, 256)},
        devices=DEVICES,
        instructions=False,
    ),
    "decoder step": GroupedModules(
        DECODER,
        setup=GroupedSetup(NEXT_TOKEN),
        signature="f(token, keys, values) -> y",
        sizes={"tokens": (64, 512, 2048)},
        devices=DEVICES,
        tags="quick",
        instructions=False,
    ),
    "LSTM": GroupedStmts(
        "y, state = model(x)",
        setup=GroupedSetup(f"x = torch.randn(4, tokens, 64, device=device)\n{LSTM}.to(device)"),
        sizes={"tokens": (8, 32, 128)},
        devices=DEVICES,
        instructions=False,
    ),
    "embedding bag": GroupedModules(
        EMBEDDING_BAG,
        setup=GroupedSetup(ROWS),
        signature="f(rows) -> y",
        sizes={"batch": (16, 256, 4096)},
        devices=DEVICES,
        instructions=False,
        # Rows that are read, their numbers, and the scores: counted, the whole table would be an input.
        bytes="batch * (20 * (32 * 4 + 8) + 4)",
    ),
}

ATTENTION = {
    "fused": GroupedStmts(
        "y = torch.nn.functional.scaled_dot_product_attention(q, k, v)",
        setup=GroupedSetup(HEADS),
        sizes={"tokens": (32, 128, 512)},
        devices=DEVICES,
        instructions=False,
    ),
    "causal": GroupedStmts(
        "y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)",
        setup=GroupedSetup(HEADS),
        sizes={"tokens": (32, 128, 512)},
        devices=DEVICES,
        instructions=False,
    ),
    "written out": GroupedStmts(
        "y = torch.softmax(q @ k.transpose(-2, -1) / 32 ** 0.5, dim=-1) @ v",
        setup=GroupedSetup(HEADS),
        sizes={"tokens": (32, 128, 512)},
        devices=DEVICES,
        signature="f(q, k, v) -> y",
        compiled=True,
        tags=("compiled",),
        instructions=False,
    ),
}

TRAINING = {
    "MLP": TrainingStep(
        MLP,
        VECTORS,
        f"{CROSS_ENTROPY}\nsamples = batch",
        forward="y = model(x)",
        metrics=("loss", "samples"),
        sizes={"batch": (16, 256)},
        devices=DEVICES,
        tags=("training", "quick"),
        instructions=False,
    ),
    "MLP for torch.compile": TrainingStep(
        MLP,
        VECTORS,
        CROSS_ENTROPY,
        forward="y = model(x)",
        sizes={"batch": (64,)},
        devices=DEVICES,
        compiled=True,
        tags=("training", "compiled"),
        instructions=False,
        timeout_seconds=240,
    ),
    "ResNet": TrainingStep(
        RESNET,
        IMAGES,
        CROSS_ENTROPY,
        forward="y = model(x)",
        sizes={"batch": (8,)},
        devices=DEVICES,
        tags="training",
        instructions=False,
    ),
    "ResNet, channels last, bfloat16": TrainingStep(
        RESNET,
        IMAGES,
        CROSS_ENTROPY,
        forward="y = model(x)",
        autocast="bfloat16",
        channels_last=True,
        sizes={"batch": (8,)},
        devices=DEVICES,
        tags="training",
        instructions=False,
    ),
    "transformer encoder": TrainingStep(
        ENCODER,
        SENTENCES,
        "loss = torch.nn.functional.mse_loss(y, x)\nseen = 4 * tokens",
        forward="y = model(x)",
        optimizer=ADAM,
        metrics=("loss", "seen"),
        sizes={"tokens": (16, 64)},
        devices=DEVICES,
        tags="training",
        instructions=False,
    ),
    "LSTM": TrainingStep(
        LSTM,
        "x = torch.randn(4, tokens, 64, device=device)",
        "loss = y.square().mean()",
        forward="y, state = model(x)",
        sizes={"tokens": (32,)},
        devices=DEVICES,
        tags="training",
        instructions=False,
    ),
}

BENCHMARKS = {"forward": FORWARD, "attention": ATTENTION, "training": TRAINING}
