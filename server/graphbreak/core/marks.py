"""Step 1: which functions and objects of a file are marked for compile, found without running anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache

from .comments import WORD, Directive, Ignore, read_comments
from .compilers import MarkOptions, Resolver, compiled_argument, with_keywords
from .examples import Example
from .outline import Outline, Site, outline
from .recovery import SyntaxProblem, parse
from .scopes import Definition
from .source import SourceFile, Span

__all__ = ["Directive", "Ignore", "Mark", "MarkForm", "MarkOptions", "Marks", "SyntaxProblem", "find_marks"]

_NAME_OF_DEFINITION = re.compile(r"(?:async\s+)?(?:def|class)\s+(\w+)")


class MarkForm(str, Enum):
    """How something is marked."""

    DECORATOR = "decorator"
    """`@torch.compile` above a function, method or class."""
    CALL = "call"
    """`torch.compile(f)`."""
    METHOD = "method"
    """`model.compile()`."""
    DIRECTIVE = "directive"
    """Only by an example call in a comment: the source itself does not compile it."""


@dataclass(frozen=True)
class Mark:
    """Something that is to be compiled.

    `span` is the decorator without its `@`, the whole call, or the first directive's expression. `name` is the qualified
    name without `<locals>.` of the definition where this file has it, else the text of the argument; `line` is the line of
    the `def` or `class` keyword, else that of the mark; `name_span` is the name there, else the argument.
    """

    form: MarkForm
    span: Span
    name: str
    line: int
    name_span: Span
    options: MarkOptions = field(default_factory=MarkOptions)
    directives: tuple[Directive, ...] = ()
    unmarked: bool = False

    @property
    def lines(self) -> range:
        """The 0-based lines that Python may name for the call that compiles it: for a decorator, before 3.11, that of the `def`."""
        last = max(self.span.end.line, self.line) if self.form is MarkForm.DECORATOR else self.span.end.line
        return range(self.span.start.line, last + 1)


@dataclass(frozen=True)
class Marks:
    """All that a file says about compiling. `stray` are the directives above nothing that could be run, or with an error."""

    marks: tuple[Mark, ...] = ()
    ignores: tuple[Ignore, ...] = ()
    stray: tuple[Directive, ...] = ()
    problem: SyntaxProblem | None = None


def find_marks(source: SourceFile, examples: Sequence[Example] = ()) -> Marks:
    """The marks of a file, in the order of their places; of the parts that parse, where it has syntax errors. Never raises.

    `examples` are the example calls that its project has for it, which count as comments above their functions do.
    """
    if "compile" not in source.text and WORD not in source.text and not examples:
        return Marks()
    return _found(source, tuple(examples))


@lru_cache(maxsize=32)
def _found(source: SourceFile, examples: tuple[Example, ...]) -> Marks:
    """Kept, since one text is asked about again and again: by each request of the editor, and by each step of an analysis."""
    parsed = parse(source)
    comments = read_comments(source)
    reader = _Reader(parsed.source, outline(parsed.tree))
    found = [*reader.decorated(), *reader.called()]
    directives = [*comments.directives, *map(reader.directive, examples)]
    subjects = reader.subjects({directive.target_line for directive in directives}, found)
    marks, stray = _attach(found, subjects, directives)
    return Marks(marks, comments.ignores, stray, parsed.problem)


@dataclass(frozen=True, eq=False)
class _Found:
    """A mark with what a directive has to know to belong to it: the line of its statement and the definition it is for."""

    mark: Mark
    line: int
    definition: Definition | None = None


def _attach(
    found: Sequence[_Found], subjects: dict[int, list[_Found]], directives: Sequence[Directive]
) -> tuple[tuple[Mark, ...], tuple[Directive, ...]]:
    """The marks with their directives, those included that only a directive makes, and the directives without a mark."""
    given: dict[_Found, list[Directive]] = {}
    stray: list[Directive] = []
    for directive in directives:
        subject = subjects.get(directive.target_line)
        if directive.error or not subject:
            stray.append(directive)
            continue
        for one in subject:
            given.setdefault(one, []).append(directive)
    marks = [_with_directives(one.mark, given.get(one, [])) for one in dict.fromkeys([*found, *given])]
    return tuple(sorted(marks, key=lambda mark: mark.span)), tuple(stray)


def _with_directives(mark: Mark, directives: Sequence[Directive]) -> Mark:
    own = [directive.span for directive in directives if not directive.file]
    span = own[0] if mark.unmarked and own else mark.span
    return replace(mark, span=span, directives=tuple(directives))


class _Reader:
    """Turns the outline of one file into marks."""

    def __init__(self, source: SourceFile, parts: Outline) -> None:
        self._source = source
        self._parts = parts
        self._resolver = Resolver(parts)

    def decorated(self) -> Iterator[_Found]:
        """The functions, methods and classes under a decorator that compiles."""
        for definition in self._parts.definitions.values():
            scope = definition.inner.parent
            if isinstance(definition.node, ast.Lambda) or scope is None:
                continue
            for decorator in definition.node.decorator_list:
                if compiler := self._resolver.compiler(decorator, scope):
                    yield self._of_definition(MarkForm.DECORATOR, definition, self._span(decorator), compiler.options)
                    break  # one mark for one function, however often it is compiled

    def called(self) -> Iterator[_Found]:
        """The calls that compile something."""
        for call, site in self._parts.calls:
            if compiler := self._resolver.compiler(call.func, site.scope):
                argument = compiled_argument(call)
                if argument is not None:
                    yield self._of_call(call, argument, with_keywords(compiler.options, call.keywords), site)
            elif isinstance(call.func, ast.Attribute) and self._resolver.is_module_compile(call, site.scope):
                options = with_keywords(MarkOptions(), call.keywords)
                yield self._of_object(MarkForm.METHOD, call, call.func.value, options, site)

    def subjects(self, lines: set[int], found: Sequence[_Found]) -> dict[int, list[_Found]]:
        """What a directive that speaks of one of the lines is for: marks of the source, or one of its own."""
        result: dict[int, list[_Found]] = {}
        for target, site in self._parts.assignments:
            if site.line in lines and isinstance(target, (ast.Name, ast.Attribute)):
                result[site.line] = [self._of_assignment(target, site)]
        of_definition: dict[Definition, list[_Found]] = {}
        on_line: dict[int, list[_Found]] = {}
        for one in found:
            on_line.setdefault(one.line, []).append(one)
            if one.definition:
                of_definition.setdefault(one.definition, []).append(one)
        result.update((line, on_line[line]) for line in lines & on_line.keys())
        for definition in self._parts.definitions.values():
            for line in lines.intersection(_head(definition)) if lines else ():
                result[line] = of_definition.get(definition) or [self._of_definition(MarkForm.DIRECTIVE, definition, None, MarkOptions())]
                of_definition[definition] = result[line]
        return result

    def directive(self, example: Example) -> Directive:
        """An example call of the project as if it stood above the function that it names."""
        defined = (definition.node.lineno - 1 for definition in self._parts.definitions.values() if definition.name == example.name)
        assigned = (site.line for target, site in self._parts.assignments if ast.unparse(target) == example.name)
        line = next((line for lines in (defined, assigned) for line in lines), -1)
        error = example.error or ("" if line >= 0 else f"There is no `{example.name}` in {example.path}.")
        return Directive(example.expression, example.span, line, error, example.file, example.utf8, example.recorded)

    def _of_definition(self, form: MarkForm, definition: Definition, span: Span | None, options: MarkOptions) -> _Found:
        line, name_span = self._defined_at(definition)
        unmarked = form is MarkForm.DIRECTIVE
        return _Found(Mark(form, span or name_span, definition.name, line, name_span, options, unmarked=unmarked), line, definition)

    def _of_call(self, call: ast.Call, argument: ast.expr, options: MarkOptions, site: Site) -> _Found:
        definition = self._resolver.definition(argument, site.scope)
        if definition is None:
            return self._of_object(MarkForm.CALL, call, argument, options, site)
        line, name_span = self._defined_at(definition)
        if isinstance(definition.node, ast.Lambda):
            name_span = self._span(argument)
        return _Found(Mark(MarkForm.CALL, self._span(call), definition.name, line, name_span, options), site.line, definition)

    def _of_object(self, form: MarkForm, call: ast.Call, argument: ast.expr, options: MarkOptions, site: Site) -> _Found:
        span, name_span = self._span(call), self._span(argument)
        return _Found(Mark(form, span, self._text(name_span), span.start.line, name_span, options), site.line)

    def _of_assignment(self, target: ast.Name | ast.Attribute, site: Site) -> _Found:
        span = self._span(target)
        name = site.scope.prefix + target.id if isinstance(target, ast.Name) else self._text(span)
        return _Found(Mark(MarkForm.DIRECTIVE, span, name, site.line, span, unmarked=True), site.line)

    def _defined_at(self, definition: Definition) -> tuple[int, Span]:
        """The line of a definition's keyword, and the name behind it."""
        span = self._span(definition.node)
        line = span.start.line
        name = _NAME_OF_DEFINITION.match(self._source.line(line), span.start.column)
        return line, Span.at(line, name.start(1), line, name.end(1)) if name else span

    def _span(self, node: ast.expr | ast.stmt) -> Span:
        start, end = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        column = self._source.column
        return Span.at(start, column(start, node.col_offset), end, column(end, node.end_col_offset or 0))

    def _text(self, span: Span) -> str:
        return " ".join(self._source.slice(span).split())


def _head(definition: Definition) -> range:
    """The lines of a definition from its first decorator to its keyword."""
    node = definition.node
    if isinstance(node, ast.Lambda):
        return range(0)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return range(first - 1, node.lineno)
