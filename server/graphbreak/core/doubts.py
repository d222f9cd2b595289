"""What makes a result depend on more than what its program is seen to read: told by the names that its texts use."""

from __future__ import annotations

import re

_USED = re.compile(
    r"""
      \.\s*([^\W\d]\w*)               # an attribute
    | (?<![\w.])([^\W\d]\w*)\s*\(     # something called
    | ["']([^\W\d]\w*)["']            # a name in a string, for getattr
    """,
    re.VERBOSE,
)
_IMPORT = re.compile(r"\b(?:from|import)\b(?:[^\n(]*\([^)]*\)|(?:[^\n\\]|\\.)*)", re.DOTALL)
_UNSEEN = "*"
_WORD = re.compile(r"[^\W\d]\w*")

_STATE_OF_THE_WORLD = frozenset(
    {
        _UNSEEN,
        # files that are there or not, which nothing tells of
        "exists", "lexists", "isfile", "isdir", "islink", "is_file", "is_dir", "stat", "lstat", "access", "getmtime", "getsize", "which",
        "fstat", "getatime", "getctime", "is_symlink", "is_mount", "ismount", "samefile", "readlink", "realpath", "statvfs", "disk_usage",
        "is_junction", "find_dotenv", "load_dotenv",
        # readers that are not Python's own
        "from_pretrained", "load_file", "safe_open", "load_dataset", "imread", "read_csv", "read_parquet", "from_file", "h5py", "lmdb",
        "pyarrow", "ctypes", "cffi", "load_library", "mmap", "memmap", "torchaudio", "cv2", "safetensors", "polars", "duckdb",
        "sentencepiece",
        "onnxruntime", "soundfile", "decord", "rasterio", "netCDF4", "read_image", "read_video", "read_file", "load_from_disk", "pipeline",
        "hub", "PyTorchFileReader", "PackageImporter", "aoti_load_package",
        # time, chance and this machine, as far as programs decide by them
        "datetime", "localtime", "gmtime", "strftime", "ctime", "random", "secrets", "uuid", "uuid1", "uuid4", "urandom", "getpid",
        "gethostname", "psutil", "getuser",
        # the world outside
        "socket", "requests", "urllib", "httpx", "aiohttp", "subprocess", "multiprocessing", "Popen",
    }
)  # fmt: skip
_TEXT_ITSELF = frozenset(
    {
        "inspect", "linecache", "tokenize", "getsource", "getsourcelines", "findsource", "traceback", "_getframe", "currentframe", "lineno",
        "f_lineno", "tb_lineno", "co_firstlineno", "co_code", "co_lines", "co_positions", "__code__", "extract_stack", "format_stack",
        "stacklevel", "findCaller", "triton", "jit", "getlines", "getline", "settrace", "setprofile", "monitoring", "ast", "get_source",
    }
)  # fmt: skip
_VARIABLES = frozenset({"environ", "getenv", "expandvars", "environb"})
_OF_ITSELF = re.compile(r"\brealpath\s*\(\s*__file__\s*\)")
"""Where the program itself is."""

_READ_UNSEEN = re.compile(
    r"\b(?:jit|export)\s*\.\s*load\b|\bfrom\s+torch\s*\.\s*(?:jit|export)\s+import\b[^\n]*\bload\b"
    r"|\bresolve\s*\([^()]*\bstrict\b"
)
"""Files that are opened by torch's own C++; a path that has to be there."""

_TORCHS_OWN = re.compile(
    r"\b(?:torch|np|numpy|jax)\s*\.\s*random\b|\btorch\s*\.\s*(?:jit|_?C\._jit)\s*\.\s*(?:is_scripting|is_tracing|ignore|unused)\b"
)


def words_of(text: str) -> frozenset[str]:
    """The names that a text uses as attributes, calls, imports, or holds as strings; rather too many than too few."""
    text = _TORCHS_OWN.sub("", _OF_ITSELF.sub("", text))
    used = (word for words in _USED.findall(text) for word in words if word)
    unseen = [_UNSEEN] if _READ_UNSEEN.search(text) else []
    return frozenset((*used, *unseen, *(word for line in _IMPORT.findall(text) for word in _WORD.findall(line))))


def is_open_ended(words: frozenset[str]) -> bool:
    """Whether a program that uses these names may depend on what nobody can see that it depends on."""
    return not words.isdisjoint(_STATE_OF_THE_WORLD)


def looks_at_text(words: frozenset[str]) -> bool:
    """Whether it may see where its statements stand, or what its comments say."""
    return not words.isdisjoint(_TEXT_ITSELF)


def asks_for_variables(words: frozenset[str]) -> bool:
    """Whether it may look at the variables of its environment."""
    return not words.isdisjoint(_VARIABLES)
