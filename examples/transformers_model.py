"""A library model in a user's own script: every break is inside `transformers`, none in a line written here.

The config is tiny and the weights are random, so nothing is downloaded.
"""

import torch
from transformers import ReformerConfig, ReformerModel

torch.manual_seed(0)

config = ReformerConfig(
    vocab_size=100,
    hidden_size=32,
    feed_forward_size=64,
    num_attention_heads=4,
    attention_head_size=8,
    attn_layers=["local", "lsh"],
    local_attn_chunk_length=4,
    lsh_attn_chunk_length=4,
    num_buckets=2,
    axial_pos_shape=[4, 4],
    axial_pos_embds_dim=[8, 24],
)
model = torch.compile(ReformerModel(config).eval())

with torch.no_grad():
    tokens = torch.randint(0, 100, (1, 16))
    hidden = model(tokens).last_hidden_state

print("hidden", tuple(hidden.shape))
