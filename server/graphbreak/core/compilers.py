"""Which expressions are `torch.compile`, under whatever name and with whatever options, and what they are applied to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from .outline import Outline
from .scopes import END, Assigned, Binding, Definition, Imported, Instance, Scope

_COMPILE = {"torch.compile", "torch.compiler.compile"}
_PARTIAL = "functools.partial"
_SUPPOSED = {"torch", "functools"}
"""Names that mean what they say even where no import is seen, as in a cell or above a broken import."""

_OPTIONS = {"fullgraph", "dynamic", "backend", "mode", "options", "disable", "name"}
_NEWER_OPTIONS = {"recompile_limit", "isolate_recompiles", "shapes_spec"}
_OTHER_COMPILERS = {"ast", "cffi", "jax", "jinja2", "keras", "lark", "numba", "re", "regex", "sqlalchemy", "sympy", "tensorflow", "tvm"}
"""Packages whose objects have a `compile` method of their own."""

_DEEPEST = 40


@dataclass(frozen=True)
class MarkOptions:
    """What a call of `torch.compile` says literally; None where it says nothing or something that only running can tell."""

    fullgraph: bool | None = None
    dynamic: bool | None = None
    mode: str | None = None
    backend: str | None = None
    disabled: bool = False


@dataclass(frozen=True)
class Compiler:
    """`torch.compile` itself, or what `partial(torch.compile, ...)` and `torch.compile(fullgraph=True)` give."""

    options: MarkOptions = MarkOptions()


Value = Imported | Compiler | Definition | Instance


def with_keywords(options: MarkOptions, keywords: Iterable[ast.keyword]) -> MarkOptions:
    """The options after those of one more call."""
    changes: dict[str, Any] = {}
    for keyword in keywords:
        literal = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if keyword.arg in ("fullgraph", "dynamic"):
            changes[keyword.arg] = literal if isinstance(literal, bool) else None
        elif keyword.arg in ("mode", "backend"):
            changes[keyword.arg] = literal if isinstance(literal, str) else None
        elif keyword.arg == "disable":
            changes["disabled"] = literal is True
    return replace(options, **changes)


def compiled_argument(call: ast.Call) -> ast.expr | None:
    """What a call of `torch.compile` is to compile; None where it only gives a decorator."""
    argument = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "model"), None)
    return None if isinstance(argument, ast.Constant) and argument.value is None else argument


class Resolver:
    """Finds what expressions of one file may stand for. Each binding is looked into once."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._known: dict[Binding, list[Value]] = {}

    def compiler(self, expression: ast.expr, scope: Scope) -> Compiler | None:
        """The compiler that an expression is, or may be."""
        return next((c for c in map(_as_compiler, self._values(expression, scope, 0)) if c), None)

    def definition(self, expression: ast.expr, scope: Scope) -> Definition | None:
        """The function, class or lambda of this file that an expression is, compiled or not."""
        return next((value for value in self._values(expression, scope, 0) if isinstance(value, Definition)), None)

    def is_module_compile(self, call: ast.Call, scope: Scope) -> bool:
        """Whether `x.compile(...)` is plausibly the method of an `nn.Module`."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "compile" or not self._outline.imports_torch:
            return False
        if call.args or any(keyword.arg not in _OPTIONS | _NEWER_OPTIONS for keyword in call.keywords):
            return False
        receiver = call.func.value
        if not isinstance(receiver, (ast.Name, ast.Attribute, ast.Subscript)):
            return False
        values = self._values(receiver, scope, 0)
        return all(map(self._may_be_module, values)) and not any(o.package in _OTHER_COMPILERS for o in self._origins(receiver, scope))

    def _may_be_module(self, value: Value) -> bool:
        if isinstance(value, Imported):
            name = value.path.rpartition(".")[2]
            class_like = name[:1].isupper() and not name.isupper()
            return not value.module and value.package != "torch" and not class_like
        if isinstance(value, Instance):
            node = value.of.node
            return isinstance(node, ast.ClassDef) and bool(node.bases) and not self._member(value.of, "compile", 0)
        return False

    def _values(self, expression: ast.expr, scope: Scope, depth: int) -> list[Value]:
        """All that an expression may be, as far as this file tells, likeliest first."""
        if depth > _DEEPEST:
            return []
        depth += 1
        if isinstance(expression, ast.Name):
            return self._name(expression, scope, depth)
        if isinstance(expression, ast.Attribute):
            return [v for base in self._values(expression.value, scope, depth) for v in self._attribute(base, expression.attr, depth)]
        if isinstance(expression, ast.Call):
            return [v for called in self._values(expression.func, scope, depth) for v in self._call(called, expression, scope, depth)]
        if isinstance(expression, ast.Lambda):
            return [self._outline.definitions[expression]]
        if isinstance(expression, ast.NamedExpr):
            return self._values(expression.value, scope, depth)
        choices = _choices(expression)
        return [value for choice in choices for value in self._values(choice, scope, depth)]

    def _name(self, name: ast.Name, scope: Scope, depth: int) -> list[Value]:
        bindings = scope.lookup(name.id, (name.lineno, name.col_offset))
        if bindings is None:
            return [Imported(name.id, True)] if name.id in _SUPPOSED else []
        return self._bound(bindings, depth)

    def _bound(self, bindings: Iterable[Binding], depth: int) -> list[Value]:
        found: list[Value] = []
        for binding in bindings:
            if binding not in self._known:
                self._known[binding] = []  # so that a name that is bound to itself ends here
                self._known[binding] = self._look_into(binding, depth)
            found += self._known[binding]
        return list(dict.fromkeys(found))

    def _look_into(self, binding: Binding, depth: int) -> list[Value]:
        value = binding.value
        if isinstance(value, Assigned):
            return self._values(value.value, value.scope, depth)
        return [value] if value else []

    def _attribute(self, base: Value, name: str, depth: int) -> list[Value]:
        if isinstance(base, Imported):
            return [Imported(f"{base.path}.{name}", base.module)]
        if isinstance(base, Instance):
            return self._member(base.of, name, depth)
        return self._member(base, name, depth) if isinstance(base, Definition) else []

    def _member(self, owner: Definition, name: str, depth: int) -> list[Value]:
        """What a class of this file, or one that it inherits from, has under a name."""
        if not isinstance(owner.node, ast.ClassDef) or depth > _DEEPEST:
            return []
        if name in owner.inner.bindings:
            return self._bound(owner.inner.reaching(name, END), depth)
        outside = owner.inner.parent or self._outline.module
        bases = (value for base in owner.node.bases for value in self._values(base, outside, depth + 1))
        found = (self._member(base, name, depth + 1) for base in bases if isinstance(base, Definition))
        return next(filter(None, found), [])

    def _call(self, called: Value, call: ast.Call, scope: Scope, depth: int) -> list[Value]:
        if compiler := _as_compiler(called):
            argument = compiled_argument(call)
            if argument is None:
                return [Compiler(with_keywords(compiler.options, call.keywords))]
            return self._values(argument, scope, depth)  # what is compiled is still the same function
        if isinstance(called, Imported) and called.path == _PARTIAL and len(call.args) == 1:
            compilers = filter(None, map(_as_compiler, self._values(call.args[0], scope, depth)))
            return [Compiler(with_keywords(compiler.options, call.keywords)) for compiler in compilers]
        return [Instance(called)] if isinstance(called, Definition) and isinstance(called.node, ast.ClassDef) else []

    def _origins(self, expression: ast.expr, scope: Scope) -> Iterator[Imported]:
        """The imports that an expression begins with, through the names on the way: `jax` for `x` after `x = jax.jit(f).lower(1)`."""
        seen: set[Binding] = set()
        waiting: list[tuple[ast.expr, Scope]] = [(expression, scope)]
        while waiting:
            expression, scope = waiting.pop()
            while isinstance(expression, (ast.Attribute, ast.Subscript, ast.Await, ast.Call)):
                expression = expression.func if isinstance(expression, ast.Call) else expression.value
            if not isinstance(expression, ast.Name):
                continue
            for binding in scope.lookup(expression.id, (expression.lineno, expression.col_offset)) or ():
                if isinstance(binding.value, Imported):
                    yield binding.value
                elif isinstance(binding.value, Assigned) and binding not in seen:
                    seen.add(binding)
                    waiting.append((binding.value.value, binding.value.scope))


def _as_compiler(value: Value) -> Compiler | None:
    if isinstance(value, Compiler):
        return value
    return Compiler() if isinstance(value, Imported) and value.path in _COMPILE else None


def _choices(expression: ast.expr) -> list[ast.expr]:
    if isinstance(expression, ast.IfExp):
        return [expression.body, expression.orelse]
    return expression.values if isinstance(expression, ast.BoolOp) else []
