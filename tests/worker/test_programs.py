"""How a file is run: as Python would run it, with the editor's texts, and with marks that no reader of source can see."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from graphbreak.core.findings import Kind, Outcome, Report, Severity
from harness import PRINT, Harness, assert_print_example, breaks, code, of_kind, only, squiggles

IMPORT = "import torch\n"
F = "@torch.compile\ndef f(x):\n    x = x * 2\n    print('a')\n    return x + 1\n"
CALL = "f(torch.ones(3))\n"
BREAK = ("break", "GB0059", "print('a')")


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


PROGRAMS = {
    "a script": IMPORT + F + CALL,
    "a main block": IMPORT + F + "if __name__ == '__main__':\n    " + CALL,
    "exit functions": "import atexit\n" + IMPORT + F + "atexit.register(lambda: f(torch.ones(3)))\n",
    "a thread that outlives the main one": (
        "import threading, time\n" + IMPORT + F + "def go():\n    time.sleep(0.3)\n    " + CALL + "threading.Thread(target=go).start()\n"
    ),
    "asyncio": "import asyncio\n" + IMPORT + F + "async def main():\n    " + CALL + "asyncio.run(main())\n",
    "argparse": (
        "import argparse\n" + IMPORT + F + "def main():\n    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--n', type=int, default=3)\n"
        "    f(torch.ones(parser.parse_args().n))\nif __name__ == '__main__':\n    main()\n"
    ),
    "its own name and place": (
        "import os, sys\n" + IMPORT + F + "assert sys.argv == [__file__]\n"
        "assert os.path.dirname(__file__) == os.getcwd() == sys.path[0], sys.path\n"
        "assert sys.modules['__main__'].__dict__ is globals()\n" + CALL
    ),
    "pickle": "import pickle\n" + IMPORT + F + "class A: pass\npickle.loads(pickle.dumps(A()))\n" + CALL,
    "inspect": "import inspect\n" + IMPORT + F + "assert inspect.getsource(f).startswith('@torch.compile')\n" + CALL,
    "a dataclass under future annotations": (
        "from __future__ import annotations\nimport dataclasses\n" + IMPORT + F + "@dataclasses.dataclass\nclass A:\n    x: int = 3\n"
        "f(torch.ones(A().x))\n"
    ),
    "processes of its own": (
        "import multiprocessing\n" + IMPORT + F + "def work(n): return float(f(torch.ones(n)).sum())\n"
        "if __name__ == '__main__':\n    " + CALL + "    with multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "        assert pool.map(work, [1, 2, 3]) == [3.0, 6.0, 9.0]\n"
    ),
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_program_runs_as_python_would_run_it(harness: Harness, tmp_path: Path, text: str) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", text)
    assert squiggles(report) == [BREAK], report.output
    row = only(report)
    assert (row.outcome, row.graphs, row.ops) == (Outcome.TRACED, 2, 2)
    assert [inputs.summary for inputs in row.inputs] == ["x: f32[3]"]


def test_a_module_of_a_package_in_a_src_layout(harness: Harness, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "src/pkg/__init__.py": "",
            "src/pkg/helper.py": "from pkg import sub\ndef log(x):\n    print('a')\n",
            "src/pkg/sub/__init__.py": "import flat\n",
            "src/flat.py": "",
            "src/pkg/sub/main.py": (
                "import os, torch\nfrom ..helper import log\nfrom . import sibling\nimport atroot\n\n@torch.compile\ndef f(x):\n"
                "    x = x * 2\n"
                "    log(x)\n    return x + 1\n\nif __name__ == '__main__':\n    assert __package__ == 'pkg.sub'\n"
                "    assert os.path.exists('atroot.py')\n    f(torch.ones(3))\n"
            ),
            "src/pkg/sub/sibling.py": "",
            "atroot.py": "",
        },
    )
    report = harness.analyse(tmp_path / "src/pkg/sub/main.py", root=tmp_path)
    assert squiggles(report) == [BREAK, ("caller", "GB0059", "log(x)")], report.output
    assert [Path(found.path).name for found in report.diagnostics] == ["helper.py", "main.py"]
    assert [(frame.function, Path(frame.path).name) for frame in report.diagnostics[0].stack] == [("f", "main.py"), ("log", "helper.py")]


def test_an_unsaved_helper_is_used_in_place_of_the_file(harness: Harness, tmp_path: Path) -> None:
    main = "import inspect\nimport torch\nimport helper\n@torch.compile\ndef f(x):\n    x = x * 2\n    helper.log(x)\n    return x + 1\n"
    main += "f(torch.ones(3))\nprint(inspect.getsource(helper.log))\n"
    write(tmp_path, {"helper.py": "def log(x):\n    return None\n", "main.py": main})
    clean = harness.analyse(tmp_path / "main.py")
    assert squiggles(clean) == []
    unsaved = "\n\ndef log(x):\n    s = '🎉'; print('unsaved')\n"
    report = harness.analyse(tmp_path / "main.py", overlay={tmp_path / "helper.py": unsaved})
    assert squiggles(report) == [("break", "GB0059", "print('unsaved')"), ("caller", "GB0059", "helper.log(x)")]
    assert report.diagnostics[0].span.start.line == 3
    assert "s = '🎉'; print('unsaved')" in report.output
    assert squiggles(harness.analyse(tmp_path / "main.py")) == []


def test_unsaved_text_of_the_file_itself(harness: Harness, tmp_path: Path) -> None:
    path = tmp_path / "main.py"
    path.write_text("raise SystemExit('the text on disk ran')\n")
    assert_print_example(harness.analyse(path, PRINT))
    assert_print_example(harness.analyse(tmp_path / "not yet saved.py", PRINT))


def test_an_imported_module_with_marks_has_its_own_rows(harness: Harness, tmp_path: Path) -> None:
    write(tmp_path, {"net.py": IMPORT + F, "main.py": "import torch, net\nnet.f(torch.ones(3))\n"})
    report = harness.analyse(tmp_path / "main.py")
    row = only(report)
    assert (Path(row.path).name, Path(row.mark_path).name, row.name, row.line, row.breaks) == ("net.py", "net.py", "f", 2, 1)
    assert squiggles(report) == [BREAK]


STEP = "class Step:\n    def run(self, x):\n        x = x * 2\n        print('a')\n        return x + 1\n"
NET = "class Net(torch.nn.Module):\n    def forward(self, x):\n        x = x * 2\n        print('a')\n        return x + 1\n"
MARKS = {
    "by a name made at run time": (F.replace("@torch.compile\n", "") + "g = getattr(torch, 'com' + 'pile')(f)\ng(torch.ones(3))\n", "f"),
    "by a wrapper of its own": ("def fast(function): return torch.compile(function)\n" + F.replace("torch.compile", "fast") + CALL, "f"),
    "in a loop": (
        F.replace("@torch.compile\n", "") + "table = {n: torch.compile(h) for n, h in {'f': f}.items()}\ntable['f'](torch.ones(3))\n",
        "f",
    ),
    "by setattr": (F.replace("@torch.compile\n", "") + "import sys\nsetattr(sys.modules[__name__], 'f', torch.compile(f))\n" + CALL, "f"),
    "of a bound method": (
        STEP + "    def __init__(self):\n        self.fast = torch.compile(self.run)\nStep().fast(torch.ones(3))\n",
        "Step.run",
    ),
    "of a module": (NET + "torch.compile(Net())(torch.ones(3))\n", "Net.forward"),
    "by a module's own compile": (NET + "net = Net()\nnet.compile()\nnet(torch.ones(3))\n", "Net.forward"),
    "of a partial": (
        "import functools\n"
        + F.replace("@torch.compile\n", "").replace("(x)", "(k, x)", 1)
        + "torch.compile(functools.partial(f, 1))(torch.ones(3))\n",
        "f",
    ),
}


@pytest.mark.parametrize(("text", "name"), MARKS.values(), ids=MARKS.keys())
def test_marks_are_known_at_run_time_however_they_are_made(harness: Harness, tmp_path: Path, text: str, name: str) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + text)
    assert squiggles(report) == [BREAK], report.output
    row = only(report)
    assert (row.name, row.outcome, row.graphs, row.ops, row.breaks) == (name, Outcome.TRACED, 2, 2, 1)
    assert [inputs.summary.rpartition("x: ")[2] for inputs in row.inputs] == ["f32[3]"]
    assert report.diagnostics[0].functions == (name,)


FULL = IMPORT + F.replace("@torch.compile", "@torch.compile(fullgraph=True)").replace("    return", "    print('b')\n    return")


@pytest.mark.parametrize("call", [CALL, "try:\n    " + CALL + "except Exception:\n    pass\n"], ids=["raised", "swallowed"])
def test_all_breaks_of_a_fullgraph_mark_are_found(harness: Harness, tmp_path: Path, call: str) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", FULL + call)
    assert squiggles(report) == [BREAK, ("break", "GB0059", "print('b')")]
    assert {found.severity for found in report.diagnostics} == {Severity.ERROR}
    row = only(report)
    assert (row.outcome, row.fullgraph, row.graphs, row.ops, row.breaks) == (Outcome.TRACED, True, 0, 0, 2)


def test_a_disabled_callee_under_fullgraph_is_an_error(harness: Harness, tmp_path: Path) -> None:
    text = "@torch.compiler.disable\ndef report(x): pass\n\n@torch.compile(fullgraph=True)\ndef f(x):\n    report(x)\n    return x + 1\n"
    (found,) = breaks(harness.write_and_analyse(tmp_path / "main.py", IMPORT + text + CALL))
    assert (found.kind, found.severity, found.code) == (Kind.BREAK, Severity.ERROR, "GB0098")


def disabled_callee(harness: Harness, folder: Path, library: str) -> Report:
    write(
        folder,
        {
            f"{library}/lib.py": "import torch\n\n@torch.compiler.disable\ndef report(x):\n    print(x)\n",
            "main.py": f"import sys\nsys.path.insert(0, {library!r})\nimport torch\nfrom lib import report\n@torch.compile\ndef f(x):\n"
            "    x = x * 2\n    report(x)\n    return x + 1\nf(torch.ones(3))\n",
        },
    )
    return harness.analyse(folder / "main.py")


def test_a_callee_that_the_user_disabled_is_intended(harness: Harness, tmp_path: Path) -> None:
    report = disabled_callee(harness, tmp_path, "lib")
    assert squiggles(report) == [("intended", "GB0098", "report(x)")]
    (found,) = report.diagnostics
    assert found.severity is Severity.INFORMATION
    assert [(Path(place.path).name, place.message) for place in found.related] == [("lib.py", "disabled here")]
    assert (only(report).graphs, only(report).breaks) == (2, 0)


def test_a_callee_that_a_library_disabled_is_a_break(harness: Harness, tmp_path: Path) -> None:
    report = disabled_callee(harness, tmp_path, "site-packages")
    assert squiggles(report) == [("break", "GB0098", "report(x)")]
    assert only(report).breaks == 1


def test_a_marked_function_inside_another_is_charged_to_the_outer_one(harness: Harness, tmp_path: Path) -> None:
    text = "@torch.compile\ndef inner(x):\n    print('a')\n    return x * 2\n\n@torch.compile\ndef outer(x):\n    x = x + 1\n"
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + text + "    x = inner(x)\n    return x * 3\n\nouter(torch.ones(3))\n")
    assert squiggles(report) == [BREAK, ("caller", "GB0059", "inner(x)")]
    assert {found.functions for found in report.diagnostics} == {("outer",)}
    inner, outer = only(report, "inner"), only(report, "outer")
    assert (outer.outcome, outer.graphs, outer.ops, outer.breaks) == (Outcome.TRACED, 3, 3, 1)
    assert (inner.outcome, inner.graphs, inner.ops, inner.breaks) == (Outcome.TRACED, 0, 0, 0)
    assert inner.detail == "compiled as part of another marked function that calls it"


UNCALLED = "nothing in this file calls it"
OUTSIDE = ", so it cannot be called from outside"
UNKNOWN = " is known only where it is compiled, in a part of the file that no run came to"


def test_functions_that_nothing_can_call_are_not_reached(harness: Harness, tmp_path: Path) -> None:
    text = F + "def main():\n    @torch.compile\n    def g(x): return x\n\n"
    text += "    class Net:\n        @torch.compile\n        def step(self): pass\n\n"
    text += "if None:\n    h = torch.compile(k)\n"
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + text + CALL)
    rows = [(row.name, row.line, row.outcome.value, row.detail) for row in report.functions]
    assert rows == [
        ("f", 2, "traced", ""),
        ("main.g", 8, "not-reached", f"{UNCALLED}, and it is defined inside `main`, which does not give it back{OUTSIDE}"),
        ("main.Net.step", 12, "not-reached", f"{UNCALLED}, and it is defined inside `Net`, which was not called"),
        ("k", 15, "not-reached", f"the line that compiles it was not run, and `k`{UNKNOWN}"),
    ]
    hints = of_kind(report, Kind.NOT_ANALYSED)
    assert [code(report, hint) for hint in hints] == ["g", "step", "k"]
    assert "`# graphbreak: main(...).g(...)`" in hints[0].message


def test_an_unmarked_program_has_nothing_to_show(harness: Harness, tmp_path: Path) -> None:
    report = harness.write_and_analyse(tmp_path / "main.py", "print('hello')\n")
    assert (report.functions, report.diagnostics, report.output, report.stale) == ((), (), "hello\n", False)
    (tmp_path / "ran.py").write_text("open('ran', 'w')\n")
    report = harness.analyse(tmp_path / "ran.py", run_unmarked=False)
    assert (report.functions, report.diagnostics) == ((), ())
    assert not (tmp_path / "ran").exists()


def test_the_report_says_where_it_ran(harness: Harness, tmp_path: Path) -> None:
    environment = harness.analyse(tmp_path / "main.py", PRINT).environment
    assert environment.python == ".".join(map(str, sys.version_info[:3]))
    assert environment.torch
    assert environment.device == "cpu"
    assert environment.notes == ()


def test_the_standard_library_is_no_file_of_the_users(harness: Harness, tmp_path: Path) -> None:
    text = "import copy\n@torch.compile\ndef f(x):\n    x = x * 2\n    y = copy.deepcopy([x])\n    return y[0] + 1\n"
    report = harness.write_and_analyse(tmp_path / "main.py", IMPORT + text + CALL)
    library = sysconfig.get_paths()["stdlib"]
    assert not any(found.path.startswith(library) for found in report.diagnostics)
    assert all(code(report, found) == "copy.deepcopy([x])" for found in breaks(report))
