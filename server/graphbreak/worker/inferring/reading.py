"""What the source of a function says of its parameters: annotations, documented shapes, and what the body does with each."""

from __future__ import annotations

import ast
import functools
import linecache
import re
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .values import Dim

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Uses:
    """What a body does with one parameter. `rank` is what it takes the shape apart into, `least` how many dimensions it needs at least."""

    rank: int | None = None
    least: int = 0
    unpacked: int | None = None
    attributes: set[str] = field(default_factory=set)
    called_attributes: set[str] = field(default_factory=set)
    keys: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    called: int | None = None
    calls: bool = False
    iterated: bool = False
    pairs: int = 0
    elements_called: bool = False
    counts: bool = False
    tested: bool = False
    mask: bool = False
    index: bool = False
    computed: bool = False
    attends: bool = False


@functools.lru_cache(maxsize=64)
def tree_of(file: str) -> ast.Module | None:
    """The syntax tree of a file, as the interpreter read it."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def node_of(code: types.CodeType) -> FunctionNode | None:
    """The definition that a code object was made from."""
    tree = tree_of(code.co_filename)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, _DEFINED) and node.name == code.co_name:
            lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
            if code.co_firstlineno in lines:
                return node
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and node.lineno == code.co_firstlineno:
            return node
    return None


def parameters(node: FunctionNode) -> Iterator[tuple[ast.arg, ast.expr | None, str]]:
    """Each parameter with its default and how it is passed (`place`, `either`, `name`, `*`, `**`)."""
    own = node.args
    placed = [*own.posonlyargs, *own.args]
    defaults: list[ast.expr | None] = [None] * (len(placed) - len(own.defaults)) + list(own.defaults)
    for index, (parameter, default) in enumerate(zip(placed, defaults)):
        yield parameter, default, "place" if index < len(own.posonlyargs) else "either"
    if own.vararg is not None:
        yield own.vararg, None, "*"
    for parameter, default in zip(own.kwonlyargs, own.kw_defaults):
        yield parameter, default, "name"
    if own.kwarg is not None:
        yield own.kwarg, None, "**"


def uses_of(node: FunctionNode) -> dict[str, Uses]:
    """What the body does with each parameter."""
    uses = {parameter.arg: Uses() for parameter, _, _ in parameters(node)}
    bound = _first_bound(node)
    for part in ast.walk(node):
        line = int(getattr(part, "lineno", 0))
        _note(part, {name: use for name, use in uses.items() if line <= bound.get(name, line)})
    return uses


def _first_bound(node: FunctionNode) -> dict[str, int]:
    """The last line of the first statement that binds a name anew: behind it the name is no longer the parameter."""
    found: dict[str, int] = {}
    for part in ast.walk(node):
        if not isinstance(part, (ast.Assign, ast.For)):
            continue
        last = (part.end_lineno if isinstance(part, ast.Assign) else None) or part.lineno
        for target in part.targets if isinstance(part, ast.Assign) else [part.target]:
            for name in ast.walk(target):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    found[name.id] = min(found.get(name.id, last), last)
    return found


def _note(part: ast.AST, uses: dict[str, Uses]) -> None:
    if isinstance(part, ast.Assign) and isinstance(part.targets[0], (ast.Tuple, ast.List)):
        _note_unpacking(part.targets[0], part.value, uses)
    elif isinstance(part, ast.Subscript):
        _note_index(part, uses)
    elif isinstance(part, ast.Slice):
        for bound in (part.lower, part.upper):
            _note_counts(bound, uses)
    elif isinstance(part, ast.Attribute) and (use := _used(part.value, uses)):
        use.attributes.add(part.attr)
    elif isinstance(part, ast.Call):
        _note_call(part, uses)
    elif isinstance(part, ast.For):
        _note_loop(part, uses)
    elif isinstance(part, ast.Compare):
        _note_comparison(part, uses)
    elif isinstance(part, (ast.If, ast.IfExp, ast.While)):
        _note_test(part.test, uses)
    elif isinstance(part, ast.BinOp):
        for side in (part.left, part.right):
            if use := _used(side, uses):
                use.computed = True
    elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Invert) and (use := _used(part.operand, uses)):
        use.mask = True


def _used(node: ast.AST | None, uses: dict[str, Uses]) -> Uses | None:
    return uses.get(node.id) if isinstance(node, ast.Name) else None


def _shape_owner(node: ast.expr, uses: dict[str, Uses]) -> Uses | None:
    """The parameter whose whole shape an expression is."""
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return _used(node.value, uses)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size" and not node.args:
        return _used(node.func.value, uses)
    return None


def _note_unpacking(target: ast.Tuple | ast.List, value: ast.expr, uses: dict[str, Uses]) -> None:
    count = len(target.elts)
    starred = any(isinstance(item, ast.Starred) for item in target.elts)
    if use := _shape_owner(value, uses):
        if starred:
            use.least = max(use.least, count - 1)
        else:
            use.rank = count
    elif (use := _used(value, uses)) and not starred:
        use.unpacked = count
    elif isinstance(value, ast.Tuple) and len(value.elts) == count:
        return


def _note_index(part: ast.Subscript, uses: dict[str, Uses]) -> None:
    if (use := _shape_owner(part.value, uses)) and isinstance(part.slice, (ast.Constant, ast.UnaryOp)):
        at = _integer(part.slice)
        use.least = max(use.least, at + 1 if at is not None and at >= 0 else -(at or 0))
    use = _used(part.value, uses)
    if use is not None and isinstance(part.slice, ast.Constant) and isinstance(part.slice.value, str):
        use.keys.append(part.slice.value)
    elif use is not None and isinstance(part.slice, ast.Tuple):
        use.least = max(use.least, sum(not _adds_none(item) for item in part.slice.elts))
    elif use is None and (index := _used(part.slice, uses)):
        index.index = True


def _adds_none(item: ast.expr) -> bool:
    return isinstance(item, ast.Constant) and (item.value is None or item.value is Ellipsis)


def _integer(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


_TAKE_SIZES = {
    "view", "reshape", "zeros", "ones", "randn", "rand", "empty", "arange", "range", "expand", "repeat", "chunk", "topk", "randint",
}  # fmt: skip


def _note_counts(node: ast.expr | None, uses: dict[str, Uses]) -> None:
    """Parameters that an expression for a whole number is computed from."""
    if isinstance(node, ast.BinOp):
        _note_counts(node.left, uses)
        _note_counts(node.right, uses)
    elif isinstance(node, ast.UnaryOp):
        _note_counts(node.operand, uses)
    elif use := _used(node, uses):
        use.counts = True


_LOOKS_UP = re.compile(r"(^|[._])(embed\w*|emb|wte|wpe|\w*_emb|\w*embedding\w*|lookup|table|one_hot)$")
_MASKS = ("masked_fill", "masked_fill_", "masked_select", "where", "masked_scatter")


def _note_call(part: ast.Call, uses: dict[str, Uses]) -> None:
    callee = ast.unparse(part.func)
    if use := _used(part.func, uses):
        use.called = len(part.args) + len(part.keywords)
    if isinstance(part.func, ast.Attribute) and (use := _used(part.func.value, uses)):
        use.called_attributes.add(part.func.attr)
        if part.func.attr == "permute" and all(_integer(item) is not None for item in part.args):
            use.rank = len(part.args)
    name = callee.rpartition(".")[2]
    for index, argument in enumerate(part.args):
        if name in _TAKE_SIZES and not (callee.startswith("torch.") and index == 0 and name in ("reshape", "topk", "chunk")):
            _note_counts(argument, uses)
        use = _used(argument, uses)
        if use is None:
            continue
        use.iterated |= name in ("len", "enumerate", "zip", "sorted", "reversed", "sum", "list", "tuple", "cat", "stack", "min", "max")
        use.index |= index == 0 and bool(_LOOKS_UP.search(callee))
        use.mask |= name in _MASKS and index == (0 if callee not in ("torch.masked_fill", "torch.masked_select") else 1)
        use.calls = True


def _note_loop(part: ast.For, uses: dict[str, Uses]) -> None:
    iterable, target = part.iter, part.target
    if isinstance(iterable, ast.Call) and ast.unparse(iterable.func) in ("enumerate", "reversed") and iterable.args:
        target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
        iterable = iterable.args[0]
    pairs = [(iterable, target)]
    if isinstance(iterable, ast.Call) and ast.unparse(iterable.func) == "zip" and isinstance(target, ast.Tuple):
        pairs = list(zip(iterable.args, target.elts))
    for one, element in pairs:
        use = _used(one, uses)
        if use is None:
            continue
        use.iterated = True
        use.pairs = len(element.elts) if isinstance(element, ast.Tuple) else 0
        if isinstance(element, ast.Name):
            calls = (node.func for node in ast.walk(part) if isinstance(node, ast.Call))
            use.elements_called |= any(isinstance(func, ast.Name) and func.id == element.id for func in calls)


def _note_comparison(part: ast.Compare, uses: dict[str, Uses]) -> None:
    use = _used(part.left, uses)
    if use is None:
        return
    for other in part.comparators:
        items = other.elts if isinstance(other, (ast.Tuple, ast.List, ast.Set)) else [other]
        use.texts += [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def _note_test(test: ast.expr, uses: dict[str, Uses]) -> None:
    parts: Sequence[ast.expr] = test.values if isinstance(test, ast.BoolOp) else [test]
    for part in parts:
        inner = part.operand if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not) else part
        if use := _used(inner, uses):
            use.tested = True


# Shapes in words

_ITEM = r"[\w*+/\- .]{1,24}"
_SHAPE = re.compile(rf"[(\[]\s*({_ITEM}(?:,\s*{_ITEM})*),?\s*[)\]]")
_TYPES = re.compile(r"\b(Tensor|tensor|optional|int|float|str|bool|list|tuple|dict|default|e\.g|i\.e|shape)\b|\.")


def shape_in(text: str) -> tuple[Dim, ...] | None:
    """The first shape that a text speaks of: `(B, T, C)`, `[batch, 3, H, W]`; a single size only where `shape` is said before it."""
    for match in _SHAPE.finditer(text):
        items = [item.strip() for item in match[1].split(",")]
        said = re.search(r"(shape|size)\W*(is|:|=|of)?\W*$", text[: match.start()])
        if not any(_TYPES.search(item) or " " in item for item in items) and (len(items) > 1 or said):
            return tuple(int(item) if item.isdigit() else item.lstrip("*") for item in items)
    return None


def documented_shapes(node: FunctionNode, names: Sequence[str], file: str) -> dict[str, tuple[Dim, ...]]:
    """The shapes that the docstring and the comments of a function tell of its parameters."""
    found: dict[str, tuple[Dim, ...]] = {}
    if isinstance(node, ast.Lambda):
        return found
    last = node.body[-1].end_lineno or node.lineno
    lines = linecache.getlines(file)[node.lineno - 1 : last]
    for parameter, _, _ in parameters(node):
        own = lines[parameter.lineno - node.lineno] if parameter.lineno - node.lineno < len(lines) else ""
        alone = parameter.lineno != node.lineno or len(names) == 1
        if "#" in own and alone and (shape := shape_in("shape " + own.partition("#")[2])):
            found[parameter.arg] = shape
    text = [*_paragraphs(ast.get_docstring(node) or "", names), *_comments(lines, names)]
    for name, said in text:
        if name not in found and (shape := shape_in(said)):
            found[name] = shape
    return found


def _paragraphs(docstring: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What a docstring says of each parameter: from the line that begins with its name to that of the next."""
    current, said = "", ""
    for line in docstring.splitlines():
        match = re.match(r"\s*[-*]?\s*(?::param\s+)?`{0,2}(\w+)`{0,2}\s*[:(\[]|\s*[-*]?\s*`{0,2}(\w+)`{0,2}\s+[(\[]", line)
        name = (match[1] or match[2]) if match else ""
        if name in names:
            if current:
                yield current, said
            current, said = name, line[match.end() - 1 :] if match else line
        elif not line.strip():
            if current:
                yield current, said
            current, said = "", ""
        elif current:
            said += " " + line
    if current:
        yield current, said


def _comments(lines: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What comments say of a parameter: `# x: (B, T, C)`, `# x is [B, T]`, `# x.shape == (B, T)`."""
    for line in lines:
        comment = line.partition("#")[2]
        for name in names if comment else ():
            if match := re.search(rf"(?<!\w){re.escape(name)}(\.shape)?\s*(:|is|=+|has shape|of shape)?\s*(?=[(\[])", comment):
                yield name, "shape " + comment[match.end() :]
