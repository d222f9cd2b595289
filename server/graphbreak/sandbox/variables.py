"""The variables that a program sees: without credentials, and with its caches in its private folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from . import secrets

_WITH_PASSWORD = re.compile(r"://[^/@\s:]*:[^/@\s]+@")
_WORD = re.compile(r"[A-Z0-9]+")

PRIVATE = {
    "TMPDIR": "", "TEMP": "", "TMP": "", "XDG_CACHE_HOME": ".cache", "TORCHINDUCTOR_CACHE_DIR": ".cache/inductor", "TRITON_CACHE_DIR":
    ".cache/triton",
    "TRITON_HOME": ".cache", "TORCH_EXTENSIONS_DIR": ".cache/torch_extensions", "MPLCONFIGDIR": ".cache/matplotlib", "NUMBA_CACHE_DIR":
    ".cache/numba",
    "CUDA_CACHE_PATH": ".cache/nv", "HF_MODULES_CACHE": ".cache/hf_modules", "WANDB_DIR": ".cache/wandb", "IPYTHONDIR": ".cache/ipython",
}  # fmt: skip
"""Variables that name a place for files of no worth, with the place in the private folder that they get."""

_UNWRITTEN = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Compiled modules are read where they are and never written; a folder of their own would have every package compiled anew."""

_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "WANDB_MODE": "offline"}


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks as if it held a credential, or led to a service outside that holds some."""
    upper = name.upper()
    if upper.startswith(secrets.BEGINNINGS) or upper.endswith(secrets.ENDINGS):
        return True
    return bool(secrets.WORDS.intersection(words_of(upper))) or _WITH_PASSWORD.search(value) is not None


def words_of(name: str) -> list[str]:
    """The words that a variable's name, in upper case, is made of."""
    return _WORD.findall(name)


def program_variables(variables: Mapping[str, str], kept: Iterable[str], network: bool, home: str) -> dict[str, str]:
    """What is left of the server's variables for a program; `kept` names those to keep whatever they look like. Models that were
    downloaded stay where they are found, and without a network nobody asks for others."""
    allowed = frozenset(kept)
    found = {name: value for name, value in variables.items() if name in allowed or not is_secret(name, value)}
    caches = variables.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    for name, folder in (("HF_HOME", "huggingface"), ("TORCH_HOME", "torch")):
        found.setdefault(name, os.path.join(caches, folder))
    return {**found, **_UNWRITTEN, **({} if network else _OFFLINE)}
