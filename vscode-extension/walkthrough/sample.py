"""A small model with a graph break. Save the file to trace it again."""

import torch


@torch.compile
def normalize(x: torch.Tensor) -> torch.Tensor:
    mean = x.mean(dim=-1, keepdim=True)
    spread = x.std(dim=-1, keepdim=True)
    print("spread of the first row:", spread[0])
    y = (x - mean) / (spread + 1e-6)
    return torch.relu(y)


if __name__ == "__main__":
    normalize(torch.randn(8, 16))
