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
_FSMT = "langs=['en', 'de'], src_vocab_size=100, tgt_vocab_size=100, " + _PAIR.partition(", ")[2]
_FSMT_IDS = "ids = torch.randint(3, 100, (2, 6))\nids[1, 4:] = 1"
_MOE = _PAIR + ", num_experts=4, encoder_sparse_step=1, decoder_sparse_step=1"
_BIGBIRD = _TEXT + ", block_size=4, num_random_blocks=1"
_AUDIO = (
    "vocab_size=20, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, conv_dim=[16, 16], "
    "conv_stride=[4, 4], conv_kernel=[8, 4], num_feat_extract_layers=2, num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2, "
    "mask_time_length=2, layerdrop=0.0"
)
_XLM = "vocab_size=100, emb_dim=32, n_layers=1, n_heads=4"
_OPT = "vocab_size=100, hidden_size=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=4, word_embed_proj_dim=32, layerdrop=0.1"
_JETMOE = (
    "vocab_size=100, hidden_size=32, num_hidden_layers=1, num_key_value_heads=2, kv_channels=8, intermediate_size=64, num_local_experts=4"
)
_REFORMER = (
    "vocab_size=100, hidden_size=32, attention_head_size=8, feed_forward_size=64, num_attention_heads=4, axial_pos_shape=[4, 4], "
    "axial_pos_embds_dim=[8, 24], max_position_embeddings=16, local_attn_chunk_length=4"
)
_LSH = _REFORMER + ", attn_layers=['local', 'lsh'], lsh_attn_chunk_length=4, num_buckets=2, num_hashes=1"
_VITS = (
    "vocab_size=38, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, ffn_dim=16, flow_size=8, spectrogram_bins=9, "
    "prior_encoder_num_flows=1, prior_encoder_num_wavenet_layers=1, posterior_encoder_num_wavenet_layers=1, "
    "upsample_initial_channel=16, upsample_rates=[2, 2], upsample_kernel_sizes=[4, 4], resblock_kernel_sizes=[3], "
    "resblock_dilation_sizes=[[1]], depth_separable_num_layers=1, duration_predictor_num_flows=1, wavenet_dilation_rate=1"
)
_FASTSPEECH = (
    "hidden_size=16, vocab_size=20, num_mel_bins=8, encoder_layers=1, decoder_layers=1, encoder_num_attention_heads=2, "
    "decoder_num_attention_heads=2, encoder_linear_units=16, decoder_linear_units=16, speech_decoder_postnet_units=8, "
    "duration_predictor_channels=8, energy_predictor_channels=8, pitch_predictor_channels=8"
)
_FASTSPEECH_CALL = "torch.randint(1, 20, (1, 6)), attention_mask=torch.ones(1, 6, dtype=torch.long)"
_MIMI = (
    "num_filters=4, hidden_size=16, codebook_size=16, codebook_dim=8, vector_quantization_hidden_dimension=8, num_hidden_layers=1, "
    "num_attention_heads=2, num_key_value_heads=2, head_dim=8, intermediate_size=16, upsampling_ratios=[2, 2], upsample_groups=16, "
    "num_quantizers=2, num_semantic_quantizers=1"
)
_SMOLVLM = (
    "vision_config=dict(image_size=16, patch_size=8, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64), "
    "text_config=dict(vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, "
    "num_key_value_heads=2, pad_token_id=0), scale_factor=1, image_token_id=99"
)
_SMOLVLM_CALL = "torch.tensor([[5, 99, 99, 99, 99, 6]]), pixel_values=torch.randn(1, 1, 3, 16, 16)"
_VIDEOMAE = (
    "image_size=16, patch_size=8, num_frames=4, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64, "
    "decoder_num_attention_heads=4, decoder_hidden_size=32, decoder_num_hidden_layers=1, decoder_intermediate_size=64"
)
_VIDEOMAE_CALL = "torch.randn(1, 4, 3, 16, 16), torch.tensor([[True, False] * 4])"
_VILT = _TEXT + ", image_size=32, patch_size=8, max_image_length=8"
_SUPERPOINT = "encoder_hidden_sizes=[8, 8, 8, 8], decoder_hidden_size=8, keypoint_decoder_dim=65, descriptor_decoder_dim=8"
_ENCODEC = (
    "num_filters=4, hidden_size=16, codebook_size=16, num_lstm_layers=1, upsampling_ratios=[2, 2], target_bandwidths=[60.0], "
    "codebook_dim=16"
)
_SWITCH = "vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_sparse_encoder_layers=1, num_heads=4, num_experts=4"
_GLOBAL = "torch.randint(2, 100, (1, 8)), global_attention_mask=torch.eye(1, 8, dtype=torch.long)"


@dataclass(frozen=True)
class Model:
    """One model: its module in `transformers.models`, class, configuration with its options, and the arguments of the call.

    `before` are statements that run before the call; `training` leaves the model in training mode and gradients on.
    """

    name: str
    module: str
    model: str
    config: str
    options: str
    call: str
    before: str = ""
    training: bool = False
    file: str = ""
    """What the modelling file is called where it is not called like its module."""


_IDS = "torch.randint(3, 100, (1, 8))"
_SOUND = "torch.randn(2, 400)"

MODELS = (
    Model("bart_classify", "bart", "BartForSequenceClassification", "BartConfig", _PAIR, "torch.tensor([[5, 6, 7, 2], [8, 9, 3, 2]])"),
    Model("bigbird", "big_bird", "BigBirdModel", "BigBirdConfig", _BIGBIRD, "torch.randint(2, 100, (1, 64))"),
    Model("data2vec", "data2vec", "Data2VecAudioModel", "Data2VecAudioConfig", _AUDIO, _SOUND, training=True, file="data2vec_audio"),
    Model("encodec", "encodec", "EncodecModel", "EncodecConfig", _ENCODEC, "torch.randn(1, 1, 256)"),
    Model("fastspeech2", "fastspeech2_conformer", "FastSpeech2ConformerModel", "FastSpeech2ConformerConfig", _FASTSPEECH, _FASTSPEECH_CALL),
    Model("flaubert", "flaubert", "FlaubertModel", "FlaubertConfig", _XLM, _IDS),
    Model("fsmt", "fsmt", "FSMTModel", "FSMTConfig", _FSMT, "ids, attention_mask=(ids != 1).long()", _FSMT_IDS),
    Model("hubert", "hubert", "HubertModel", "HubertConfig", _AUDIO, _SOUND, training=True),
    Model("jetmoe", "jetmoe", "JetMoeModel", "JetMoeConfig", _JETMOE, _IDS),
    Model("led", "led", "LEDModel", "LEDConfig", _PAIR + ", attention_window=4", _IDS),
    Model("longformer", "longformer", "LongformerModel", "LongformerConfig", _TEXT + ", attention_window=4", _IDS),
    Model("longformer_global", "longformer", "LongformerModel", "LongformerConfig", _TEXT + ", attention_window=4", _GLOBAL),
    Model("mimi", "mimi", "MimiModel", "MimiConfig", _MIMI, "torch.randn(1, 1, 64)"),
    Model("nllb_moe", "nllb_moe", "NllbMoeModel", "NllbMoeConfig", _MOE, f"{_IDS}, decoder_input_ids={_IDS}"),
    Model("opt", "opt", "OPTModel", "OPTConfig", _OPT, _IDS, training=True),
    Model(
        "reformer", "reformer", "ReformerModel", "ReformerConfig", _REFORMER + ", attn_layers=['local']", "torch.randint(2, 100, (1, 16))"
    ),
    Model("reformer_lsh", "reformer", "ReformerModel", "ReformerConfig", _LSH, "torch.randint(2, 100, (1, 16))"),
    Model("smolvlm", "smolvlm", "SmolVLMForConditionalGeneration", "SmolVLMConfig", _SMOLVLM, _SMOLVLM_CALL),
    Model("superpoint", "superpoint", "SuperPointForKeypointDetection", "SuperPointConfig", _SUPERPOINT, "torch.randn(1, 3, 32, 32)"),
    Model("switch", "switch_transformers", "SwitchTransformersEncoderModel", "SwitchTransformersConfig", _SWITCH, _IDS),
    Model("videomae", "videomae", "VideoMAEForPreTraining", "VideoMAEConfig", _VIDEOMAE, _VIDEOMAE_CALL),
    Model("vilt", "vilt", "ViltModel", "ViltConfig", _VILT, f"{_IDS}, pixel_values=torch.randn(1, 3, 32, 32)"),
    Model("vits", "vits", "VitsModel", "VitsConfig", _VITS, "torch.randint(1, 38, (1, 6))"),
    Model("wav2vec2", "wav2vec2", "Wav2Vec2Model", "Wav2Vec2Config", _AUDIO, _SOUND, training=True),
    Model("wav2vec2_ctc", "wav2vec2", "Wav2Vec2ForCTC", "Wav2Vec2Config", _AUDIO, f"{_SOUND}, labels=torch.randint(1, 20, (2, 4))"),
    Model("xlm", "xlm", "XLMModel", "XLMConfig", _XLM, f"{_IDS}, lengths=torch.tensor([8])"),
)


@dataclass(frozen=True)
class Program:
    """A workspace to check: `entry` is the file to run, `root` the workspace folder."""

    name: str
    entry: Path
    root: Path


def workspaces(folder: Path, names: frozenset[str] = frozenset()) -> list[Program]:
    """Write the workspaces of all models (or of those named) under a folder. Raises `RuntimeError` where transformers is not installed."""
    return [write(model, folder / model.name) for model in MODELS if not names or model.name in names]


def write(model: Model, root: Path) -> Program:
    """Write the workspace of one model. Raises `RuntimeError` where transformers is not installed."""
    return _workspace(model, root, _library())


def _library() -> Path:
    spec = importlib.util.find_spec("transformers")
    if spec is None or spec.origin is None:
        raise RuntimeError("transformers is not installed")
    return Path(spec.origin).parent / "models"


def _workspace(model: Model, root: Path, library: Path) -> Program:
    root.mkdir(parents=True, exist_ok=True)
    copied = f"modeling_{model.file or model.module}"
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
    mode, call = (".train()", f"model({model.call})") if model.training else (".eval()", f"with torch.no_grad():\n    model({model.call})")
    return (
        f"import torch\nfrom {copied} import {model.model}\nfrom transformers import {model.config}\n\n"
        f"torch.manual_seed(0)\nmodel = torch.compile({model.model}({model.config}({model.options})){mode})\n"
        f"{before}{call}\n"
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
