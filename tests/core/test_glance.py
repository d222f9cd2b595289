"""A glance at a file says of its marks what the parser says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphbreak.core.glance import has_marks
from graphbreak.core.marks import find_marks
from graphbreak.core.source import SourceFile

CASES = sorted(Path(__file__).parent.parent.glob("cases/*.md"))
TRICKY = [
    "import torch\n'''\n@torch.compile\n'''\n",
    'import torch\n"""\\"""\n@torch.compile\n"""\n',
    "import torch\n# '''\n@torch.compile\ndef f(x): return x\n# '''\n",
    'import torch\nx = "\'"\n@torch.compile\ndef f(x): return x\ny = "\'"\n',
    "import other as torch\n@torch.compile\ndef f(x): return x\n",
    "import torch\ntorch = None\n@torch.compile\ndef f(x): return x\n",
    "import torch\ndef g(torch):\n    @torch.compile\n    def f(x): return x\n",
    "import torch\nimport re\nre.compile('x')\n",
    "from torch import *\n@compile\ndef f(x): return x\n",
    "import torch\n# graphbreak: f(1)\ndef f(x): return x\n",
    "import torch\n@torch.compile\ndef f(x:\n",
    "@torch.compile\ndef f(x): return x\n",
]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_it_agrees_on_every_case(path: Path) -> None:
    for text in re.findall(r"```(?:py|fix)[^\n]*\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
        source = SourceFile("m.py", text)
        assert has_marks(source) == bool(find_marks(source).marks)


@pytest.mark.parametrize("text", TRICKY)
def test_it_agrees_where_words_mislead(text: str) -> None:
    source = SourceFile("m.py", text)
    assert has_marks(source) == bool(find_marks(source).marks)
