"""A `print` in a `for` loop: Dynamo gives the whole function up and runs it eagerly."""

import torch


@torch.compile
def refine(x: torch.Tensor) -> torch.Tensor:
    for step in range(3):
        x = x * 0.5 + 1
        print("step", step)
    return x


if __name__ == "__main__":
    refine(torch.randn(8, 16))
