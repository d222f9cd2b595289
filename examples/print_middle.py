"""A `print` between two operations splits the function into two graphs."""

import torch


@torch.compile
def scale(x: torch.Tensor) -> torch.Tensor:
    x = x * 2
    print("mid")
    return x + 1


scale(torch.randn(8, 16))
