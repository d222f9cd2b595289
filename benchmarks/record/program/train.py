"""Trains the model for some steps, as anybody would."""

from __future__ import annotations

import argparse

import torch
from model import LanguageModel
from transformers import BertConfig


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--backend", default="aot_eager")
    options = parser.parse_args()
    torch.manual_seed(0)
    config = BertConfig(vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)
    model = LanguageModel(config)
    step = torch.compile(model, backend=options.backend)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(options.steps):
        ids = torch.randint(0, 1000, (4, 32))
        labels = ids.masked_fill(torch.rand(ids.shape) > 0.15, -100)  # a loss is of the tokens that count only, as it mostly is
        loss = step(ids, torch.ones_like(ids), labels=labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
