"""One breaking helper called from two lines of one function: one cause, two callers."""

import torch


def log_norm(x: torch.Tensor) -> torch.Tensor:
    print("norm")
    return x / x.norm()


@torch.compile
def blend(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    left = log_norm(x * 2)
    right = log_norm(y * 3)
    return left + right


if __name__ == "__main__":
    blend(torch.randn(8, 16), torch.randn(8, 16))
