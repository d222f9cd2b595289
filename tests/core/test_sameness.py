"""That a text is told from others quickly, and never told apart from what is the same program."""

from __future__ import annotations

import itertools
import textwrap

import pytest

from graphbreak.core import parsing, sameness

BASE = textwrap.dedent("""\
    import torch

    @torch.compile
    def f(x, scale=1):
        return x * 0.0

    class Net:
        def forward(self, x):
            return x + 1

        def idle(self):
            return 1

    if torch:
        def never():
            return 2

    f(torch.ones(2))
    """)
IDLE = {(11, "idle"), (15, "never")}
VARIANTS = [
    BASE,
    BASE.replace("import torch\n", "import torch  # first\n\n\n", 1),
    BASE.replace("x * 0.0", "(x\n            * 0.0)"),
    BASE.replace("x * 0.0", "x * -0.0"),
    BASE.replace("scale=1", "scale=True"),
    BASE.replace("return 1", "return 'one'"),
    BASE.replace("return 2", "return [2]"),
    BASE.replace("x + 1", "x + 2"),
    BASE.replace("f(torch.ones(2))", "f(torch.ones(2))\nf(torch.ones(3))"),
    BASE.replace("def idle(self)", "def idle(self, more)"),
]


def test_what_differs_surely_is_not_the_same_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The long way, walked with and without the short one before it, comes to the same answers, of which there are both."""
    pairs = [(old, new) for old, new in itertools.product(VARIANTS, repeat=2) if old != new and _at(old)]
    quick = [sameness.same_program(old, new, IDLE) for old, new in pairs]
    monkeypatch.setattr(sameness, "_surely_differ", lambda *_: False)
    assert quick == [sameness.same_program(old, new, IDLE) for old, new in pairs]
    assert 4 <= sum(answer is None for answer in quick) <= len(quick) - 4


def _at(text: str) -> bool:
    """Whether the idle functions stand in a text where `IDLE` says."""
    lines = text.splitlines()
    return all(f"def {name}(" in lines[line - 1] for line, name in IDLE)


def test_a_text_is_parsed_once_however_many_it_is_compared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse_module(text: str) -> object:
        parsed.append(text)
        return parsing.parse_module(text)

    monkeypatch.setattr(sameness, "parse_module", parse_module)
    texts = [f"{BASE}f(torch.ones({number}))\n" for number in range(100, 110)]
    for _ in range(3):
        assert all(sameness.same_program(old, texts[-1], IDLE) is None for old in texts[:-1])
    assert sorted(parsed) == sorted(texts)
