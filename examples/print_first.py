"""A `print` as the first statement: one graph, and a break that `torch._dynamo.explain` does not see."""

import torch


@torch.compile
def announce(x: torch.Tensor) -> torch.Tensor:
    print("start")
    return x * 2 + 1


announce(torch.randn(8, 16))
