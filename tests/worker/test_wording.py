"""What counts as the same words, of two runs in eager mode and of one that is compiled."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from graphbreak.worker import wording


@dataclass
class Run:
    out: str = ""
    err: str = ""
    log: tuple[str, ...] = ()

    def logged(self) -> list[str]:
        return list(self.log)

    def output(self, name: str) -> str:
        return self.out if name == "out" else self.err


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Run("loss 0.33333334\n"), Run("loss 0.33333331\n")),
        (Run("tensor(1., grad_fn=<MulBackward0>)\n"), Run("tensor(1., grad_fn=<CompiledFunctionBackward>)\n")),
        (Run(err="step 1\n"), Run(err="W1130 torch/_dynamo: Graph break from `Tensor.item()`\nstep 1\n")),
        (Run(log=("INFO net: a",)), Run(log=("FutureWarning: torch does it otherwise", "INFO net: a"))),
    ],
)
def test_what_a_compiled_run_may_write_otherwise(first: Run, second: Run) -> None:
    assert wording.difference(first, second)
    assert not wording.compiled_difference(first, second)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (Run("a\n"), Run(), "it prints something else (not 'a')"),
        (Run("a\n"), Run("a\nb\n"), "it prints something else ('b')"),
        (Run("a\n"), Run("a\na\n"), "it prints something else (more often)"),
        (Run("a\na\n"), Run("a\n"), "it prints something else (not as often)"),
        (Run("a\nb\n"), Run("b\na\n"), "it prints something else (in another order)"),
        (Run("mean 0.1\n"), Run("mean 0.2\n"), "it prints something else (not 'mean 0.1')"),
        (Run("mean 0.1\n"), Run("mean nan\n"), "it prints something else (not 'mean 0.1')"),
        (Run(err="step 1\nstep 2\n"), Run(err="step 2\nstep 1\n"), "it prints to standard error something else (in another order)"),
        (Run(err="step 1\n"), Run(err="warning\n"), "it prints to standard error something else (not 'step 1')"),
        (Run(log=("INFO net: a",)), Run(), "it logs something else (not 'INFO net: a')"),
        (Run(log=("INFO net: a",)), Run(log=("INFO net: a", "INFO net: b")), "it logs something else ('INFO net: b')"),
        (Run(log=("UserWarning: a",)), Run(log=("UserWarning: a",) * 2), "it logs something else (more often)"),
    ],
)
def test_what_it_has_to_write_as_well(first: Run, second: Run, words: str) -> None:
    assert wording.difference(first, second)
    assert wording.compiled_difference(first, second) == words


def test_numbers_that_are_others_each_time() -> None:
    first, second = Run("took 1.5 s\n"), Run("took 0.25 s\n")
    assert wording.compiled_difference(first, second)
    assert not wording.compiled_difference(first, second, numbers=False)
