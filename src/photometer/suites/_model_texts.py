"""The models of the suite `models` as text: each is made in the set-up, small and without any download."""

from __future__ import annotations

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
