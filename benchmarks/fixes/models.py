"""Programs whose breaks are the user's own: models of the installed transformers, their modelling files copied into a workspace.

Each program is a folder with the modelling file (its relative imports made absolute, so that everything else stays in the library) and a
`main.py` that builds the model from a tiny random configuration, compiles it and calls it. Nothing is downloaded, nothing is committed.

    python benchmarks/fixes/models.py FOLDER [NAME...]   writes the workspaces and prints their entry files
"""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path

_TEXT = "vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4"
_PAIR = (
    "vocab_size=100, d_model=32, encoder_ffn_dim=64, decoder_ffn_dim=64, encoder_layers=1, decoder_layers=1, "
    "encoder_attention_heads=4, decoder_attention_heads=4"
)
_MOE = _PAIR + ", num_experts=4, encoder_sparse_step=1, decoder_sparse_step=1"
_SERIES = (
    "prediction_length=4, context_length=8, lags_sequence=[1, 2], num_time_features=1, d_model=16, encoder_layers=1, "
    "decoder_layers=1, encoder_ffn_dim=16, decoder_ffn_dim=16"
)
_SERIES_CALL = (
    "past_values=torch.randn(2, 10), past_time_features=torch.randn(2, 10, 1), past_observed_mask=torch.ones(2, 10), "
    "future_values=torch.randn(2, 4), future_time_features=torch.randn(2, 4, 1)"
)
_AUDIO = (
    "hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, conv_dim=[16, 16], conv_stride=[4, 4], "
    "conv_kernel=[8, 4], num_feat_extract_layers=2, num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2"
)
_REFORMER = (
    "vocab_size=100, hidden_size=32, attention_head_size=8, feed_forward_size=64, num_attention_heads=4, axial_pos_shape=[4, 4], "
    "axial_pos_embds_dim=[8, 24], max_position_embeddings=16, local_attn_chunk_length=4"
)
_VITS = (
    "vocab_size=38, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, ffn_dim=16, flow_size=8, spectrogram_bins=9, "
    "prior_encoder_num_flows=1, prior_encoder_num_wavenet_layers=1, posterior_encoder_num_wavenet_layers=1, "
    "upsample_initial_channel=16, upsample_rates=[2, 2], upsample_kernel_sizes=[4, 4], resblock_kernel_sizes=[3], "
    "resblock_dilation_sizes=[[1]], depth_separable_num_layers=1, duration_predictor_num_flows=1, wavenet_dilation_rate=1"
)
_SPEECH = (
    "vocab_size=100, hidden_size=32, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=64, decoder_ffn_dim=64, "
    "encoder_attention_heads=4, decoder_attention_heads=4"
)
_PROPHET = (
    "vocab_size=100, hidden_size=32, encoder_ffn_dim=64, decoder_ffn_dim=64, num_encoder_layers=1, num_decoder_layers=1, "
    "num_encoder_attention_heads=4, num_decoder_attention_heads=4"
)
_SUPERPOINT = "encoder_hidden_sizes=[8, 8, 8, 8], decoder_hidden_size=8, keypoint_decoder_dim=65, descriptor_decoder_dim=8"
_ENCODEC = (
    "num_filters=4, hidden_size=16, codebook_size=16, num_lstm_layers=1, upsampling_ratios=[2, 2], target_bandwidths=[1.5], codebook_dim=16"
)
_SWITCH = "vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_sparse_encoder_layers=1, num_heads=4, num_experts=4"
_LAYOUT = _TEXT + ", coordinate_size=4, shape_size=4, visual_embed=False, has_spatial_attention_bias=True"
_QA_IDS = "[[5, 6, 7, 8, 2, 2, 9, 10, 11, 12, 13, 2]]"


@dataclass(frozen=True)
class Model:
    """One model: its module in `transformers.models`, class, configuration, call, and statements to run before the call."""

    name: str
    module: str
    model: str
    config: str
    call: str
    options: str
    before: str = ""


MODELS = (
    Model(
        "bigbird",
        "big_bird",
        "BigBirdModel",
        "BigBirdConfig",
        "torch.randint(2, 100, (1, 64))",
        _TEXT + ", block_size=4, num_random_blocks=1",
    ),
    Model(
        "encodec", "encodec", "EncodecModel", "EncodecConfig", "torch.randn(1, 1, 256), torch.ones(1, 1, 256, dtype=torch.bool)", _ENCODEC
    ),
    Model(
        "fsmt",
        "fsmt",
        "FSMTModel",
        "FSMTConfig",
        "ids, attention_mask=(ids != 1).long()",
        "langs=['en', 'de'], src_vocab_size=100, tgt_vocab_size=100, " + _PAIR.partition(", ")[2],
        "ids = torch.randint(3, 100, (2, 6))\nids[1, 4:] = 1",
    ),
    Model(
        "funnel",
        "funnel",
        "FunnelModel",
        "FunnelConfig",
        "torch.randint(2, 100, (1, 8))",
        "vocab_size=100, d_model=32, d_inner=64, d_head=8, n_head=4, block_sizes=[1, 1], num_decoder_layers=1",
    ),
    Model("informer", "informer", "InformerModel", "InformerConfig", _SERIES_CALL, _SERIES),
    Model(
        "layoutlmv3",
        "layoutlmv3",
        "LayoutLMv3Model",
        "LayoutLMv3Config",
        "torch.randint(3, 100, (1, 8)), bbox=torch.randint(0, 100, (1, 8, 4))",
        _LAYOUT,
    ),
    Model("led", "led", "LEDModel", "LEDConfig", "torch.randint(3, 100, (1, 8))", _PAIR + ", attention_window=4"),
    Model(
        "longformer", "longformer", "LongformerModel", "LongformerConfig", "torch.randint(2, 100, (1, 8))", _TEXT + ", attention_window=4"
    ),
    Model(
        "longformer_global",
        "longformer",
        "LongformerModel",
        "LongformerConfig",
        "torch.randint(2, 100, (1, 8)), global_attention_mask=torch.eye(1, 8, dtype=torch.long)",
        _TEXT + ", attention_window=4",
    ),
    Model(
        "longformer_qa",
        "longformer",
        "LongformerForQuestionAnswering",
        "LongformerConfig",
        f"torch.tensor({_QA_IDS})",
        _TEXT + ", attention_window=4",
    ),
    Model(
        "mixtral",
        "mixtral",
        "MixtralModel",
        "MixtralConfig",
        "torch.randint(0, 100, (1, 8))",
        _TEXT + ", num_key_value_heads=2, num_local_experts=4",
    ),
    Model(
        "nllb_moe",
        "nllb_moe",
        "NllbMoeModel",
        "NllbMoeConfig",
        "torch.randint(3, 100, (1, 6)), decoder_input_ids=torch.randint(3, 100, (1, 6))",
        _MOE,
    ),
    Model(
        "prophetnet",
        "prophetnet",
        "ProphetNetModel",
        "ProphetNetConfig",
        "torch.randint(3, 100, (1, 6)), decoder_input_ids=torch.randint(3, 100, (1, 6))",
        _PROPHET,
    ),
    Model(
        "reformer", "reformer", "ReformerModel", "ReformerConfig", "torch.randint(2, 100, (1, 16))", _REFORMER + ", attn_layers=['local']"
    ),
    Model(
        "reformer_lsh",
        "reformer",
        "ReformerModel",
        "ReformerConfig",
        "torch.randint(2, 100, (1, 16))",
        _REFORMER + ", attn_layers=['local', 'lsh'], lsh_attn_chunk_length=4, num_buckets=2, num_hashes=1",
    ),
    Model(
        "rwkv",
        "rwkv",
        "RwkvModel",
        "RwkvConfig",
        "torch.randint(3, 100, (1, 4))",
        "vocab_size=100, hidden_size=32, num_hidden_layers=1, context_length=16",
    ),
    Model(
        "speecht5",
        "speecht5",
        "SpeechT5Model",
        "SpeechT5Config",
        "torch.randn(1, 8, 32), decoder_input_values=torch.randn(1, 6, 32)",
        _SPEECH,
    ),
    Model("superpoint", "superpoint", "SuperPointForKeypointDetection", "SuperPointConfig", "torch.randn(1, 3, 32, 32)", _SUPERPOINT),
    Model(
        "switch",
        "switch_transformers",
        "SwitchTransformersEncoderModel",
        "SwitchTransformersConfig",
        "torch.randint(3, 100, (1, 6))",
        _SWITCH,
    ),
    Model(
        "t5",
        "t5",
        "T5Model",
        "T5Config",
        "input_ids=torch.randint(0, 100, (1, 8)), decoder_input_ids=torch.randint(0, 100, (1, 8))",
        "vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4",
    ),
    Model(
        "tapas",
        "tapas",
        "TapasModel",
        "TapasConfig",
        "torch.randint(3, 100, (1, 8)), token_type_ids=torch.zeros(1, 8, 7, dtype=torch.long)",
        _TEXT + ", type_vocab_sizes=[3, 8, 8, 2, 8, 8, 4]",
    ),
    Model("time_series", "time_series_transformer", "TimeSeriesTransformerModel", "TimeSeriesTransformerConfig", _SERIES_CALL, _SERIES),
    Model("vits", "vits", "VitsModel", "VitsConfig", "torch.randint(1, 38, (1, 6))", _VITS),
    Model(
        "wav2vec2",
        "wav2vec2",
        "Wav2Vec2Model",
        "Wav2Vec2Config",
        "torch.randn(1, 400), attention_mask=torch.ones(1, 400, dtype=torch.long)",
        _AUDIO,
    ),
    Model(
        "wav2vec2_ctc",
        "wav2vec2",
        "Wav2Vec2ForCTC",
        "Wav2Vec2Config",
        "torch.randn(1, 400), labels=torch.randint(1, 20, (1, 4))",
        "vocab_size=20, " + _AUDIO,
    ),
    Model(
        "xlnet",
        "xlnet",
        "XLNetModel",
        "XLNetConfig",
        "torch.randint(2, 100, (1, 8))",
        "vocab_size=100, d_model=32, d_inner=64, n_layer=1, n_head=4",
    ),
)


@dataclass(frozen=True)
class Program:
    """A workspace to check: `entry` is the file to run, `root` the workspace folder."""

    name: str
    entry: Path
    root: Path


def workspaces(folder: Path, names: frozenset[str] = frozenset()) -> list[Program]:
    """Write the workspaces of all models (or of those named) under a folder. Raises `RuntimeError` where transformers is not installed."""
    library = _library()
    return [_workspace(model, folder / model.name, library) for model in MODELS if not names or model.name in names]


def _library() -> Path:
    spec = importlib.util.find_spec("transformers")
    if spec is None or spec.origin is None:
        raise RuntimeError("transformers is not installed")
    return Path(spec.origin).parent / "models"


def _workspace(model: Model, root: Path, library: Path) -> Program:
    root.mkdir(parents=True, exist_ok=True)
    copied = f"modeling_{model.module}"
    text = (library / model.module / f"{copied}.py").read_text(encoding="utf-8")
    (root / f"{copied}.py").write_text(absolute_imports(text, model.module), encoding="utf-8")
    entry = root / "main.py"
    entry.write_text(_script(model, copied), encoding="utf-8")
    return Program(model.name, entry, root)


def absolute_imports(text: str, module: str) -> str:
    """A modelling file with `from ...utils import x` and `from .configuration_x import y` written from `transformers` on."""

    def absolute(match: re.Match[str]) -> str:
        dots, name = len(match["dots"]), match["name"]
        base = ["transformers", "models", module][: 4 - dots]
        return f"{match['indent']}from {'.'.join([*base, name] if name else base)} import"

    return re.sub(r"(?m)^(?P<indent>\s*)from (?P<dots>\.+)(?P<name>[\w.]*) import", absolute, text)


def _script(model: Model, copied: str) -> str:
    before = model.before + "\n" if model.before else ""
    return (
        f"import torch\nfrom {copied} import {model.model}\nfrom transformers import {model.config}\n\n"
        f"torch.manual_seed(0)\nmodel = torch.compile({model.model}({model.config}({model.options})).eval())\n"
        f"{before}with torch.no_grad():\n    model({model.call})\n"
    )


def main() -> int:
    """The command line."""
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    for program in workspaces(Path(sys.argv[1]).resolve(), frozenset(sys.argv[2:])):
        print(program.entry)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
