"""From a line, with or without columns, to the expression that was meant."""

from __future__ import annotations

import pytest

from graphbreak.core.places import definition_at, definition_line, in_loop, name_span, span_of
from graphbreak.core.source import SourceFile, Span
from graphbreak.worker.protocol import Place

PRINT = "Failed to trace builtin operator Dynamo does not know how to trace builtin operator `print` with argument types ['str']"
BRANCH = "Data-dependent branching Detected data-dependent branching"
ITEM = "Unsupported Tensor.item() call with capture_scalar_outputs=False Dynamo does not support tracing `Tensor.item()`"


def source_of(text: str) -> SourceFile:
    return SourceFile("/w/a.py", text)


def utf8(line: str, column: int) -> int:
    return len(line[:column].encode())


def covered(text: str, place: Place, wanted: str = "") -> str:
    source = source_of(text)
    return source.slice(span_of(source, place, wanted))


def at(line: int, column: int | None = None, end_column: int | None = None, end_line: int | None = None) -> Place:
    return Place("/w/a.py", line, "f", end_line, column, end_column)


@pytest.mark.parametrize(
    ("line", "expression"),
    [
        ('    print("mid")', 'print("mid")'),
        ('\t\tprint("tab")', 'print("tab")'),
        ("    s = '🎉é'; print(s)", "print(s)"),
        ("    漢 = x.sum().item()", "x.sum().item()"),
        ("    a = x.item(); b = x.item()", "x.item()"),
    ],
)
def test_columns_are_bytes_and_give_the_exact_expression(line: str, expression: str) -> None:
    start = line.rindex(expression)
    begin, end = utf8(line, start), utf8(line, start + len(expression))
    for end_line in (2, None):
        place = at(2, begin, end, end_line)
        source = source_of(f"def f(x):\n{line}\n")
        assert span_of(source, place) == Span.at(1, start, 1, start + len(expression))


MANY_LINES = """\
def f(x):
    y = print(
        "é",
        x,
    ) or g(
            x)
    return y
"""


@pytest.mark.parametrize(
    ("place", "expression"),
    [
        (at(2, 8, 5, 5), 'print(\n        "é",\n        x,\n    )'),
        (at(2, 8, 5), 'print(\n        "é",\n        x,\n    )'),  # a FrameSummary has no end line
        (at(2, 8, 14), 'print(\n        "é",\n        x,\n    ) or g(\n            x)'),
        (at(5, 9, 14), "g(\n            x)"),
        (at(2, 8, 11), "pri"),  # fits nothing: the columns are taken as they are
    ],
)
def test_an_expression_over_several_lines(place: Place, expression: str) -> None:
    assert covered(MANY_LINES, place) == expression


@pytest.mark.parametrize(
    ("line", "wanted", "expression"),
    [
        ('print("a")', PRINT, 'print("a")'),
        ('\ty = x * 2; print("a")', PRINT, 'print("a")'),
        ('漢 = "🎉"; print("a")', PRINT, 'print("a")'),
        ('y = x * 2; builtins.print("a")', PRINT, 'builtins.print("a")'),
        ("y = x.sum().item() + 1", ITEM, "x.sum().item()"),
        ("y = x.item() + z.item()", ITEM, "y = x.item() + z.item()"),  # two fit: the statement
        ('print("a"), print("b")', PRINT, 'print("a"), print("b")'),
        ("y = sprint(x)", PRINT, "y = sprint(x)"),
        ("y = x * 2  # print", PRINT, "y = x * 2"),
        ("if y.sum() > 0: y = 1", BRANCH, "y.sum() > 0"),
        ("while y.sum() > 0: y = 1", BRANCH, "y.sum() > 0"),
        ("assert y.sum() > 0, 'no'", BRANCH, "y.sum() > 0"),
        ("y = 1 if y.sum() > 0 else 2", BRANCH, "y.sum() > 0"),
        ("y = (1 if a else 2) if b else 3", BRANCH, "y = (1 if a else 2) if b else 3"),
        ("y = bool(x)", BRANCH, "y = bool(x)"),
        ("for i in x: pass", "", "for i in x: pass"),
        ("x.append(1)", "", "x.append(1)"),
    ],
)
def test_without_columns_the_reason_says_which_expression(line: str, wanted: str, expression: str) -> None:
    indent = "" if line.startswith("\t") else "    "
    assert covered(f"def f(x):\n{indent}{line}\n", at(2), wanted) == expression


def test_without_columns_a_compound_statement_is_only_its_head() -> None:
    text = "def f(x):\n    with open(x) as file:\n        pass\n    for i in range(3):\n        print(i)\n"
    assert covered(text, at(2)) == "with open(x) as file:"
    assert covered(text, at(4)) == "for i in range(3):"


@pytest.mark.parametrize(
    ("head", "expression"),
    [
        ("if not x.sum():", "x.sum()"),
        ("if x.sum() > 0:", "x.sum() > 0"),
        ("while x.any():", "x.any()"),
        ("for _ in x.tolist():", "x.tolist()"),
        ("with open(x) as file:", "open(x)"),
    ],
)
def test_a_whole_statement_is_narrowed_to_what_its_head_asks(head: str, expression: str) -> None:
    text = f"def f(x):\n    {head}\n        x = x + 1\n        x = x * 2\n    return x\n"
    assert covered(text, at(2, 4, 17, 4)) == expression


def test_a_conditional_expression_is_narrowed_to_its_condition() -> None:
    assert covered("def f(x):\n    y = 1 if not x.any() else 2\n", at(2, 8, 31, 2)) == "x.any()"


def test_a_simple_statement_over_several_lines_is_shown_whole() -> None:
    assert covered("def f(x):\n    y = foo(\n        x,\n    )\n", at(3)) == "y = foo(\n        x,\n    )"


@pytest.mark.parametrize("text", ["def f(:\n    print(1)  \n", "x = (\n    print(1)\n"])
def test_a_file_that_does_not_parse_gives_its_line(text: str) -> None:
    assert covered(text, at(2), PRINT) == "print(1)"


def test_a_line_that_is_not_there_and_a_file_that_is_not_there() -> None:
    assert span_of(source_of("x = 1\n"), at(40)) == Span.at(39, 0, 39, 0)
    assert span_of(None, at(40, 3, 5, 40)) == Span.at(39, 0, 39, 0)


DEFINITIONS = """\
class Net:
    @decorator(
        1)
    async def forward(self):
        def step():
            print(1)
        return step

    def backward(self): pass

def forward(x):
    return x
"""


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("Net.forward", 1, 3),  # a code object's first line is that of its first decorator
        ("Net.forward", 6, 3),
        ("forward", 11, 10),
        ("Net.forward.step", 5, 4),
        ("Net", 5, 0),
        ("backward", 8, 8),
        ("nothing", 5, 77),
        ("step", 9, 77),
    ],
)
def test_the_definition_that_holds_a_line(name: str, line: int, expected: int) -> None:
    assert definition_line(source_of(DEFINITIONS), name, line, 77) == expected


def test_no_definition_without_a_source() -> None:
    assert definition_at(None, "f", 0) is None


@pytest.mark.parametrize(
    ("line", "name", "expected"),
    [
        ("def defer(x):", "defer", Span.at(0, 4, 0, 9)),
        ("    async def f(x):", "Net.f", Span.at(0, 14, 0, 15)),
        ("class Net:", "Net", Span.at(0, 6, 0, 9)),
        ("x = lambda: 1", "<lambda>", Span.at(0, 0, 0, 13)),
    ],
)
def test_where_a_name_is_written(line: str, name: str, expected: Span) -> None:
    assert name_span(source_of(line), 0, name) == expected


LOOPS = """\
for i in first(): body()
while test():
    inside()
    def f(): nested()
    for j in again():
        deep()
else:
    after()
for k in x:
    pass
else: last()
def g():
    for m in head(): y = [comp() for n in x]
    return outside()
async def h():
    async for p in source(): awaited()
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("first()", False),
        ("body()", True),
        ("test()", True),
        ("inside()", True),
        ("nested()", False),  # a function of its own
        ("again()", True),
        ("deep()", True),
        ("after()", False),
        ("last()", False),
        ("head()", False),
        ("comp()", True),
        ("outside()", False),
        ("source()", False),
        ("awaited()", True),
    ],
)
def test_what_runs_once_per_turn_of_a_loop(call: str, expected: bool) -> None:
    source = source_of(LOOPS)
    start = LOOPS.index(call)
    assert in_loop(source, Span(source.position(start), source.position(start + len(call)))) is expected


def test_nothing_is_in_a_loop_without_a_source() -> None:
    assert not in_loop(None, Span.at(0, 0, 0, 1))
    assert not in_loop(source_of("for x in (:\n  y()"), Span.at(1, 2, 1, 5))
