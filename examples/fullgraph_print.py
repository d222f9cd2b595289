"""`fullgraph=True` turns the break into an error. Nothing calls the function: the comment above it says how to."""

import torch


# graphbreak: normalize(torch.randn(8, 16))
@torch.compile(fullgraph=True)
def normalize(x: torch.Tensor) -> torch.Tensor:
    mean = x.mean()
    print("centred")
    return x - mean
