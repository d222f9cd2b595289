"""From a mark to what is to be called: by which name of the module it is reached, and what has to be made before."""

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..marks import Marks
from ..protocol import Guess, Place
from .building import Builder
from .reading import tree_of
from .values import Argument, Made, Text, Value

_MOVES = ("to", "cuda", "cpu", "eval", "train", "half", "float", "double", "bfloat16", "requires_grad_")


class Unreachable(Exception):
    """Nothing that could be called leads to the mark; the message says why, as the end of a sentence."""


@dataclass(frozen=True)
class Target:
    """What is to be called. `calls` are first proposals; `compile_path` names what is to be compiled in place before.

    `wrapped` says that the call has to compile what it calls (`torch.compile(Net())(x)`). `functions` are what a call runs.
    """

    calls: tuple[Made, ...]
    compile_path: str = ""
    wrapped: bool = False
    functions: tuple[Any, ...] = ()


def target_of(guess: Guess, module: types.ModuleType, marks: Marks) -> Target:
    """The target of a mark. Raises Unreachable."""
    tree = tree_of(guess.mark.file)
    finder = _Finder(guess, Builder(module.__dict__, tree), tree)
    for mark in marks.within(_called_at(guess)):
        found = finder.compiled(marks.target(mark), marks.compiled(mark))
        if found is not None:
            return found
    return finder.not_compiled_yet()


def _called_at(guess: Guess) -> Place:
    """The lines at which Python says that a mark is made: a decorator is called at its own, before Python 3.11 at that of the `def`."""
    return replace(guess.mark, end_line=guess.line) if guess.decorated and sys.version_info < (3, 11) else guess.mark


class _Finder:
    def __init__(self, guess: Guess, builder: Builder, tree: ast.Module | None) -> None:
        self._guess, self._builder, self._tree = guess, builder, tree
        self._names = builder.namespace

    # What the import has compiled

    def compiled(self, target: Any, compiled: Any) -> Target | None:
        """The target for something that was compiled when the module was imported."""
        if inspect.ismethod(target) and isinstance(target.__self__, torch.nn.Module) and target.__name__.endswith("_call_impl"):
            target = compiled = target.__self__  # `model.compile()`
        path = self._path_to(compiled) or (self._path_to(target) if compiled is target else None)
        if isinstance(target, type):
            return self._of_class(target)
        if path is None and inspect.isfunction(inspect.unwrap(target)):
            return self._of_function(inspect.unwrap(target))
        if path is None:
            return None
        function = target.forward if isinstance(target, torch.nn.Module) else target
        bound = inspect.ismethod(function) or (isinstance(function, types.MethodType))
        return Target((Made(path, self._builder.arguments(function, bound=bound)),), functions=(function,))

    def _path_to(self, wanted: Any) -> str | None:
        """An expression of the module's names that gives an object: a name, an attribute of one, an item of a list or a dictionary."""
        for name, value in self._names.items():
            if value is wanted:
                return name
        for name, value in self._names.items():
            if name.startswith("__") or isinstance(value, (types.ModuleType, type)):
                continue
            inner = getattr(value, "__dict__", None)
            for attribute, other in inner.items() if isinstance(inner, dict) else ():
                if other is wanted and not attribute.startswith("_"):
                    return f"{name}.{attribute}"
            if isinstance(value, (dict, list, tuple)):
                for key, other in value.items() if isinstance(value, dict) else enumerate(value):
                    if other is wanted and isinstance(key, (str, int)):
                        return f"{name}[{key!r}]"
        return None

    def _of_function(self, function: types.FunctionType) -> Target | None:
        """A function whose compiled form stands in a class, or behind another decorator."""
        *owners, name = function.__qualname__.split(".")
        if "<locals>" in owners:
            return None
        owner: Any = self._names.get(owners[0]) if owners else None
        for part in owners[1:]:
            owner = getattr(owner, part, None)
        if not owners:
            return self._plain(name, function) if name in self._names else None
        return self._method(owner, name, function) if isinstance(owner, type) else None

    def _plain(self, name: str, function: Any, compile_path: str = "") -> Target:
        return Target((Made(name, self._builder.arguments(function)),), compile_path, functions=(function,))

    def _method(self, owner: type, name: str, function: Any, compile_path: str = "") -> Target:
        static = inspect.getattr_static(owner, name, None)
        if isinstance(static, (staticmethod, classmethod)):
            arguments = self._builder.arguments(function, bound=isinstance(static, classmethod))
            return Target((Made(f"{owner.__qualname__}.{name}", arguments),), compile_path, functions=(function,))
        behind = "" if name in ("__call__", "forward") and _is_called(owner, name) else f".{name}"
        arguments = self._builder.arguments(function, bound=True)
        return Target(
            tuple(Made(arguments=arguments, of=made, behind=behind) for made in self._instances(owner)), compile_path, functions=(function,)
        )

    def _of_class(self, cls: type, wrapped: bool = False, compile_path: str = "") -> Target:
        function = cls.forward if issubclass(cls, torch.nn.Module) else cls.__call__
        arguments = self._builder.arguments(function, bound=True)
        calls = tuple(Made(arguments=arguments, of=made) for made in self._instances(cls))
        return Target(calls, compile_path, wrapped, functions=(function,))

    def _instances(self, cls: type) -> list[Value]:
        existing = self._builder.existing(cls)
        found = [*([existing] if existing is not None else []), *self._builder.instances(cls)]
        if not found:
            raise Unreachable(f"no name of the module leads to the class `{cls.__qualname__}`")
        return found[:4]

    # What a part of the source would compile that was not run

    def not_compiled_yet(self) -> Target:
        """The target for a mark whose line the import did not come to."""
        if self._guess.decorated:
            return self._inner_function()
        value = self._static(self._guess.name.split("."))
        if value is not None and isinstance(value, types.FunctionType):
            *owners, name = self._guess.name.split(".")
            owner = self._static(owners) if owners else None
            if isinstance(owner, type):
                return self._method(owner, name, value, self._guess.name)
            return self._plain(self._guess.name, value, self._guess.name)
        if isinstance(value, type):
            return self._of_class(value, wrapped=True)
        return self._of_expression()

    def _static(self, parts: list[str]) -> Any:
        value: Any = self._names.get(parts[0]) if parts else None
        for part in parts[1:]:
            value = getattr(value, part, None)
        return value

    def _inner_function(self) -> Target:
        """A function that another one defines and gives back: it is reached through a call of that."""
        chain = _chain(self._tree, self._guess.line)
        if len(chain) < 2:
            raise Unreachable("the line that compiles it is not run when the module is imported")
        inner, outer = chain[-1], chain[-2]
        if not isinstance(inner, ast.FunctionDef) or not isinstance(outer, ast.FunctionDef):
            raise Unreachable(f"it is defined inside `{outer.name}`, which was not called")
        if not any(
            isinstance(node, ast.Return) and isinstance(node.value, ast.Name) and node.value.id == inner.name for node in ast.walk(outer)
        ):
            raise Unreachable(f"it is defined inside `{outer.name}`, which does not give it back, so it cannot be called from outside")
        function = self._static([node.name for node in chain[:-1]])
        if len(chain) != 2 or not isinstance(function, types.FunctionType):
            raise Unreachable(f"it is defined inside `{outer.name}`, which cannot be called from the top level of the module")
        maker = Made(outer.name, self._builder.arguments(function))
        return Target((Made(arguments=self._builder.arguments(None, inner), of=maker),), functions=(function,))

    def _of_expression(self) -> Target:
        """`torch.compile(Net(8))` or `torch.compile(model)` in a function or block that was not run."""
        node = _parsed(self._guess.name)
        chain = _chain(self._tree, self._guess.mark.line)
        found = next(self._meanings(node, chain), None) if node is not None else None
        if found is None:
            raise Unreachable(f"`{self._guess.name}` is known only where it is compiled, in a part of the file that no run came to")
        made, cls, method = found
        function = getattr(cls, method or "forward", None) or cls.__call__
        arguments = self._builder.arguments(function, bound=True)
        calls = [Made(arguments=arguments, of=made, behind=f".{method}" if method else "")]
        return Target(tuple(calls), wrapped=True, functions=(function,))

    def _meanings(self, node: ast.expr, chain: list[Any]) -> Iterator[tuple[Value, type, str]]:
        """What an expression may be: an instance of a class, with the name of its method where it is one."""
        node = _without_moves(node)
        if isinstance(node, ast.Call):
            cls = self._static(ast.unparse(node.func).split("."))
            if isinstance(cls, type):
                written = [Text(ast.unparse(node))] if self._builder.is_closed(node) else []
                yield from ((made, cls, "") for made in (*written, *self._instances(cls)))
            elif isinstance(cls, types.FunctionType) and self._builder.is_closed(node):
                yield from self._made_by(cls, node)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            wanted = ast.unparse(node)
            for value in _assigned(self._tree, chain, wanted, self._guess.mark.line):
                yield from self._meanings(value, chain)
            if isinstance(node, ast.Attribute):
                yield from ((made, cls, node.attr) for made, cls, method in self._meanings(node.value, chain) if not method)

    def _made_by(self, function: types.FunctionType, node: ast.Call) -> Iterator[tuple[Value, type, str]]:
        """`build_model()`: what a function of the module gives back."""
        made = function.__annotations__.get("return")
        if isinstance(made, type):
            yield Text(ast.unparse(node)), made, ""


def _is_called(owner: type, name: str) -> bool:
    """Whether a call of an instance runs a method: a module's `forward`, anything's `__call__`."""
    return name == "__call__" or issubclass(owner, torch.nn.Module)


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _without_moves(node: ast.expr) -> ast.expr:
    """`Net().to(device).eval()` without what does not change what it is."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
        node = node.func.value
    return node


def _chain(tree: ast.AST | None, line: int) -> list[Any]:
    """The definitions around a line, the outermost first."""
    chain: list[Any] = []
    while tree is not None:
        holding = (
            node
            for node in ast.walk(tree)
            if node is not tree
            and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            and _first(node) <= line <= (node.end_lineno or 0)
        )
        tree = next(holding, None)
        chain += [tree] if tree is not None else []
    return chain


def _first(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _assigned(tree: ast.AST | None, chain: list[Any], wanted: str, line: int) -> list[ast.expr]:
    """What a name, or an attribute such as `self.net`, is bound to in the definitions around a line, the nearest assignment first."""
    found: list[tuple[int, ast.expr]] = []
    for scope in [*chain[::-1], tree]:
        for node in ast.walk(scope) if scope is not None else ():
            if isinstance(node, ast.Assign) and any(ast.unparse(target) == wanted for target in node.targets):
                found.append((abs(node.lineno - line) + (10_000 if node.lineno >= line else 0), node.value))
    return [value for _, value in sorted(found, key=lambda pair: pair[0])][:4]


def arguments_of_wrap(guess: Guess) -> tuple[Argument, ...]:
    """The options of the `torch.compile` that a call has to make itself."""
    fullgraph = [Argument("fullgraph", Text("True"), "name")] if guess.fullgraph else []
    dynamic = [Argument("dynamic", Text(str(guess.dynamic)), "name")] if guess.dynamic is not None else []
    return (*fullgraph, *dynamic)
