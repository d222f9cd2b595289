"""`docs/hints.md` against the list of graph break types of the installed torch."""

from __future__ import annotations

import importlib.util
import json
import re
from collections import defaultdict
from pathlib import Path

from fix_titles import shown
from graphbreak.core.findings import Diagnostic, Kind, Related, Severity, StackFrame
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes import FIXERS, FixContext, fixes_for
from markdown_cases import all_cases
from versions import at_home

PATH = "/w/net.py"
PAGE = Path(__file__).parent.parent.parent / "docs" / "hints.md"
_ROW = re.compile(r"^\| (?P<hint>.+?) \| (?P<types>GB\d+(?:, GB\d+)*) \|(?: (?P<fixes>.+) \|)?$")
_NAMES_NO_ACTION = re.compile(
    r"It may be possible to write Dynamo tracing rules|Your code may result in an error when running in eager|"
    r"This is likely to be a Dynamo bug|This graph break is fundamental|This graph break may be difficult to debug|"
    r"may have been caused by an earlier graph break|[Rr]eport (an|a bug)|(open|[Ff]ile|submit) an issue"
)


def rows() -> list[re.Match[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [found for line in lines if line.startswith("| ") and (found := _ROW.match(line))]


def whole(hints: list[str]) -> list[str]:
    """Hints that PyTorch writes over several strings, put together."""
    found: list[str] = []
    for hint in (" ".join(one.split()) for one in hints):
        if found and not re.search(r"[.!:)`]$", found[-1]):
            found[-1] += " " + hint
        else:
            found.append(hint)
    return found


def hints_of_torch() -> dict[str, set[str]]:
    """Every hint that names an action, and the types that have it."""
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    registry = json.loads((Path(spec.origin).parent / "_dynamo" / "graph_break_registry.json").read_text(encoding="utf-8"))
    found = defaultdict(set)
    for code, versions in registry.items():
        for hint in (hint for version in versions for hint in whole(version.get("Hints") or [])):
            if not _NAMES_NO_ACTION.search(hint):
                found[hint].add(code)
    return found


def test_every_hint_of_the_installed_torch_is_listed() -> None:
    listed = {row["hint"].replace("\\|", "|"): set(row["types"].split(", ")) for row in rows()}
    wanted = hints_of_torch()
    assert len(wanted) > 100
    if at_home():
        assert {hint: types for hint, types in wanted.items() if listed.get(hint) != types} == {}
        assert set(listed) <= set(wanted)


def named() -> list[tuple[str, str]]:
    """Each type with each fix that the page names for it."""
    found = [
        (code, fix) for row in rows() if row["fixes"] for code in row["types"].split(", ") for fix in re.findall(r"`(\w+)`", row["fixes"])
    ]
    assert len(found) > 50
    return sorted(set(found))


def offered(code: str, fix: str) -> bool:
    """Whether a fix is offered for a break of a type in the program that it is for."""
    text = PROGRAMS[fix]
    source = SourceFile(PATH, text.translate({ord(mark): None for mark in "«»§†"}))
    bare = text.translate({ord(mark): None for mark in "§†"})
    span = Span(source.position(bare.index("«")), source.position(bare.index("»") - 1))
    captured, marked = (frozenset(i for i, line in enumerate(text.split("\n")) if mark in line) for mark in "§†")
    line = next(number for number, text in enumerate(source.lines) if text.strip() == "@torch.compile")
    mark = Span.at(line, source.line(line).index("@") + 1, line, len(source.line(line)))
    inputs = {(PATH, i): frozenset({"x: f32[4], m: bool[4], labels: i64[4]"}) for i in marked}
    context = FixContext({PATH: source}, {PATH: marked}, {PATH: captured}, inputs, {"f": (PATH, mark)})
    stack = (StackFrame(PATH, max(marked), "f"), StackFrame(PATH, span.start.line, "g"))
    related = (Related(PATH, Span.at(2, 0, 2, 3), "disabled here"),)
    diagnostic = Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, code, "", functions=("f",), stack=stack, related=related)
    return bool(fixes_for(diagnostic, context, [row for row in FIXERS if row.fixer.__module__.rpartition(".")[2] == fix]))


HEAD = "import torch\n\n"
COMPILED = f"{HEAD}@torch.compile\ndef f(x, m, labels, k):†\n    y = x * 2§\n"
LOGGED = (
    "import logging\nimport torch\n\nlogger = logging.getLogger()\n\n"
    "@torch.compile\ndef f(x):†\n    y = x * 2§\n    «logger.info('a')»\n    return y\n"
)
HELPER = "{decorator}def g(k):\n    «k.write('a')»\n{end}\n@torch.compile\ndef f(x):†\n    y = x * 2§\n    g('a')\n    return y\n"
PROGRAMS = {
    "assert_async": f"{COMPILED}    if «(x > 0).any()»:\n        raise ValueError('no')\n    return y\n",
    "assert_tensor": f"{COMPILED}    assert not «(x > 0).any()», 'no'\n    return y\n",
    "bind_disabled": f"from lib import read\n{COMPILED}    n = «read(k)»\n    return y + n§\n",
    "capture_scalars": f"{COMPILED}    return y[:«int(x.sum())»]\n",
    "capture_shapes": f"{COMPILED}    return y[«x > 0»]\n",
    "class_disabled": (
        "import torch\nfrom lib import Base\n\n\nclass Net(Base):\n    word = 'a'\n\n@torch.compile\n"
        "    def f(self, x):†\n        y = x * 2§\n        «self.report('a')»\n        return y\n"
    ).replace("\n@torch.compile\n", "\n    @torch.compile\n"),
    "cond_branch": f"{COMPILED}    if «x.sum() > 0»:\n        y = x @ x\n    else:\n        y = x\n    return y\n",
    "constant_result": HEAD + HELPER.format(decorator="", end="").replace("«k.write('a')»", "return «len(k.words)»"),
    "copied_value": f"import copy\n{COMPILED}    z = «copy.deepcopy(x)»\n    return y + z\n",
    "counted_selection": f"{COMPILED}    n = len(«x[x > 0]»)\n    return y / (n + 1)\n",
    "disable_helper": HEAD + HELPER.format(decorator="", end=""),
    "disable_statement": f"{COMPILED}    n = «k + 1»\n    return y + n§\n",
    "eager_clock": f"import time\n{COMPILED}    began = «time.time()»\n    return y, began\n",
    "eager_scope": f"from lib import Scope\n{COMPILED}    with «Scope('a')»:\n        y = y + 1§\n    return y\n",
    "eager_statement": f"import gc\n{COMPILED}    «gc.collect()»\n    return y\n",
    "gathered_output": f"{COMPILED}    «print(x.sum().item())»\n    return y\n",
    "guard_output": LOGGED,
    "hoisted_value": f"import json\n{COMPILED}    n = len(«json.dumps('a')»)\n    return y * n\n",
    "ignored_labels": f"{COMPILED}    return torch.nn.functional.cross_entropy(«x[m]», labels[m])\n",
    "keep_tensor": f"{COMPILED}    s = «x.sum().item()»\n    return x / s\n",
    "keep_tensors": f"{COMPILED}    for s in «labels.tolist()»:\n        y = y + x * s\n    return y\n",
    "local_setting": f"{COMPILED}    return y[:«int(x.sum())»]\n",
    "masked_assignment": f"{COMPILED}    y[m] = «x[m]»\n    return y\n",
    "masked_reduction": f"{COMPILED}    return «x[x > 0]».sum()\n",
    "move_out": f"from lib import read\n{COMPILED}    n = «read(k)»\n    return y + n§\n",
    "named_setting": f"from lib import read\n{COMPILED}    n = «read(k)»\n    return y + n§\n",
    "remove_break_call": f"{COMPILED}    «torch._dynamo.graph_break()»\n    return y\n",
    "remove_disable": HEAD
    + HELPER.format(decorator="@torch.compiler.disable\n", end="").replace("«k.write('a')»", "k.write('a')").replace("g('a')", "«g('a')»"),
    "remove_output": LOGGED,
    "reorder_output": LOGGED,
    "shape_numbers": f"{COMPILED}    n, = «torch.tensor(x.shape).tolist()»\n    return y * n\n",
    "skip_helper": HEAD + HELPER.format(decorator="", end="").replace("k.write('a')", "open(k)"),
    "substitute": f"import bisect\n{COMPILED}    n = «bisect.bisect_left(k, 2)»\n    return y * n\n",
    "tensor_sort": f"{COMPILED}    z = «sorted(k, key=lambda one: one.sum())»\n    return z\n",
    "where_branch": f"{COMPILED}    if «x.sum() > 0»:\n        y = x + 1\n    else:\n        y = x * 3\n    return y\n",
    "where_expression": f"{COMPILED}    y = x + 1 if «x.sum() > 0» else x\n    return y\n",
    "where_return": f"{COMPILED}    if «x.sum() > 0»:\n        return x + 1\n    return x * 3\n",
}
"""For each fix that the page names a program that it is for: `«...»` is the break, `§` is on lines with operations in a graph, `†` on
marked functions."""


def test_every_fix_that_is_named_exists() -> None:
    assert {fix for _, fix in named()} == set(PROGRAMS)
    assert set(PROGRAMS) <= {row.fixer.__module__.rpartition(".")[2] for row in FIXERS}


def test_every_fix_that_is_named_is_offered_for_each_type() -> None:
    assert [(code, fix) for code, fix in named() if not offered(code, fix)] == []


def test_of_the_types_with_a_case_a_fix_that_is_named_is_shown() -> None:
    cased = {mark.code for case in all_cases() if case.fixes for mark in case.marks if mark.kind != "caller"}
    fixes = defaultdict(set)
    for code, fix in named():
        fixes[code].add(fix)
    unshown = {code for code in cased & set(fixes) if not any(code in shown().get(fix, ()) for fix in fixes[code])}
    assert len(cased & set(fixes)) >= 10
    assert unshown == set()


def test_every_other_hint_has_a_reason() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## Without one")[2]
    parts = [part.strip() for part in re.split(r"(?m)^\| hint \| types \|$", text)]
    assert len(parts) > 5
    for part in parts[:-1]:
        assert re.search(r"^[A-Z].+\.$", part.splitlines()[-1]), part[-80:]
