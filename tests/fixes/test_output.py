"""The fixes for what is printed, logged and warned of, as pure edits. In the sources `«...»` is the break."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphbreak.core.findings import Diagnostic, Fix, Kind, Safety, Severity, StackFrame
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes.gathered_output import gathered_output
from graphbreak.fixes.guard_bar import guard_bar
from graphbreak.fixes.guard_output import guard_output
from graphbreak.fixes.model import FixContext, Fixer
from graphbreak.fixes.remove_output import remove_output
from graphbreak.fixes.reorder_output import reorder_output

PATH = "/w/net.py"
HEAD = "import torch\n\n\ndef f(x):\n"
ADDED = "import torch\n\ntorch._dynamo.config.reorderable_logging_functions.add(print)\n\n\ndef f(x):\n"


def offered(fixer: Fixer, text: str, newline: str = "\n", caller: int | None = None) -> tuple[Fix, str] | None:
    """A fix, and the text after it, without its marks; None where nothing is offered. `caller` is the line that calls the function."""
    text = text.replace("\n", newline)
    source = SourceFile(PATH, text.replace("«", "").replace("»", ""))
    span = Span(source.position(text.index("«")), source.position(text.index("»") - 1))
    stack = tuple(StackFrame(PATH, line, "f") for line in (caller, span.start.line) if line is not None)
    fix = fixer(Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0059", "", stack=stack), FixContext({PATH: source}))
    return (fix, source.apply(fix.edits[PATH]).text) if fix is not None else None


def fixed(fixer: Fixer, text: str, newline: str = "\n") -> str | None:
    """The text after a fix; None where nothing is offered."""
    found = offered(fixer, text, newline)
    if found is None:
        return None
    assert found[0].safety is (Safety.SAFE if fixer is reorder_output else Safety.CHANGES_BEHAVIOUR)
    return found[1]


REMOVED = {
    "a line": ("    «print(1)»\n    return x\n", "    return x\n"),
    "with its comment": ("    «print(1)»  # why\n    return x\n", "    return x\n"),
    "the last line": ("    y = x\n    «print(1)»", "    y = x\n"),
    "over lines": ("    «print(\n        1,\n    )»\n    return x\n", "    return x\n"),
    "first of two": ("    «print(1)»; y = x\n", "    y = x\n"),
    "second of two": ("    y = x ; «print(1)»\n", "    y = x\n"),
    "alone in a block": ("    if x:\n        «print(1)»\n    return x\n", "    if x:\n        pass\n    return x\n"),
    "behind a header": ("    if x: «print(1)»\n    return x\n", "    if x: pass\n    return x\n"),
    "tabs": ("\tif x:\n\t\ty = x\n\t\t«print(1)»\n\treturn x\n", "\tif x:\n\t\ty = x\n\treturn x\n"),
    "progress bar": (
        "    from tqdm import tqdm\n    for y in «tqdm(x, desc='a')»:\n        pass\n",
        None,
    ),
}

GUARD = "if not torch.compiler.is_compiling():"
GUARDED = {
    "a line": ("    «print(1)»  # why\n    return x\n", f"    {GUARD}\n        print(1)  # why\n    return x\n"),
    "over lines": ("    «print(\n\n        1,\n    )»\n", f"    {GUARD}\n        print(\n\n            1,\n        )\n"),
    "tabs": ("\tif x:\n\t\t«print(1)»\n", f"\tif x:\n\t\t{GUARD}\n\t\t\tprint(1)\n"),
    "shared line": ("    «print(1)»; y = x\n", None),
    "behind a header": ("    if x: «print(1)»\n", None),
    "a string over lines": ('    «print("""a\nb""")»\n', None),
    "a name is bound": ("    «print(y := 1)»\n    return y\n", None),
}

REORDERED = {
    "value": ("    «print(x)»\n    return x\n", "    print(x)\n    return x\n"),
    "value that changes later": ("    «print(x)»\n    x += 1\n", None),
    "value that changes in a method": ("    «print(f'{x}')»\n    x.mul_(2)\n", None),
    "element that is set": ("    «print(x)»\n    x[0] = 1\n", None),
    "result of a call": ("    «print(x.sum())»\n    x += 1\n", "    print(x.sum())\n    x += 1\n"),
    "changed in the same loop": ("    for i in x:\n        x += 1\n        «print(x)»\n", None),
    "shape": ("    «print('a', x.shape, x.size())»\n    x += 1\n", '    print(\'a\', f"{x.shape}", f"{x.size()}")\n    x += 1\n'),
    "starred": ("    «print(*x)»\n", None),
    "keyword of the function": ("    «print(1, file=x)»\n", None),
    "own name": ("    print = x\n    «print(1)»\n", None),
}


WAITING = {
    "a module": ("    «print(x)»\n    return self.act(x)\n", Safety.CHANGES_BEHAVIOUR),
    "a module, and an attribute": ("    «print(self.bn.running_mean)»\n    return self.bn(x)\n", Safety.CHANGES_BEHAVIOUR),
    "a module with an operation's name": ("    «print(x)»\n    return self.norm(x)\n", Safety.CHANGES_BEHAVIOUR),
    "one of another module": ("    «print(x)»\n    return self.part.relu(x)\n", Safety.CHANGES_BEHAVIOUR),
    "an operation with a module's name": ("    «print(x)»\n    return x.norm(2) + self.scale.tanh()\n", Safety.SAFE),
    "a module before": ("    y = self.act(x)\n    «print(x)»\n    return y\n", Safety.SAFE),
    "a module before, in a loop": ("    for i in x:\n        «print(x)»\n        self.act(i)\n", Safety.CHANGES_BEHAVIOUR),
    "operations": ("    «print(x)»\n    return torch.relu(x) @ F.linear(x.mean(), x)\n", Safety.SAFE),
    "an operation in place by a keyword": ("    «print(x)»\n    return F.relu(x, inplace=True)\n", Safety.CHANGES_BEHAVIOUR),
    "an operation into another tensor": ("    y = x * 2\n    «print(y)»\n    torch.add(x, x, out=y)\n", None),
    "a new value that nobody gets": ("    y = x * 2\n    «print(y)»\n    return self.act(x) + y\n", Safety.SAFE),
    "a new value in a text": ("    y = x.mean()\n    «print(f'{y:.2f}')»\n    return self.act(x), y\n", Safety.SAFE),
    "a new value with another name": ("    y = x * 2\n    «print(y)»\n    z = y\n    return self.act(z)\n", Safety.CHANGES_BEHAVIOUR),
    "a new value, handed over": ("    y = x * 2\n    «print(y)»\n    return self.act(y)\n", Safety.CHANGES_BEHAVIOUR),
    "a view": ("    y = x.view(-1)\n    «print(y)»\n    return self.act(x)\n", Safety.CHANGES_BEHAVIOUR),
    "a view on the spot": ("    «print(x.view(-1))»\n    return self.act(x)\n", Safety.CHANGES_BEHAVIOUR),
    "a view on the spot that changes": ("    «print(x.view(-1))»\n    x += 1\n", None),
    "a result of an unknown call": ("    «print(part(x))»\n    return self.act(x)\n", Safety.CHANGES_BEHAVIOUR),
    "a new result": ("    «print(x.mean(), x * 2, x.shape, len(x))»\n    return self.act(x)\n", Safety.SAFE),
    "only words": ("    «print('here')»\n    return self.act(x)\n", Safety.SAFE),
    "another output": ("    «print(x)»\n    print('there')\n    return x\n", Safety.SAFE),
}


@pytest.mark.parametrize("name", WAITING)
def test_what_is_shown_later_than_now(name: str) -> None:
    text, safety = WAITING[name]
    found = offered(reorder_output, "import torch\nimport torch.nn.functional as F\n\n\ndef f(self, x):\n" + text)
    assert (found and found[0].safety) == safety


def test_what_a_helper_shows_later() -> None:
    text = "import torch\n\n\ndef helper(x):\n    «print('a')»\n    return x\n\n\ndef f(x):\n    return helper(x)\n"
    found = offered(reorder_output, text, caller=9)
    assert found is not None
    assert found[0].safety is Safety.CHANGES_BEHAVIOUR
    itself = offered(reorder_output, text.replace("return x\n", "return helper(x) if x else x\n", 1), caller=5)
    assert itself is not None
    assert itself[0].safety is Safety.CHANGES_BEHAVIOUR


GATHERED = {
    "the mean": ("    «print(x.mean().item())»\n    return self.act(x)\n", Safety.SAFE),
    "an element": ("    «print(x[0].item())»\n    return self.act(x)\n", Safety.CHANGES_BEHAVIOUR),
    "an element that changes": ("    «print(x[0].item())»\n    x += 1\n", None),
    "an element by a name": ("    first = «x[0].item()»\n    print(first)\n    return self.act(x)\n", Safety.CHANGES_BEHAVIOUR),
    "the mean by a name": ("    mean = «x.mean().item()»\n    print(mean)\n    return self.act(x)\n", Safety.SAFE),
}


@pytest.mark.parametrize("name", GATHERED)
def test_numbers_that_are_read_later_than_now(name: str) -> None:
    text, safety = GATHERED[name]
    text = "import torch\n\n\ndef f(self, x):\n" + text

    def fixer(diagnostic: Diagnostic, context: FixContext) -> Fix | None:
        return gathered_output(replace(diagnostic, code="GB0124"), context)

    found = offered(fixer, text)
    assert (found and found[0].safety) == safety
    nested = offered(fixer, text + "\n\ndef g(self, x):\n    return f(self, x)\n", caller=9)
    assert (nested and nested[0].safety) == (safety and Safety.CHANGES_BEHAVIOUR)


@pytest.mark.parametrize("name", REMOVED)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_removed(name: str, newline: str) -> None:
    before, after = REMOVED[name]
    wanted = None if after is None else (HEAD + after).replace("\n", newline)
    assert fixed(remove_output, HEAD + before, newline) == wanted


@pytest.mark.parametrize("name", GUARDED)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_guarded(name: str, newline: str) -> None:
    before, after = GUARDED[name]
    wanted = None if after is None else (HEAD + after).replace("\n", newline)
    assert fixed(guard_output, HEAD + before, newline) == wanted


@pytest.mark.parametrize("name", REORDERED)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_reordered(name: str, newline: str) -> None:
    before, after = REORDERED[name]
    wanted = None if after is None else (ADDED + after).replace("\n", newline)
    assert fixed(reorder_output, HEAD + before, newline) == wanted


BARS = {
    "bar": ("from tqdm import tqdm\n", "for y in «tqdm(x, desc='a')»:", "for y in x:"),
    "range": ("from tqdm import trange\n", "for y in «trange(1, 3)»:", "for y in range(1, 3):"),
    "alias": ("import tqdm.auto as bars\n", "for y in enumerate(«bars.tqdm(x)»):", "for y in enumerate(x):"),
    "another function of that name": ("from mine import tqdm\n", "for y in «tqdm(x)»:", None),
}


@pytest.mark.parametrize("name", BARS)
def test_progress_bars(name: str) -> None:
    imports, before, after = BARS[name]
    found = fixed(remove_output, f"{imports}\n\ndef f(x):\n    {before}\n        pass\n")
    assert found == (None if after is None else f"{imports}\n\ndef f(x):\n    {after}\n        pass\n")


GUARDED_BARS = {
    "bar": ("for y in «tqdm(x, desc='a')»:", "for y in x if torch.compiler.is_compiling() else tqdm(x, desc='a'):"),
    "in a call": ("for y in enumerate(«tqdm(x)», 1):", "for y in enumerate(x if torch.compiler.is_compiling() else tqdm(x), 1):"),
    "comprehension": ("if [y for y in «tqdm(x)»]:", "if [y for y in (x if torch.compiler.is_compiling() else tqdm(x))]:"),
    "with a name": ("with «tqdm(x)» as bar:", None),
}


@pytest.mark.parametrize("name", GUARDED_BARS)
def test_progress_bars_in_eager_mode(name: str) -> None:
    before, after = GUARDED_BARS[name]
    head = "import torch\nfrom tqdm import tqdm\n\n\ndef f(x):\n    "
    found = fixed(guard_bar, f"{head}{before}\n        pass\n")
    assert found == (None if after is None else f"{head}{after}\n        pass\n")


def test_a_helper_is_used_again() -> None:
    text = "import logging\nimport torch\nlog = logging.getLogger()\n\n\ndef f(x):\n    «log.info('a')»\n    log.info('b')\n"
    once = fixed(reorder_output, text)
    assert once is not None
    again = fixed(reorder_output, once.replace("    log.info('b')", "    «log.info('b')»"))
    assert again is not None
    assert again.count("def _info(*args):") == 1
    assert again.endswith("    _info('a')\n    _info('b')\n")


def test_a_logger_of_the_function_is_left_alone() -> None:
    assert fixed(reorder_output, HEAD + "    log = x.log\n    «log.info('a')»\n") is None
    assert fixed(reorder_output, HEAD + "    «x.logger.info('a')»\n") is None


def test_other_calls_are_no_output() -> None:
    for fixer in (remove_output, guard_output, reorder_output):
        assert fixed(fixer, HEAD + "    «x.info('a')»\n") is None
        assert fixed(fixer, HEAD + "    y = «print(1)»\n") is None
        assert fixed(fixer, HEAD + "    print(«x.item()»)\n") is None
