"""A small language model on a transformers encoder, with random weights."""

from __future__ import annotations

import torch
from torch import nn
from transformers import BertConfig, BertModel


class LanguageModel(nn.Module):
    """Predicts each token from those around it."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.encoder = BertModel(config, add_pooling_layer=False)
        self.head = nn.Linear(config.hidden_size, config.vocab_size)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, labels: torch.Tensor | None = None) -> torch.Tensor:
        """The loss, or without labels the scores."""
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        scores = self.head(hidden)
        if labels is None:
            return scores
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten())
        print("loss", loss.item())
        return loss
