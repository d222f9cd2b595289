"""Which files do something when they are run, and which of them show what happens in another file: entries that nobody had to name."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from .imports import Import, ImportGraph, imports_in
from .marks import find_marks
from .nodes import tree_of
from .source import SourceFile

MOST = 3
"""How many entries are looked for in behalf of one file; a project that wants others names them."""

_MOST_READ = 100
_MAIN = "__main__"
_MAY_ACT = re.compile(r"^(?:(?:async )?(?:for|while|with|if|try)\b|[^\W\d][\w., \[\]]*(?:=[^=\n]*)?\()", re.MULTILINE)
_COMPILE = re.compile(r"(?<!\bre)\.compile\b|\bimport\b[^\n]*\bcompile\b|^\s+compile\b|graphbreak:", re.MULTILINE)
_NOT_PROGRAMS = frozenset({"setup.py", "conftest.py", "noxfile.py", "__init__.py"})
_TEST = re.compile(r"(?:test_.*|.*_test)\.py")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.AsyncFor, ast.AsyncWith)


@dataclass(frozen=True, eq=False)
class Program:
    """One file of the workspace, as much as is known without parsing it. `read` gives its text when more is asked."""

    path: str
    imports: tuple[Import, ...]
    may_act: bool
    mentions_compile: bool
    read: Callable[[], str | None]

    @cached_property
    def is_test(self) -> bool:
        """Whether pytest would take it for tests."""
        return _TEST.fullmatch(self.path.rpartition("/")[2]) is not None

    @cached_property
    def compiles(self) -> bool:
        """Whether anything is marked in it."""
        text = self.read() if self.mentions_compile else None
        return text is not None and bool(find_marks(SourceFile(self.path, text)).marks)

    @cached_property
    def has_main(self) -> bool:
        """Whether it has a `__main__` block."""
        return self._reads_as(has_main_block)

    @cached_property
    def acts(self) -> bool:
        """Whether it does something when it is run, beyond defining what others use."""
        return self._reads_as(acts_when_run)

    def _reads_as(self, what: Callable[[SourceFile], bool]) -> bool:
        if not self.may_act or self.is_test or self.path.rpartition("/")[2] in _NOT_PROGRAMS:
            return False
        text = self.read()
        return text is not None and what(SourceFile(self.path, text))


def program_of(path: str, text: str, read: Callable[[], str | None]) -> Program:
    """What the text of a file shows at a glance."""
    may_act = _MAIN in text or _MAY_ACT.search(text) is not None
    return Program(path, imports_in(text), may_act, "torch" in text and _COMPILE.search(text) is not None, read)


def has_main_block(source: SourceFile) -> bool:
    """Whether a file says what is to be done when it is run."""
    tree = tree_of(source) if _MAIN in source.text else None
    return tree is not None and any(map(_is_main_block, tree.body))


def acts_when_run(source: SourceFile) -> bool:
    """Whether a file has a `__main__` block, or its top level calls something of its own: what it defined, made, or took from its like."""
    tree = tree_of(source)
    if tree is None:
        return False
    own, made = _own_names(tree.body)
    # `logger = logging.get_logger()` prepares a module, whoever's `logging` that is; `loss = net(x)` runs something.
    acting = (_calls(node, made if isinstance(node, (ast.Assign, ast.AnnAssign)) else own) for node in _top_level(tree.body))
    return any(map(_is_main_block, tree.body)) or any(acting)


def is_test_file(path: str, source: SourceFile) -> bool:
    """Whether a file is for pytest to run: it is called as tests are, has some, and does nothing by itself."""
    if _TEST.fullmatch(path.replace("\\", "/").rpartition("/")[2]) is None or tree_of(source) is None or acts_when_run(source):
        return False
    return next(defined_tests(source), None) is not None


def defined_tests(source: SourceFile) -> Iterator[tuple[str, range]]:
    """The tests that a file defines, by their ids in it, each with its 0-based lines."""
    tree = tree_of(source)
    for node in tree.body if tree is not None else ():
        if isinstance(node, _FUNCTIONS) and node.name.startswith("test"):
            yield node.name, _lines(node)
        elif isinstance(node, ast.ClassDef) and (node.name.startswith("Test") or any(map(_is_test_case, node.bases))):
            for method in node.body:
                if isinstance(method, _FUNCTIONS) and method.name.startswith("test"):
                    yield f"{node.name}::{method.name}", _lines(method)


def _is_test_case(base: ast.expr) -> bool:
    """Whether a class is one of unittest's, by the name of what it is made from."""
    return ast.unparse(base).rpartition(".")[2].endswith("TestCase")


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> range:
    return range(min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1, node.end_lineno or node.lineno)


def _is_main_block(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(isinstance(part, ast.Constant) and part.value == _MAIN for part in ast.walk(node.test))


def _top_level(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run with the module, those in its blocks included."""
    for node in body:
        if isinstance(node, _BLOCKS):
            yield from _top_level([part for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt)])
        elif not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield node


def _own_names(body: Sequence[ast.stmt]) -> tuple[set[str], set[str]]:
    """The names of the top level that stand for the program's own things, and those of them that calls gave.

    Its own are functions, what calls gave, and what is neither torch's nor Python's, as loggers and parsers of arguments are.
    """
    names = {node.name for node in body if isinstance(node, _FUNCTIONS)}
    made: set[str] = set()
    foreign: set[str] = set()
    for node in _top_level(body):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name, package in _imported(node):
                if package in sys.stdlib_module_names:
                    foreign.add(name)
                elif package != "torch":
                    names.add(name)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _root(node.value) not in foreign:
            made |= {part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return names | made, made


def _imported(node: ast.Import | ast.ImportFrom) -> list[tuple[str, str]]:
    """The names that an import binds, each with the top-level package it comes from."""
    if isinstance(node, ast.ImportFrom):
        return [(alias.asname or alias.name, "" if node.level else (node.module or "").partition(".")[0]) for alias in node.names]
    return [(alias.asname or alias.name.partition(".")[0], alias.name.partition(".")[0]) for alias in node.names]


def _root(node: ast.expr) -> str:
    """The name that an expression such as `a.b(1)[2].c` begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _calls(node: ast.stmt, names: set[str]) -> bool:
    """Whether a statement calls one of some objects, or a method of one."""
    return any(isinstance(part, ast.Call) and _root(part) in names for part in ast.walk(node))


def found_entries(path: str, programs: dict[str, Program], graph: ImportGraph) -> list[str]:
    """The files that run, come by a file when they do, and compile something on the way: at most `MOST`, the most likely ones first."""
    importers = [(programs[other], distance) for other, distance in graph.reaching(path).items() if other != path and other in programs]
    importers.sort(key=lambda one: (not one[0].mentions_compile, one[1], one[0].path))
    scripts = _first(
        other.path for other, _ in importers if _is_program(other, programs, graph) and _compiles_on_its_way(other.path, programs, graph)
    )
    return scripts or _first(other.path for other, _ in importers if other.is_test and other.compiles)


def _is_program(file: Program, programs: dict[str, Program], graph: ImportGraph) -> bool:
    """Whether a file is one to run: it says so, or it acts and nothing imports it, as a module with something at its top level is."""
    used = (programs[other] for other in graph.importers_of(file.path) if other in programs)
    return file.acts if all(other.is_test for other in used) else file.has_main


def _compiles_on_its_way(path: str, programs: dict[str, Program], graph: ImportGraph) -> bool:
    near = sorted(graph.reached_from(path).items(), key=lambda item: item[1])
    mentioning = [programs[other] for other, _ in near if other in programs and programs[other].mentions_compile]
    return any(program.compiles for program in mentioning[:_MOST_READ])


def _first(paths: Iterator[str]) -> list[str]:
    return [path for path, _ in zip(paths, range(MOST))]
