"""How large things usually are, by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping

SIZES = {
    "batch": 2, "seq": 8, "dim": 16, "colors": 3, "rows": 32, "columns": 32, "vocab": 50, "classes": 10, "nodes": 6, "edges": 10,
    "heads": 4, "head_dim": 8, "points": 12, "boxes": 5, "frames": 4, "length": 64,
}  # fmt: skip
"""The sizes that shapes are made of."""

_INTEGERS: tuple[tuple[str, int], ...] = (
    (r"(n_|num_)?(kv_|key_value_|query_|attention_|attn_)?(n?_?heads?|nhead)$|(^|_)heads$|^h$", 4),
    (r"head_(dim|size|width)|d_head|dim_head|d_k$|d_v$|d_kv$", 8),
    (r"vocab|n_tokens$|num_(tokens|embeddings)|codebook_size|n_embed$|num_codes|buckets", 50),
    (r"(n|num)_?(class(es)?|labels|categories|bins)|n_cls|^classes$|nb_classes", 10),
    (r"(^|_)(n_?)?(layers?|depth|blocks|stages|levels|hops|rounds|nlayers|repeats)$|(num|n)_(hidden_)?(layer|block|stage|level)", 2),
    (r"kernel|ksize|filter_size|^ks$", 3),
    (r"stride|dilation|groups|^rank$|world_size|n_samples$", 1),
    (r"padding|pad$", 1),
    (r"(pad|eos|bos|sep|cls|unk|ignore|mask|start|end|blank)_?(token)?_?(id|idx|index|label)", 0),
    (r"patch", 4),
    (r"(img|image|input|crop|spatial)_?(size|res(olution)?|h|w|height|width)$|^resolution$|^size$", 32),
    (r"max_?(seq|len|pos|context|tokens|position|target|source)|context_(len|size|window)|block_size|seq_?len|(^|_)n_?ctx|max_pos", 64),
    (r"(max_)?(new_tokens|new|steps?|iters?|iterations|epochs)$|(n|num)_?(steps|iters?|iterations|inference_steps)|^steps?$|^beams?$", 4),
    (r"time_?steps|n_timesteps|^T$|num_timesteps|diffusion_steps", 10),
    (r"experts", 4),
    (r"top_?k|^k$|beam|(n|num)_?neighbou?rs|n_?mels$", 2),
    (r"mult|expansion|ratio|factor|upscale|downscale|scale_factor", 2),
    (r"reduction|squeeze|bottleneck", 4),
    (r"in_(chans?|ch|channels|planes)$|^(chans|img_channels|image_channels|nc|input_nc)$|^c_in$|^ch_in$", 3),
    (r"(obs|state|observation)_?(dim|size)$", 12),
    (r"act(ion)?s?_?(dim|size|n)$|n_actions|num_actions", 4),
    (r"latent|^z_?dim|^nz$", 8),
    (r"hidden|ffn|mlp|inner|intermediate|d_ff|^dff$|ff_dim|feedforward", 32),
    (r"out(put)?_?(features|dim|channels|ch|size|planes)?$|^c_out$|^ch_out$", 16),
    (r"dim|width|features|channels|embed|d_model|n_embd|units|planes|size|^d$|^c$|^nf$|^ngf$|^ndf$", 16),
    (r"batch|^bs$|^b$", 2),
    (r"(num_)?(mixtures|components|codebooks|members|queries|anchors|points|views|scales|slots|keypoints|groups)", 4),
    (r"(^|_)(seed|idx|index|layer_id|layer_idx|step|epoch|offset|shift|start|pos|position|cursor|cur_pos|start_pos)$", 1),
)  # fmt: skip
FIXED = {"two": 2, "three": 3, "four": 4}


def integer(name: str) -> int:
    """The usual value of a whole number of this name."""
    return next((value for pattern, value in _INTEGERS if re.search(pattern, name)), 4)


def size_of_letter(letter: str) -> str:
    """The size that a name in a shape means: `b` or `batch` the batch, `T` the length of the sequence. Others keep their name."""
    return _LETTERS.get(letter, _LETTERS.get(letter.lower(), letter))


def is_letter(word: str) -> bool:
    """Whether a word is the name of a size, by itself: a single letter, or a usual name; `*batch` stands for several."""
    word = word.removeprefix("*")
    return word.isidentifier() and (len(word) == 1 or word.lower() in _LETTERS or word.lower() in SIZES)


_LETTERS = {
    "b": "batch", "bs": "batch", "bsz": "batch", "batch_size": "batch", "n": "batch", "batch": "batch",
    "t": "seq", "l": "seq", "s": "seq", "seq_len": "seq", "seqlen": "seq", "seq": "seq", "length": "seq", "time": "seq",
    "d": "dim", "dim": "dim", "d_model": "dim", "embed_dim": "dim", "hidden": "dim", "hidden_size": "dim", "e": "dim", "f": "dim",
    "c": "colors", "channels": "colors", "channel": "colors", "h": "rows", "height": "rows", "w": "columns", "width": "columns",
    "v": "vocab", "vocab_size": "vocab", "k": "classes", "num_classes": "classes", "heads": "heads", "nh": "heads", "hd": "head_dim",
}  # fmt: skip


class Sizes(dict[str, int]):
    """Sizes by name; one that is not set has its usual value."""

    def __missing__(self, name: str) -> int:
        return FIXED.get(name) or SIZES.get(name) or integer(name)

    def changed(self, sizes: Mapping[str, int]) -> Sizes:
        """The same with other sizes."""
        return Sizes({**self, **sizes})
