"""The programs that are traced. Each takes a number, so that no two saves have the same text."""

from __future__ import annotations

from pathlib import Path

_SMALL = """\
import torch


@torch.compile
def scale(x):
    x = x * {number}
    print("mid")
    return x + 1


scale(torch.randn(8, 16))
"""
SMALL_LINE = 5
"""The line that differs, from 0."""

_MODEL = """\
import torch
from transformers import BartConfig, BartModel

config = BartConfig(
    vocab_size=64,
    d_model=16,
    encoder_layers={layers},
    decoder_layers={layers},
    encoder_attention_heads=2,
    decoder_attention_heads=2,
    encoder_ffn_dim=32,
    decoder_ffn_dim=32,
    max_position_embeddings=64,
)
model = BartModel(config).eval()


@torch.compile
def step(ids):
    hidden = model(input_ids=ids).last_hidden_state
    {broken}
    return hidden * {number}


with torch.no_grad():
    step(torch.randint(3, 64, (2, 12)))
"""
MODEL_LINE = 21
"""The line that differs in `model`; in `model_broken` it is the one before."""


def small(number: int) -> str:
    """One small function with one break."""
    return _SMALL.format(number=number + 2)


def model(number: int, layers: int = 1) -> str:
    """A tiny BART of `transformers`, whose import alone takes seconds, with one break behind it."""
    return _MODEL.format(number=f"{number + 2}.5", layers=layers, broken='print("forward is over")')


def model_broken(number: int) -> str:
    """The tiny BART with one break or another, so that it shows which text a published one is of."""
    broken = f"torch._dynamo.graph_break(msg={number})" if number % 2 else f"print({number})"
    return _MODEL.format(number="2.5", layers=1, broken=broken)


def break_of(number: int) -> str:
    """The code of the break of `model_broken`."""
    return "GB0025" if number % 2 else "GB0059"


def many_operations(count: int, number: int) -> str:
    """A function of so many operations, without a break."""
    lines = "".join(f"    x = x {'+*-'[index % 3]} {1 + index % 7}\n" for index in range(count - 1))
    return f"import torch\n\n\n@torch.compile\ndef f(x):\n    x = x + {number}.5\n{lines}    return x\n\n\nf(torch.ones(4))\n"


def many_breaks(count: int, number: int) -> str:
    """A function with so many breaks, each behind one operation."""
    lines = "".join(f"    x = x + {1 + index % 7}\n    print({index})\n" for index in range(count))
    return f"import torch\n\n\n@torch.compile\ndef f(x):\n    x = x + {number}.5\n{lines}    return x\n\n\nf(torch.ones(4))\n"


GROWTH_LINE = 5

_FUNCTION = """

@torch.compile
def f{index}(x, scale=2.0):
    y = x * scale + {index}
    z = torch.relu(y) - x.mean()
    {line}
    return (z * y).sum() + {number}


f{index}(torch.ones(3, {width}))
"""


def several(functions: int, number: int, broken: bool = True) -> str:
    """A file of so many marked functions, each called once."""
    line = 'print("mid")' if broken else "z = z + 1"
    parts = (_FUNCTION.format(index=index, number=number, line=line, width=index + 2) for index in range(functions))
    return "import torch\n" + "".join(parts)


LAYER = '''
class Layer{number}(nn.Module):
    """A layer whose text is about as long as those of real ones; `re.{word}` is none of ours."""

    def __init__(self, dim, heads=4, dropout=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, dropout=dropout)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, mask=None):
        y = self.norm(x)
        y, _ = self.attention(y, y, y, attn_mask=mask)
        x = x + y
        return x + self.mlp(self.norm(x))

'''


def long_file(lines: int) -> str:
    """A file of so many lines, most of them layers, with twenty marked functions at its end, each of which breaks and is called."""
    functions = several(20, 0).removeprefix("import torch\n")
    text = "import torch\nfrom torch import nn\n"
    number = 0
    while text.count("\n") + functions.count("\n") < lines:
        text += LAYER.format(number=number, word="match")
        number += 1
    return text + functions


def write_workspace(root: Path, packages: int = 50, modules: int = 100, marked: int = 200, mentioned: int = 300) -> int:
    """A workspace of packages of modules of about a hundred lines; some have a mark, some only the word: how many files it has."""
    every = packages * modules
    for number in range(every):
        folder = root / f"p{number // modules}"
        folder.mkdir(exist_ok=True)
        has_mark, has_word = number % (every // marked) == 7, number % (every // mentioned) == 3
        body = "".join(LAYER.format(number=index, word="compile" if has_word else "match") for index in range(6))
        mark = "\n\n@torch.compile\ndef score(x):\n    return x + 1\n" if has_mark else ""
        (folder / f"m{number % modules}.py").write_text(f"import re\nimport torch\nfrom torch import nn\n{body}{mark}", encoding="utf-8")
    return every
