"""Move a statement out of the compiled function, to before or behind it: a function of its name does that and calls what is compiled.

Before:

    @torch.compile
    def step(x, path):
        y = x * 2
        config = read(path)
        return y + config.shift

After:

    @torch.compile
    def _step(x, path, config):
        y = x * 2
        return y + config.shift


    def step(x, path):
        config = read(path)
        return _step(x, path, config)

A statement moves to the front where it uses only parameters and what the module has, and to the end where it binds nothing and uses only
parameters and what the function returns. Statements beside it that have no operations in a graph go along.

When it is not safe: something happens a little earlier or later, and the function of the old name is no longer the compiled one (who asks
it for that, or compiles it along, finds another); that changes behaviour. It is not offered where what stands between changes something
in place, calls what may see or do the same things, or returns early; where a name has another value at the new place; where operations of
the statement are in a graph; where it may change what is read between; for functions that are not decorated with the mark alone, and such
with `*args` or parameters by name or position only.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ..core.findings import Diagnostic, Fix, Safety
from ..core.judging import part_name
from ..core.places import node_span
from ..core.source import Edit, Position, Span
from . import regions
from .aliases import Aliases
from .disable_helper import is_plain_function
from .edits import finished, indentation
from .effects import acts
from .model import FixContext
from .names import identifiers, local_names, module_binders
from .operations import is_cheap_call, is_pure
from .splitting import can_be_split, certainly, lines_of, loaded, only_mark, stored
from .statements import has_own_lines, removed
from .syntax import DEFINITIONS, Place, dotted, first_line, last_line, walk

_JUMPS = (ast.Return, ast.Break, ast.Continue, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await, ast.Assert)
_BINDS_UNSEEN = (*DEFINITIONS, ast.Match, ast.ExceptHandler, ast.Lambda, ast.NamedExpr)

_READERS = frozenset(
    {"print", "str", "repr", "format", "open", "id", "type", "hash", "tolist", "item", "dumps", "numpy", "isinstance", "exists", "join"}
    | {"debug", "info", "warning", "warn", "error", "critical", "log", "cpu", "detach", "get", "keys", "values", "items", "sorted", "dict"}
)


@dataclass(frozen=True)
class _Cut:
    """The statements that move, with those of the body before and behind them."""

    place: Place
    function: ast.FunctionDef
    before: list[ast.stmt]
    moved: list[ast.stmt]
    behind: list[ast.stmt]

    @property
    def method(self) -> bool:
        """Whether the function is one of a class."""
        return self.function is not self.place.top

    def call(self, bound: Sequence[str] = ()) -> str:
        """The call of what is compiled, with what is passed beside the function's own parameters."""
        given = [*_parameters(self), *bound]
        head = f"{given.pop(0)}." if self.method else ""
        return f"{head}{part_name(self.function.name)}({', '.join(given)})"


def move_out(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
    """Move the statement that broke to the front, or else to the end."""
    place = regions.compiled_place(diagnostic, context)
    cut = _cut(place, diagnostic, context) if place is not None else None
    if cut is None:
        return None
    ways = [*map(_to_the_front, _longer(cut, diagnostic, context, -1)), *map(_to_the_end, _longer(cut, diagnostic, context, 1))]
    return next((fix for fix in ways if fix is not None), None)


def _longer(cut: _Cut, diagnostic: Diagnostic, context: FixContext, step: int) -> list[_Cut]:
    """The same cut with the statements before it (or behind it) that no graph needs, the longest first."""
    found = [cut]
    while beside := (found[-1].before if step < 0 else found[-1].behind[:-1])[-1 if step < 0 else 0 :][:1]:
        last = found[-1]
        if regions.captures(diagnostic.path, beside[0], context) or not has_own_lines(cut.place.source, beside[0]):
            break
        if step < 0:
            found.append(_Cut(cut.place, cut.function, last.before[:-1], [*beside, *last.moved], last.behind))
        else:
            found.append(_Cut(cut.place, cut.function, last.before, [*last.moved, *beside], last.behind[1:]))
    return found[::-1]


def _cut(place: Place, diagnostic: Diagnostic, context: FixContext) -> _Cut | None:
    """The function around a place, where it can be taken apart."""
    function = place.functions[0] if len(place.functions) == 1 else None
    inner = place.top if isinstance(place.top, ast.FunctionDef) else place.chain[2] if isinstance(place.top, ast.ClassDef) else None
    if not isinstance(function, ast.FunctionDef) or function is not inner or only_mark(function) is None:
        return None
    index = next((i for i, statement in enumerate(function.body) if statement in place.chain), None)
    if index is None or not is_plain_function(function) or not regions.is_marked(function, diagnostic.path, context):
        return None
    cut = _Cut(place, function, function.body[_docstring(function) : index], [function.body[index]], function.body[index + 1 :])
    return cut if _is_separable(cut, diagnostic, context) else None


def _is_separable(cut: _Cut, diagnostic: Diagnostic, context: FixContext) -> bool:
    function, source = cut.function, cut.place.source
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs or not can_be_split(function):
        return False
    name = part_name(function.name)
    if function.name.startswith("_") or any(name in identifiers(other.text) for other in context.sources.values()):
        return False
    if cut.method and (not arguments.args or _parameters(cut)[0] in stored(function.body)):
        return False
    nodes = [node for statement in function.body for node in walk(statement)]
    if any(isinstance(node, _BINDS_UNSEEN) for node in nodes) or regions.captures(diagnostic.path, cut.moved[0], context):
        return False
    again = any(_last_name(node) == function.name for node in nodes)
    asked = any(isinstance(node, ast.Attribute) and _last_name(node.value) == function.name for node in walk(cut.place.module))
    return not again and not asked and bool(cut.behind) and has_own_lines(source, cut.moved[0]) and "#" not in _header(cut)


def _to_the_front(cut: _Cut) -> Fix | None:
    uses, binds = loaded(cut.moved), stored(cut.moved)
    earlier = loaded(cut.before) | stored(cut.before)
    bound = [name for name in sorted(binds) if name in loaded(cut.behind)]
    if uses & stored(cut.before) or binds & earlier.union(_parameters(cut)) or not _surely_bound(cut.moved).issuperset(bound):
        return None
    if _jumps([*cut.before, *cut.moved]):
        return None
    if not all(_leaves_alone(cut, statement, uses) for statement in cut.before) or _changes(cut, _seen(cut, uses, loaded(cut.before))):
        return None
    return _split(cut, bound, [_moved_lines(cut), f"return {cut.call(bound)}"], "before")


def _to_the_end(cut: _Cut) -> Fix | None:
    last = cut.behind[-1]
    if not isinstance(last, ast.Return) or last.value is None or _jumps([*cut.before, *cut.moved, *cut.behind[:-1]]) or stored(cut.moved):
        return None
    local = local_names(cut.place.source, cut.function) or frozenset()
    uses, rebound = loaded(cut.moved) & local, stored([*cut.before, *cut.behind])
    names = [node.id for node in _elements(last.value) if isinstance(node, ast.Name)]
    given = names if len(names) == len(_elements(last.value)) else []
    kept = set(_parameters(cut)) - rebound
    if not uses <= kept | set(given) or uses & stored(cut.behind) or not all(_leaves_alone(cut, s, uses) for s in cut.behind[:-1]):
        return None
    later = loaded(cut.behind[:-1]) | (set() if given else loaded([last]))
    if not is_pure(last.value, is_cheap_call) or _changes(cut, _seen(cut, uses, later)):
        return None
    target = ", ".join(given) or next(name for name in ("result", "returned", "value_of_part") if name not in local)
    call = f"{target} = {cut.call()}"
    return _split(cut, [], [call, _moved_lines(cut), f"return {target}"], "behind")


def _seen(cut: _Cut, uses: set[str], others: set[str]) -> set[str]:
    """The names that what moves uses whose values other statements see too, by whatever name."""
    aliases = Aliases(cut.place, cut.function, wide=True)
    return {name for name in uses if aliases.held_with(frozenset({name})) & others}


def _surely_bound(statements: list[ast.stmt]) -> set[str]:
    """The names that are bound when the statements have run; an open file lets no error in its block pass."""
    files = [s for s in statements if isinstance(s, ast.With) and all(_is_file(item.context_expr) for item in s.items)]
    return certainly(statements).union(*(_surely_bound(s.body) for s in files))


def _is_file(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) == "open"


def _split(cut: _Cut, bound: list[str], body: list[str], where: str) -> Fix | None:
    """The edits: another head for what is compiled, the statement taken out, and a function of the old name behind it."""
    source, function = cut.place.source, cut.function
    own, newline = indentation(source.line(first_line(cut.moved[0]))), source.newline
    lines = [line if line.startswith(own) else own + line for line in body]
    edits = [_new_head(cut, bound), Edit(_moved_span(cut), "")]
    doc = function.body[: _docstring(function)]
    if doc and has_own_lines(source, doc[0]):
        lines.insert(0, lines_of(source, doc))
        edits.append(removed(cut.place, doc[0]))
    last = last_line(function)
    end = Position(last, len(source.line(last)))
    edits.append(Edit(Span(end, end), newline.join(["", *([""] if cut.method else ["", ""]), _header(cut), *lines])))
    title = f"Do this {where} what is compiled of `{function.name}`"
    return finished(title, source, tuple(edits), Safety.CHANGES_BEHAVIOUR)


def _moved_span(cut: _Cut) -> Span:
    """The whole lines of what moves, with the comments right above."""
    source, first = cut.place.source, first_line(cut.moved[0])
    while first - 1 > cut.function.lineno and source.line(first - 1).strip().startswith("#"):
        first -= 1
    return Span(Position(first, 0), Position(last_line(cut.moved[-1]) + 1, 0))


def _moved_lines(cut: _Cut) -> str:
    return cut.place.source.slice(_moved_span(cut)).rstrip("\r\n")


def _new_head(cut: _Cut, bound: list[str]) -> Edit:
    source, function = cut.place.source, cut.function
    given = [source.slice(node_span(source, argument)) for argument in function.args.args]
    returns = f" -> {source.slice(node_span(source, function.returns))}" if function.returns is not None else ""
    start = Position(function.lineno - 1, 0)
    end = source.position(source.offset(start) + len(_header(cut)))
    own = indentation(source.line(function.lineno - 1))
    return Edit(Span(start, end), f"{own}def {part_name(function.name)}({', '.join([*given, *bound])}){returns}:")


def _header(cut: _Cut) -> str:
    """The text from `def` to the colon before the body."""
    source, function = cut.place.source, cut.function
    start = source.offset(Position(function.lineno - 1, 0))
    text = source.text[start : source.offset(node_span(source, function.body[0]).start)]
    return text[: text.rindex(":") + 1]


def _docstring(function: ast.FunctionDef) -> int:
    return int(ast.get_docstring(function, clean=False) is not None)


def _parameters(cut: _Cut) -> list[str]:
    return [argument.arg for argument in cut.function.args.args]


def _jumps(statements: list[ast.stmt]) -> bool:
    return any(isinstance(node, _JUMPS) for statement in statements for node in walk(statement))


def _elements(value: ast.expr) -> list[ast.expr]:
    return value.elts if isinstance(value, ast.Tuple) else [value]


def _leaves_alone(cut: _Cut, statement: ast.stmt, uses: set[str]) -> bool:
    """Whether a statement changes nothing that the moved one may see, and sees nothing that that one may change."""
    for node in walk(statement):
        if isinstance(node, (ast.AugAssign, ast.With, ast.AsyncWith, ast.Try, ast.Delete)):
            return False
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.Call) and not is_cheap_call(node) and not _is_of_others(cut, node, uses):
            return False
    return True


def _is_of_others(cut: _Cut, call: ast.Call, uses: set[str]) -> bool:
    """Whether a call works on nothing that the moved statement names: a torch function, or a layer of the module."""
    callee = dotted(call.func)
    root = callee.partition(".")[0]
    local = local_names(cut.place.source, cut.function) or frozenset()
    named = {node.id for node in walk(call) if isinstance(node, ast.Name)} - {"torch"}
    layer = cut.method and root == _parameters(cut)[0]
    foreign = layer or (bool(root) and root not in local and bool(module_binders(cut.place.module, root)))
    helpers = [binder for binder in module_binders(cut.place.module, callee) if isinstance(binder, ast.FunctionDef)]
    quiet = not any(acts(cut.place, node, frozenset()) for helper in helpers for node in walk(helper))
    return foreign and quiet and not callee.endswith("_") and not named & uses


def _changes(cut: _Cut, shared: set[str]) -> bool:
    """Whether what moves may change something under names that the statements which it is moved past read too."""
    for node in (node for statement in cut.moved for node in walk(statement)):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load) and _names(node) & shared:
            return True
        if isinstance(node, ast.Call) and not is_cheap_call(node) and not _only_reads(node) and _names(node) & shared:
            return True
    return False


def _only_reads(call: ast.Call) -> bool:
    """Whether a call is known to leave what it is given as it is: it writes, converts or describes."""
    name = getattr(call.func, "attr", None) or dotted(call.func)
    return name in _READERS


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
