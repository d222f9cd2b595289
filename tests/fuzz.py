"""What the fuzzing tests share: how much they try, and texts that are nearly programs."""

# ruff: noqa: E501 - the pieces are a list of words

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "full"
FUZZING = settings(
    max_examples=7_000 if LONG else 60,
    deadline=None,
    database=None,
    derandomize=not LONG,
    phases=[Phase.explicit, Phase.generate],  # what fails is small enough, and to make it smaller takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""For each of the tests; three times that is more than 20,000 in the long version."""

PIECES = [
    "import torch\n", "@torch.compile\n", "@torch.compile(fullgraph=True)\n", "@torch.compile(", "def f(x):\n", "async def g(", "class A:\n",
    "    def forward(self, x):\n", "        return x\n", "    print(x)\n", "if x.sum() > 0:\n", "lambda x: ", "f = torch.compile(f)\n", "torch.compile(A()).forward(x)\n",
    "# graphbreak: ", "# graphbreak:", "#graphbreak : f(torch.ones(2))\n", "# graphbreak: ignore\n", "# graphbreak: ignore[GB0059] why\n", "# graphbreak: ignore[",
    "# graphbreak: ignore-file\n", "ignore", "]", "[", "(", ")", "{", "}", ",", ":", "=", ".", "@", "*", "\\\n", '"""', "'''", "'", '"', 'f"{', "#", "    ", "\t", "\n", "\r\n",
    "\r", "\f", "\v", "\0", "\x1c", "\x85", "\u2028", "\ufeff", "é", "€", "😀", "\ud83d", "\udc00", "a\u0301", "\u202e", "x", "0", "0x", "1_", "1" * 60, "with open(x) as y:\n",
    "return ", "yield ", "await ", "match x:\n", "case [", "try:\n", "except", "torch.compile", "import a as b, c\n", "from . import *\n", "-" * 30, "(" * 40, "not " * 30,
]  # fmt: skip
TEXTS = st.one_of(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.text(max_size=40))
"""Anything, and mostly what has to do with marks and comments."""
