"""Set the option of `torch._dynamo.config` that PyTorch's own hint names for a break.

Before:

    import torch

    @torch.compile
    def f(x):
        return lstm(x)[0]

After:

    import torch

    torch._dynamo.config.allow_rnn = True

    @torch.compile
    def f(x):
        return lstm(x)[0]

The options are `allow_rnn`, `trace_autograd_ops`, `enable_trace_load_build_class`, `enable_trace_contextlib`, `trace_numpy`,
`use_numpy_random_stream` and, for side effects under activation checkpointing, `skip_fwd_side_effects_in_bwd_under_checkpoint`.

When it is not safe: an option holds for the whole process, so other functions compile in another way too; that changes behaviour. PyTorch
calls some of them experimental: hence it is tried with a compiler behind it. An option that gives up being right
(`enable_faithful_generator_behavior = False`) is not offered.
"""

from __future__ import annotations

from ..core.findings import Diagnostic, Fix
from .capture_scalars import set_option
from .model import FixContext
from .regions import compiled_place

SETTINGS = {
    "GB0014": ("allow_rnn", "True", "Let recurrent layers into the graph"),
    "GB0067": ("skip_fwd_side_effects_in_bwd_under_checkpoint", "True", "Do side effects under checkpointing once"),
    "GB0075": ("enable_trace_load_build_class", "True", "Let class definitions be traced"),
    "GB0105": ("trace_numpy", "True", "Let NumPy functions be traced"),
    "GB0123": ("trace_autograd_ops", "True", "Let gradients be taken in the graph"),
    "GB0231": ("trace_numpy", "True", "Let NumPy functions be traced"),
    "GB0263": ("enable_trace_contextlib", "True", "Let contextlib be traced"),
    "GB0293": ("trace_numpy", "True", "Let NumPy functions be traced"),
    "GB0298": ("use_numpy_random_stream", "False", "Draw NumPy's random numbers from PyTorch's stream"),
    "GB9186": ("trace_autograd_ops", "True", "Let gradients be taken in the graph"),
}
"""For each code: the option, its value, and what it does in a title's words."""


def named_setting(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Set the option of the break's code where the module has imported torch."""
    place = compiled_place(diagnostic, context)
    if place is None or diagnostic.code not in SETTINGS:
        return None
    option, value, words = SETTINGS[diagnostic.code]
    return set_option(place, option, words, value) if f"config.{option}" not in place.source.text else None
