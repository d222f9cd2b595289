"""An `if` on a tensor's value: the graph ends where Python has to know the number."""

import torch


@torch.compile
def gate(x: torch.Tensor) -> torch.Tensor:
    y = torch.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return torch.relu(y - 1)


gate(torch.randn(8, 16))
