"""A callee that its author keeps out of the graph on purpose: a break, but an intended one."""

import torch


@torch.compiler.disable
def report_shape(x: torch.Tensor) -> None:
    print("shape", tuple(x.shape))


def step(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    report_shape(y)
    return y + 1


compiled_step = torch.compile(step)

compiled_step(torch.randn(8, 16))
