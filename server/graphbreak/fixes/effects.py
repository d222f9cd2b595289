"""Whether code does more than to compute a value that is the same the next time: whether it writes, or asks for what differs."""

from __future__ import annotations

import ast

from .imports import resolved
from .syntax import Place, dotted, names_a_write

_DIFFERS = (
    *("time.", "random.", "numpy.random.", "uuid.", "secrets.", "datetime.", "threading.", "multiprocessing.", "asyncio.", "socket."),
    *("subprocess.", "logging.", "warnings.", "gc.", "sys.", "traceback.", "tempfile.", "shutil.", "itertools.count", "psutil."),
    *("os.getpid", "os.urandom", "os.mk", "os.remove", "os.rename", "os.unlink", "os.system", "os.times", "os.getloadavg", "os.write"),
    *("inspect.stack", "inspect.currentframe"),
)
_DIFFERING_BUILTINS = frozenset(
    {"print", "input", "next", "id", "globals", "locals", "vars", "super", "eval", "exec", "setattr", "delattr"}
)
_WRITES = frozenset(
    {"write", "writelines", "write_text", "write_bytes", "append", "extend", "update", "pop", "clear", "insert", "remove", "setdefault"}
    | {"mkdir", "touch", "unlink", "send", "put", "acquire", "release", "popleft", "add", "discard", "sort", "reverse", "now", "today"}
)


def acts(place: Place, node: ast.AST, local: frozenset[str]) -> bool:
    """Whether a single node of a function does; `local` are the function's own names, which may be written to."""
    if isinstance(node, (ast.Global, ast.Nonlocal, ast.Delete, ast.Await)):
        return True
    if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        return dotted(node.value) not in local or isinstance(node, ast.Attribute)
    if not isinstance(node, ast.Call):
        return False
    name, method = resolved(place, dotted(node.func)), getattr(node.func, "attr", "")
    if name.startswith(_DIFFERS) or name in _DIFFERING_BUILTINS or method in _WRITES:
        return True
    return name == "open" and not _is_read(node)


def _is_read(call: ast.Call) -> bool:
    """Whether a call of `open` opens a file to read it."""
    modes = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return all(isinstance(mode, ast.Constant) and mode.value in ("r", "rb", "rt") for mode in modes)


def changes_in_place(node: ast.AST, attribute: str) -> bool:
    """Whether a single node changes what an attribute of that name holds: an item of it is set, or a method of it is called that writes."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = node.func.attr
        return (method in _WRITES or names_a_write(method)) and _is_part_of(node.func.value, attribute)
    written = isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)
    return written and _is_part_of(node.value, attribute)  # type: ignore[attr-defined]


def _is_part_of(node: ast.AST, attribute: str) -> bool:
    """Whether an expression is an attribute of that name, or an item or attribute of it."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Attribute) and node.attr == attribute:
            return True
        node = node.value
    return False
