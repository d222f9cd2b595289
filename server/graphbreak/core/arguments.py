"""Inputs as a trace describes them (`x: f32[8, 16], n: 3`) -> the arguments of an example call (`torch.randn(8, 16), n=3`)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .parsing import literal

UNKNOWN = "..."
"""Where only the user knows what to write."""

_DTYPES = {
    "f32": "", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "c64": "complex64", "c128": "complex128",
    "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "bool": "bool",
}  # fmt: skip
_RANDOM = ("f32", "f64", "f16", "bf16", "c64", "c128")
_TENSOR = re.compile(r"(?P<dtype>[a-z]\w*)\[(?P<shape>[\d, ]*)\](?: on (?P<device>[a-z]+(?::\d+)?))?(?P<grad> with grad)?")
_NAMED = re.compile(r"([^\W\d]\w*): (.*)", re.DOTALL)
_TORCH_NAME = re.compile(r"torch\.\w+")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_BRACKETS = {"[": "]", "(": ")", "{": "}"}


def arguments(inputs: str, parameters: ast.arguments | None = None) -> str:
    """The arguments of a call with such inputs: numbers and the like by name where they have one, all else in its place."""
    keyword_only = {p.arg for p in parameters.kwonlyargs} if parameters else set()
    in_place = {p.arg for p in parameters.posonlyargs} if parameters else set()
    star = parameters.vararg.arg if parameters and parameters.vararg else ""
    more = parameters.kwarg.arg if parameters and parameters.kwarg else ""
    given = [_named(part) for part in _parts(inputs)]
    if star and any(name == star and text != "()" for name, text in given):
        in_place |= {name for name, _ in given} - keyword_only
    written: list[str] = []
    named = False
    for name, text in given:
        if name and name == star:
            written += [value(item) for item in _parts(text[1:-1])]
        elif name and name == more:
            written += [f"{key}={value(item)}" for key, item in _pairs(text[1:-1]) if key.isidentifier()]
        elif name and name not in in_place and (named or name in keyword_only or _is_scalar(text)):
            written.append(f"{name}={value(text)}")
            named = True
        else:
            written.append(value(text))
    return ", ".join(written)


def value(text: str) -> str:
    """An expression for one described value, or `...`."""
    text = text.strip()
    if tensor := _TENSOR.fullmatch(text):
        return _tensor(tensor)
    if _is_scalar(text) or _TORCH_NAME.fullmatch(text):
        return text
    if text in ("nan", "inf", "-inf"):
        return f"float({text!r})"
    inner = text[1:-1]
    if not text or _BRACKETS.get(text[0]) != text[-1]:
        return UNKNOWN
    if text[0] == "{":
        return "{" + ", ".join(f"{key!r}: {value(item)}" for key, item in _pairs(inner)) + "}"
    items = [value(item) for item in _parts(inner)]
    last = "," if text[0] == "(" and len(items) == 1 else ""
    return f"{text[0]}{', '.join(items)}{last}{text[-1]}"


def _tensor(tensor: re.Match[str]) -> str:
    dtype = tensor["dtype"]
    options = [tensor["shape"].strip() or "()"]
    if name := _DTYPES.get(dtype, dtype):
        options.append(f"dtype=torch.{name}")
    if tensor["device"]:
        options.append(f'device="{tensor["device"]}"')
    if tensor["grad"]:
        options.append("requires_grad=True")
    return f"torch.{'randn' if dtype in _RANDOM else 'zeros'}({', '.join(options)})"


def _is_scalar(text: str) -> bool:
    try:
        return isinstance(literal(text), (bool, int, float, str, type(None)))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False


def _named(part: str) -> tuple[str, str]:
    match = _NAMED.fullmatch(part)
    return (match[1], match[2]) if match else ("", part)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """The items of a described dictionary whose keys are strings, which all that can be arguments are."""
    for part in _parts(text):
        key = _QUOTED.match(part)
        if key and part[key.end() : key.end() + 2] == ": ":
            yield str(literal(key.group())), part[key.end() + 2 :]


def _parts(text: str) -> list[str]:
    """The text between the commas that stand in no brackets and no quotes."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(text):
        quoted = _QUOTED.match(text, at)
        if quoted:
            at = quoted.end()
            continue
        depth += (text[at] in "[({") - (text[at] in "])}")
        if text[at] == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
        at += 1
    return [*parts, text[start:].strip()] if text.strip() else []
