"""A helper prints, so its caller is split as well: one cause, two functions broken."""

import torch


def util(x: torch.Tensor) -> torch.Tensor:
    print("log")
    return x + 1


@torch.compile
def big(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y = util(y)
    return y * 3


if __name__ == "__main__":
    big(torch.randn(8, 16))
