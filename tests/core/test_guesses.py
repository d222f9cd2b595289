"""Without columns: the expression that PyTorch's words, or the function that is called, single out; the statement where they do not."""

from __future__ import annotations

import pytest

from graphbreak.core.places import span_of
from graphbreak.core.source import SourceFile
from graphbreak.worker.protocol import Place

ITEM = "Unsupported Tensor.item() call\ncall_method TensorVariable() item () {}"
BRANCH = "Data-dependent branching\nattempted to jump with TensorVariable()"
COMPARED = BRANCH + " computed as follows: gt_1 = gt(sum_1, 0)"
MASK = "Encountered graph break when attempting to trace BINARY_SUBSCR: a binary subscript, e.g. x[attr]:\nDynamic shape operator"
NONZERO = (
    "Encountered graph break when attempting to trace CALL_FUNCTION: a call:\nDynamic shape operator\nOperator `aten.nonzero.default`'s"
)
SKIPPED = "Attempted to call function marked as skipped\nmodule: time, qualname: perf_counter, skip reason: none"
DISABLED = "Skip calling `torch.compiler.disable()`d function\n<function note at 0x7f97600c83a0>"
LOGGED = "logging.Logger method not supported\nmethod: <Logger a (WARNING)>.warning, args: []"
CONTEXT = "Unsupported context manager\nAttempted SETUP_WITH/BEFORE_WITH/LOAD_SPECIAL on UserDefinedObjectVariable(lock)"
MATMUL = "Failed to trace builtin operator\nDynamo does not know how to trace builtin operator `matmul` with argument types ['A', 'int']"
A_CALL = "Encountered graph break when attempting to trace CALL_FUNCTION: a call to a regular function, e.g. f(x, y):\nSomething new"


def covered(line: str, *, says: str = "", callee: str = "", function: str = "f") -> str:
    source = SourceFile("/w/a.py", f"def f(x):\n    {line}\n")
    return source.slice(span_of(source, Place("/w/a.py", 2, function), says, callee))


@pytest.mark.parametrize(
    ("line", "says", "expression"),
    [
        ("y = float(x.sum()) + 1", ITEM, "float(x.sum())"),
        ("y = range(int(x.item()))", ITEM, "x.item()"),
        ("y = float(x.shape[0]) * x.item()", ITEM, "x.item()"),
        ("y = float(x) * x.item()", ITEM, "y = float(x) * x.item()"),
        ("y = x[:n]", ITEM, "y = x[:n]"),
        ("if not x.all(): pass", BRANCH, "x.all()"),
        ("if x.all() and x.shape[0] == 4: pass", BRANCH, "x.all()"),
        ("if x is not None and x.ndim > 1 or x.any(): pass", BRANCH, "x.any()"),
        ("y = x.any() or x", BRANCH, "x.any()"),
        ("if x.all() and y.all(): pass", BRANCH, "if x.all() and y.all(): pass"),
        ("if x.all() and y > 0: pass", COMPARED, "y > 0"),
        ("y = [v for v in x if v > 0]", COMPARED, "v > 0"),
        ("y = any(v > 0 for v in x)", COMPARED, "y = any(v > 0 for v in x)"),  # what the generator asks is not this function's code
        ("y = x[x > 0] + z[0]", MASK, "x[x > 0]"),
        ("y = x[x > 0] + z[x > 1]", MASK, "y = x[x > 0] + z[x > 1]"),
        ("y = torch.nonzero(x)[n]", NONZERO, "torch.nonzero(x)"),
        ("y = g(time.perf_counter())", SKIPPED, "time.perf_counter()"),
        ("y = g(note(x))", DISABLED, "note(x)"),
        ("LOGGER.warning(g(x))", LOGGED, "LOGGER.warning(g(x))"),
        ("with LOCK: pass", CONTEXT, "LOCK"),
        ("with a, b: pass", CONTEXT, "with a, b: pass"),
        ("y = 1 + A @ 5", MATMUL, "A @ 5"),
        ("y = g(x) + 1", A_CALL, "g(x)"),
        ("y = g(h(x))", A_CALL, "y = g(h(x))"),
        ("y = g(x); z = h(x)", A_CALL, "y = g(x); z = h(x)"),
    ],
)
def test_what_pytorch_says(line: str, says: str, expression: str) -> None:
    assert covered(line, says=says) == expression


@pytest.mark.parametrize(
    ("line", "callee", "expression"),
    [
        ("y = 1 + helper(x) * 2", "helper", "helper(x)"),
        ("y = helper(x) + helper(x)", "helper", "y = helper(x) + helper(x)"),
        ("y = 1 + self.helper(x)", "helper", "self.helper(x)"),
        ("y = 1 + super().forward(x)", "forward", "super().forward(x)"),
        ("y = 1 + self.block(x)", "forward", "self.block(x)"),
        ("y = torch.relu(self.block(x))", "_wrapped_call_impl", "self.block(x)"),
        ("y = self.mlp(self.norm(x))", "forward", "y = self.mlp(self.norm(x))"),
        ("y = x * BOX.size + 1", "size", "BOX.size"),
        ("y = 1 + (a - b)", "__sub__", "a - b"),
        ("y = 1 + (a - b)", "__rsub__", "a - b"),
        ("total += n", "__iadd__", "total += n"),
        ("y = 1 + table[n]", "__getitem__", "table[n]"),
        ("with span(x) as y: pass", "__enter__", "span(x)"),
        ("for y in items: pass", "__iter__", "items"),
        ("y = g([v for v in x])", "<listcomp>", "[v for v in x]"),
        ("y = a.b", "other", "y = a.b"),
    ],
)
def test_who_calls(line: str, callee: str, expression: str) -> None:
    assert covered(line, callee=callee) == expression


@pytest.mark.parametrize(("function", "expression"), [("f", "x.item()"), ("<lambda>", "y.item()"), ("g", "x.item()")])
def test_a_lambda_is_a_function_of_its_own(function: str, expression: str) -> None:
    assert covered("h = g(x.item(), lambda y: y.item())", says=ITEM, function=function) == expression


def test_a_decorator_is_a_call() -> None:
    source = SourceFile("/w/a.py", "def f(x):\n    @noisy\n    def g(y):\n        return y\n")
    assert source.slice(span_of(source, Place("/w/a.py", 3, "f"), "", "noisy")) == "noisy"


def test_a_method_on_a_line_of_its_own_begins_at_its_name() -> None:
    source = SourceFile("/w/a.py", "def f(x):\n    y = (\n        x.abs()\n        .item()\n    )\n")
    assert source.slice(span_of(source, Place("/w/a.py", 4, "f"), ITEM)) == "item()"
