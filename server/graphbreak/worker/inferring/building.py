"""The first proposals for a call: a value for each parameter that needs one, instances of classes included."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
import re
import types
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from . import names
from .annotations import Annotations, module, singular, tensor_named
from .reading import FunctionNode, Uses, documented_shapes, node_of, parameters, uses_of
from .sizes import size_of_letter
from .values import Argument, Group, Made, Mapped, Tensor, Text, Value

_DEEPEST = 4
_MODULE_METHODS = {"parameters", "named_parameters", "train", "eval", "zero_grad", "state_dict", "modules", "named_modules", "buffers"}
_STATES = re.compile(r"^(state|states|hidden|hx|h0?|hc|carry|memory|hidden_state)$")
_MODELS = re.compile(
    r"model|net(work)?$|module|critic|actor|policy|teacher|student|encoder|decoder|discriminator|generator|backbone|layer$|^(f|fn|func)$"
)
_QUERIES = ("q", "query", "queries", "xq")
_KEYS = ("key", "value", "keys", "values", "k", "v")
_OPTIMIZERS = re.compile(r"^opt(im(izer)?)?s?$|_opt(im(izer)?)?$")


class Builder:
    """Makes values in the names of one module; `tree` is its syntax tree."""

    def __init__(self, namespace: Mapping[str, Any], tree: ast.Module | None) -> None:
        self.namespace, self._tree = namespace, tree
        self._annotations = Annotations(namespace, self.instance)
        self._depth = 0

    def arguments(self, function: Any, node: FunctionNode | None = None, bound: bool = False) -> tuple[Argument, ...]:
        """The arguments that a function needs. `node` is its definition where there is none yet; `bound` leaves the first one out."""
        plain = inspect.unwrap(function) if callable(function) else None
        plain = plain.__func__ if isinstance(plain, types.MethodType) else plain
        while isinstance(plain, functools.partial):
            plain = plain.func
        node = node or (node_of(plain.__code__) if isinstance(plain, types.FunctionType) else None)
        if node is None:
            return tuple(self._from_signature(function))
        given = _given_by_partial(function)
        file = plain.__code__.co_filename if isinstance(plain, types.FunctionType) else str(self.namespace.get("__file__", ""))
        return tuple(argument for argument in self._from_source(node, file, bound) if argument.name not in given)

    def _from_source(self, node: FunctionNode, file: str, bound: bool) -> Iterator[Argument]:
        every = list(parameters(node))[1 if bound else 0 :]
        uses = uses_of(node)
        shapes = documented_shapes(node, [parameter.arg for parameter, _, _ in every], file)
        constructs = isinstance(node, ast.FunctionDef) and node.name in ("__init__", "__new__")
        for parameter, default, how in every:
            if how in ("*", "**") or (default is not None and not _may_be_needed(default, parameter.annotation)):
                continue
            name = parameter.arg
            use = uses[name]
            use.attends = any(other.arg in _QUERIES for other, _, _ in every)
            value = self._value(name, parameter.annotation, use, constructs)
            if isinstance(default, ast.Constant) and default.value is not None:
                value = names.whole(name)
            how = "name" if how == "either" and default is not None else how
            yield Argument(name, _shaped(value, shapes.get(name), uses[name]), how, left_out=default is not None)

    def _value(self, name: str, annotation: ast.expr | None, use: Uses, constructs: bool) -> Value:
        known = self._annotations.value(annotation, name, use.keys) if annotation is not None else None
        if known is None or known == Text("None"):
            return self.by_use(name, use, constructs)
        if isinstance(known, Text) and use.texts and known.text[:1] in "\"'":
            return Text(repr(use.texts[0]))
        return known

    def by_use(self, name: str, use: Uses, constructs: bool = False) -> Value:
        """A value for a parameter without a useful annotation."""
        foreign = {attribute for attribute in use.attributes if not hasattr(torch.Tensor, attribute)}
        if use.texts:
            return Text(repr(use.texts[0]))
        if use.keys:
            return Mapped(tuple((key, self.by_use(key, Uses())) for key in dict.fromkeys(use.keys)))
        if _OPTIMIZERS.search(name) and (foreign & {"step", "zero_grad"} or not use.attributes):
            return Text("torch.optim.SGD(torch.nn.Linear(16, 16).parameters(), lr=0.01)")
        if name in ("shape", "size") and not use.attributes:
            return Group((names.whole("batch"), names.whole("dim")), "()")
        if use.called is not None or use.attributes & _MODULE_METHODS:
            return self._callable(name, use)
        if foreign and not use.computed:
            return self._object(name, use, foreign)
        if use.iterated and not use.attributes and not use.computed and (use.elements_called or use.pairs or _several(name)):
            return self._list(name, use, constructs)
        scalar = names.scalar(name)
        if use.counts or (constructs and scalar is None and not use.attributes):
            return names.whole(name)
        if scalar is not None and not use.attributes and not (use.index and names.tensor(name)):
            return scalar
        if use.tested and not (use.attributes or use.computed or use.calls):
            return Text("True")
        if use.unpacked is not None and use.unpacked <= 4:
            return Group((Tensor(("batch", "dim")),) * use.unpacked, "()")
        return _tensor(name, use)

    def _callable(self, name: str, use: Uses) -> Value:
        several = use.called is not None and use.called > 1  # the module that stands in for a model takes one argument
        if use.attributes & _MODULE_METHODS or (_MODELS.search(name) and not several):
            return module()
        return Text("lambda *args, **kwargs: args[0]" if several else "lambda *args: args[0]")

    def _object(self, name: str, use: Uses, foreign: set[str]) -> Value:
        """Something with attributes: an instance of the module's own class that has them, or a bare namespace."""
        for cls in list(self.namespace.values()):
            if isinstance(cls, type) and cls.__module__ == self.namespace.get("__name__") and _is_called_like(cls, name):
                made = self.instance(cls)
                if made is not None:
                    return made
        return namespace_with({attribute: self.by_use(attribute, Uses(), True) for attribute in sorted(use.attributes)})

    def _list(self, name: str, use: Uses, constructs: bool) -> Value:
        one = singular(name)
        if use.elements_called:
            item = self._callable("model", Uses(called=1))
        elif constructs:
            item = names.whole(one)
        else:
            item = self.by_use(one, Uses())
        if use.pairs:
            item = Group((item,) * use.pairs, "()")
        return Group((item, item))

    # Classes

    def instance(self, cls: type) -> Value | None:
        """An instance of a class: one that the module has, or one to be made; None for one that no name leads to."""
        existing = self.existing(cls)
        if existing is not None:
            return existing
        self._depth += 1
        try:
            return next(self.instances(cls), None) if self._depth <= _DEEPEST else None
        finally:
            self._depth -= 1

    def existing(self, cls: type) -> Value | None:
        """An instance that the module has bound to a name."""
        for name, value in self.namespace.items():
            if type(value) is cls and not name.startswith("__") and not isinstance(value, enum.Enum):
                return Text(name)
        return None

    def instances(self, cls: type) -> Iterator[Value]:
        """The ways to make an instance, the most promising first."""
        path = self.path_of(cls)
        if path is None:
            return
        if issubclass(cls, enum.Enum):
            yield from (Text(f"{path}.{member.name}") for member in list(cls)[:1])
            return
        if inspect.isabstract(cls) or getattr(cls, "_is_protocol", False):
            for other in list(self.namespace.values()):
                if isinstance(other, type) and other is not cls and issubclass(other, cls) and not inspect.isabstract(other):
                    yield from self.instances(other)
            return
        yield from self._written_calls(cls, path)
        made = self._made(cls, path)
        if made is not None:
            yield made

    def _made(self, cls: type, path: str) -> Value | None:
        if dataclasses.is_dataclass(cls):
            needed = [
                (field.name, field.type)
                for field in dataclasses.fields(cls)
                if field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            ]
            large = [field.name for field in dataclasses.fields(cls) if field.init and type(field.default) is int and field.default > 8]
            arguments = [Argument(name, self._of_field(name, kind), "either") for name, kind in needed]
            return Made(path, (*arguments, *(Argument(name, names.whole(name), "name", left_out=True) for name in large)))
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            hints, defaults = getattr(cls, "__annotations__", {}), getattr(cls, "_field_defaults", {})
            return Made(path, tuple(Argument(name, self._of_field(name, hints.get(name))) for name in cls._fields if name not in defaults))
        if issubclass(cls, dict) and hasattr(cls, "__total__"):
            return Mapped(tuple((name, self._of_field(name, kind)) for name, kind in cls.__annotations__.items()))
        for method in ("__init__", "__new__"):
            function = inspect.getattr_static(cls, method, None)
            function = function.__func__ if isinstance(function, staticmethod) else function
            if isinstance(function, types.FunctionType) and function.__module__ != "typing":
                return Made(path, self.arguments(function, bound=True))
        return Made(path)

    def _of_field(self, name: str, kind: Any) -> Value:
        text = kind if isinstance(kind, str) else getattr(kind, "__forward_arg__", None) or _type_text(kind)
        try:
            node: ast.expr | None = ast.parse(text, mode="eval").body
        except SyntaxError:
            node = None
        known = self.instance(kind) if isinstance(kind, type) and kind.__module__ == self.namespace.get("__name__") else None
        return known or self._value(name, node, Uses(), False)

    def _written_calls(self, cls: type, path: str) -> Iterator[Value]:
        """The calls of a class that the file makes anywhere with arguments that mean the same at its top level."""
        for node in ast.walk(self._tree) if self._tree is not None else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == path and self.is_closed(node):
                yield Text(ast.unparse(node))

    def is_closed(self, node: ast.expr) -> bool:
        """Whether an expression has nothing in it but what the module's top level knows."""
        inner = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        builtin = self.namespace.get("__builtins__")
        known = builtin if isinstance(builtin, dict) else vars(builtin) if builtin is not None else {}
        return all(part.id in self.namespace or part.id in known for part in inner) and not any(
            isinstance(part, (ast.Await, ast.NamedExpr, ast.Starred, ast.Lambda, ast.comprehension)) for part in ast.walk(node)
        )

    def path_of(self, value: Any) -> str | None:
        """The dotted name by which the module reaches an object."""
        qualified = getattr(value, "__qualname__", "")
        first, *rest = qualified.split(".")
        found: Any = self.namespace.get(first)
        for name in rest:
            found = getattr(found, name, None)
        if qualified and found is value:
            return qualified
        for name, other in self.namespace.items():
            if other is value:
                return name
        for name, other in self.namespace.items():
            if isinstance(other, types.ModuleType) and not name.startswith("__") and getattr(other, first, None) is value:
                return f"{name}.{first}"
        return None

    def _from_signature(self, function: Any) -> Iterator[Argument]:
        """For a function without source."""
        try:
            every = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return
        for parameter in every:
            if parameter.default is parameter.empty and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                how = {"POSITIONAL_ONLY": "place", "KEYWORD_ONLY": "name"}.get(parameter.kind.name, "either")
                yield Argument(parameter.name, self.by_use(parameter.name, Uses()), how)


def _may_be_needed(default: ast.expr, annotation: ast.expr | None) -> bool:
    """Whether a default may have to be replaced: None, where a call needs something there, and numbers that make a model large."""
    if not isinstance(default, ast.Constant):
        return False
    return default.value is None or (type(default.value) is int and default.value > 8)


def namespace_with(attributes: Mapping[str, Value]) -> Made:
    """A bare object with attributes."""
    arguments = tuple(Argument(name, value, "name") for name, value in attributes.items())
    return Made('__import__("types").SimpleNamespace', arguments, open=True)


def _tensor(name: str, use: Uses) -> Tensor:
    """A tensor for a parameter, as its name and its uses suggest."""
    usual = names.tensor(name) if use.attends or name not in _KEYS else Tensor(("batch",))
    if use.mask:
        return Tensor(usual.dims if usual else names.shape_of_rank(2), "bool")
    if use.index and (usual is None or usual.kind == "float"):
        return Tensor(("batch", "seq") if use.calls else ("batch",), "long", "classes")
    return usual or tensor_named(name, "float")


def _shaped(value: Value, shape: tuple[Any, ...] | None, use: Uses) -> Value:
    """A tensor with the shape that the documentation tells, or at least with the rank that the body needs."""
    if not isinstance(value, Tensor) or value.sure:
        return value
    if shape is not None and (use.rank is None or use.rank == len(shape)):
        dims = tuple(
            size_of_letter(dim) if isinstance(dim, str) and dim.isidentifier() else dim if isinstance(dim, int) else "dim" for dim in shape
        )
        return dataclasses.replace(value, dims=dims, sure=True)
    rank = use.rank if use.rank is not None else max(use.least, len(value.dims))
    if rank == len(value.dims):
        return value
    dims = value.dims[1:] if rank == len(value.dims) - 1 and value.dims[0] == "batch" and rank > 2 else names.shape_of_rank(rank)
    return dataclasses.replace(value, dims=dims, sure=use.rank is not None)


def _several(name: str) -> bool:
    return bool(re.search(r"(s|_list|es)$", name)) and names.tensor(name) is None


def _is_called_like(cls: type, name: str) -> bool:
    """Whether a class is the one that a parameter is named after: `config` and `DecodeConfig`, `sde` and `VPSDE`."""
    plain, last = cls.__name__.lower(), name.lower().replace("_", "")
    last = {"cfg": "config", "conf": "config", "hparams": "config", "opts": "options", "args": "args"}.get(last, last)
    return plain.endswith(last) or (last in ("config", "args") and plain.endswith(("config", "args", "params", "cfg")))


def _given_by_partial(function: Any) -> set[str]:
    given: set[str] = set()
    while hasattr(function, "func") and hasattr(function, "keywords"):
        placed = list(inspect.signature(function.func).parameters)[: len(function.args)]
        given |= {*function.keywords, *placed}
        function = function.func
    return given


def _type_text(kind: Any) -> str:
    return kind.__qualname__ if isinstance(kind, type) and not getattr(kind, "__args__", None) else str(kind).replace("typing.", "")
