"""What names say: the usual size of a `num_heads`, the usual shape of an `attention_mask`.

These are habits of the people who write models, in the order in which they are asked; the first that fits counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .sizes import FIXED
from .values import Dim, Group, Size, Tensor, Text, Value

_FLOATS: tuple[tuple[str, str], ...] = (
    (r"eps", "1e-05"), (r"drop|^p$|rate$|noise", "0.1"), (r"lr|learning_rate|step_size", "0.01"), (r"momentum|beta|decay|ema", "0.9"),
    (r"temp|tau$", "1.0"), (r"top_?p|thresh|conf", "0.5"), (r"clip|max_norm|limit|bound", "1.0"), (r"weight_decay|^wd$|smoothing", "0.01"),
    (r"base|theta", "10000.0"), (r"sigma|std", "1.0"), (r"margin", "0.5"), (r"alpha|gamma|lambda|scale|coef|ratio", "0.5"),
)  # fmt: skip
_TEXTS: tuple[tuple[str, str], ...] = (
    (r"act(ivation)?(_fn|_name|_type|_layer)?$|nonlinearity", "relu"), (r"reduction|pool(ing)?|agg(regation)?|reduce", "mean"),
    (r"mode", "train"), (r"device", "cpu"), (r"norm", "layer"), (r"name|tag|key|prefix", "a"),
)  # fmt: skip
_Shape = tuple[str, ...]
_TENSORS: tuple[tuple[str, _Shape, str, str], ...] = (
    (r"edge_index|edges$|adj_t$", ("two", "edges"), "long", "nodes"),
    (r"edge_(attr|weight|feat)", ("edges",), "unit", ""),
    (r"^adj|adjacency", ("nodes", "nodes"), "unit", ""),
    (r"(^|_)(src_|tgt_|decoder_|encoder_)?(input_)?ids$|^(tokens?|idx|ids|token_ids|input_ids|src|tgt|prompt|words|sentence|text|sequence)$",
     ("batch", "seq"), "long", "vocab"),
    (r"position_ids|^positions?$|token_type|segment", ("batch", "seq"), "long", "seq"),
    (r"(key_)?padding_mask|attn_mask|attention_mask|^masks?$|_masks?$", ("batch", "seq"), "bool", ""),
    (r"lengths?$|_lens?$|^lens$", ("batch",), "full", "seq"),
    (r"^(labels?|targets?|y|gt|y_true|classes|target_ids|tgt_out)$|_labels?$", ("batch",), "long", "classes"),
    (r"^(t|ts|timesteps?|time_?steps?|noise_level|time)$", ("batch",), "long", "classes"),
    (r"actions?$", ("batch",), "long", "classes"),
    (r"(^|_)(img|image|images|imgs|picture|photo|pixel_values|pixels|rgb|sample|feature_map|fmap|feats?_map|batch_images|frames?|depth|heatmap)s?$",
     ("batch", "colors", "rows", "columns"), "float", ""),
    (r"^video|clip$|volume|voxels", ("batch", "colors", "frames", "rows", "columns"), "float", ""),
    (r"wav(eform)?|audio|signal|speech", ("batch", "length"), "float", ""),
    (r"spec(trogram)?$|mel", ("batch", "dim", "length"), "float", ""),
    (r"^(q|k|v|query|key|value|queries|keys|values|xq|xk|xv)$", ("batch", "heads", "seq", "head_dim"), "float", ""),
    (r"hidden_states?|embeds?$|embeddings?$|inputs_embeds|memory|context|encoder_out|^enc(oded)?$|^h$|^seq$|residual|^tok_emb",
     ("batch", "seq", "dim"), "float", ""),
    (r"bbox|boxes|^anchors|proposals|rois", ("boxes", "four"), "unit", ""),
    (r"points|xyz|coords?$|cloud|positions|vertices|rays?_", ("batch", "points", "three"), "float", ""),
    (r"logits?$", ("batch", "classes"), "float", ""),
    (r"probs?$|probabilit|alphas?_?cum|^alphas$|confidences?$|^scores?$", ("batch", "classes"), "unit", ""),
    (r"^(mean|std|mu|sigma|var|logvar|log_var|loc|scale)s?$", ("batch", "dim"), "unit", ""),
    (r"rewards?$|dones?$|advantages?$|returns?$", ("batch",), "unit", ""),
)  # fmt: skip


def number(name: str) -> str:
    """The usual value of a real number of this name."""
    return next((value for pattern, value in _FLOATS if re.search(pattern, name)), "0.5")


def word(name: str) -> str:
    """A usual text of this name."""
    return next((value for pattern, value in _TEXTS if re.search(pattern, name)), "a")


def tensor(name: str) -> Tensor | None:
    """The tensor that a parameter of this name usually is."""
    for pattern, shape, kind, high in _TENSORS:
        if re.search(pattern, name):
            return Tensor(tuple(FIXED.get(dim, dim) for dim in shape), kind, high or 2)
    return None


def shape_of_rank(rank: int) -> tuple[Dim, ...]:
    """The usual shape of a tensor of which only the rank is known."""
    usual: Mapping[int, tuple[Dim, ...]] = {
        0: (),
        1: ("dim",),
        2: ("batch", "dim"),
        3: ("batch", "seq", "dim"),
        4: ("batch", "colors", "rows", "columns"),
        5: ("batch", "colors", "frames", "rows", "columns"),
    }
    return usual.get(rank) or ("batch", *(4,) * (rank - 1))


_INTEGER_NAME = re.compile(
    r"^(n|k|num_.*|n_.*|.*_(size|dim|id|idx|len|steps?|iters?)|dim|steps?|depth|width|axis|size|max_new_tokens|max_new|top_k|epoch|heads|num"
    r"|start_pos|cur_pos|world_size|rank|seed|times?|count|iterations|stride|padding|kernel|layer|chunk|chunks|groups|window)$"
)
_FLOAT_NAME = re.compile(
    r"^(lr|eps|epsilon|p|dropout|.*drop(out)?|.*_rate|temperature|temp|tau|momentum|beta\d?|weight_decay|decay|gamma|lam|lambda_|margin"
    r"|threshold|thresh|.*_thr(esh(old)?)?|top_p|limit|max_norm|.*_coef|.*_scale|ratio|alpha|slope|sigma_min|sigma_max|clip|label_smoothing"
    r"|smoothing|warmup|guidance(_scale)?|cfg_scale)$"
)
_FLAG_NAME = re.compile(
    r"^(is_|use_|with_|return_|do_|causal$|training$|train$|bias$|inplace$|verbose$|normali[sz]e$|deterministic$|keepdim$|.*_first$)"
)
_TEXT_NAME = re.compile(r"^(mode|name|reduction|act|activation|device|norm_type|pool|pooling|kind|method|variant|path|tag|prefix)$")


def scalar(name: str) -> Value | None:
    """The number, flag or text that a parameter of this name usually is; None for one that may well be a tensor."""
    if _FLAG_NAME.match(name):
        return Text("True")
    if _FLOAT_NAME.match(name):
        return Text(number(name))
    if _INTEGER_NAME.match(name):
        return whole(name)
    return Text(repr(word(name))) if _TEXT_NAME.match(name) else None


def whole(name: str) -> Value:
    """A whole number as a size of its own name, so that it can be changed by what turns out to be needed."""
    return Size(name)


def several(name: str, element: Value) -> Value:
    """A list of such a name."""
    return Group((element, element))
