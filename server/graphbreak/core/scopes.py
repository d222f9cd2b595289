"""What the names of a file stand for: scopes, and what is bound in them where. Nothing here knows `torch.compile`."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter

Function = ast.FunctionDef | ast.AsyncFunctionDef
Place = tuple[int, int]
"""Line and column as `ast` counts them; only ever compared."""

END: Place = (1 << 60, 0)
_MOST_CANDIDATES = 8


class ScopeKind(Enum):
    """Class bodies and comprehensions run where they stand; functions run later. Class names are not seen from inside."""

    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"
    COMPREHENSION = "comprehension"


@dataclass(frozen=True)
class Imported:
    """Something another module has, by its dotted path. `module`: bound by `import x`, so surely a module or what is in one."""

    path: str
    module: bool

    @property
    def package(self) -> str:
        """The top-level package it comes from."""
        return self.path.partition(".")[0]


@dataclass(frozen=True, eq=False)
class Definition:
    """A function, class or lambda of this file. `name` is its qualified name without `<locals>.`."""

    name: str
    node: Function | ast.ClassDef | ast.Lambda
    inner: Scope


@dataclass(frozen=True)
class Instance:
    """An object of a class of this file."""

    of: Definition


@dataclass(frozen=True, eq=False)
class Assigned:
    """An expression that was given a name in some scope; what it stands for is found when somebody asks."""

    value: ast.expr
    scope: Scope


@dataclass(frozen=True, eq=False)
class Binding:
    """From `at` on a name stands for `value` (None: for something unknown), or may do so where the binding is conditional."""

    at: Place
    value: Imported | Definition | Instance | Assigned | None
    conditional: bool = False


@dataclass(eq=False)
class Scope:
    """The names of one module, class, function, lambda or comprehension. `prefix` is what goes before a name defined in it."""

    kind: ScopeKind
    prefix: str = ""
    parent: Scope | None = None
    owner: Definition | None = None
    """The class, in a class scope."""
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    outside: set[str] = field(default_factory=set)
    """The names declared `global` or `nonlocal`."""

    def bind(self, name: str, binding: Binding) -> None:
        """Add what a name stands for from some place on, in any order."""
        bisect.insort(self.bindings.setdefault(name, []), binding, key=attrgetter("at"))

    def reaching(self, name: str, at: Place) -> Iterator[Binding]:
        """The bindings of this scope that a name may have at a place, nearest first."""
        bindings = self.bindings.get(name, [])
        # A name that is bound only further down can still be met: in a loop, or in a file that is being written.
        last = bisect.bisect_left(bindings, at, key=attrgetter("at")) or len(bindings)
        for binding in reversed(bindings[max(0, last - _MOST_CANDIDATES) : last]):
            yield binding
            if not binding.conditional:
                return

    def lookup(self, name: str, at: Place) -> list[Binding] | None:
        """The bindings that a name used in this scope may have, nearest first; None when nothing binds it."""
        scope: Scope | None = self
        while scope:
            seen = scope is self or scope.kind is not ScopeKind.CLASS
            if seen and name in scope.bindings and name not in scope.outside:
                return list(scope.reaching(name, at))
            if scope.kind is ScopeKind.FUNCTION:
                at = END
            scope = scope.parent
        return None
