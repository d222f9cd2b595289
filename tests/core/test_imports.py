"""Who imports whom, which files run, and which are entries that nobody had to name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphbreak.core.imports import Import, ImportGraph, imports_in
from graphbreak.core.programs import Program, acts_when_run, defined_tests, found_entries, is_test_file, program_of
from graphbreak.core.source import SourceFile


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("import a\n", [Import("a")]),
        ("import a.b as c, d  # e\n", [Import("a.b"), Import("d")]),
        ("from a import b\n", [Import("a", 0, ("b",))]),
        ("from a.b import (\n    c,  # import no\n    d as e,\n)\n", [Import("a.b", 0, ("c", "d"))]),
        ("from . import a\n", [Import("", 1, ("a",))]),
        ("from ..b.c import *\n", [Import("b.c", 2)]),
        ("from a import b, \\\n    c\n", [Import("a", 0, ("b", "c"))]),
        ("def f():\n    from a import b; import c\n", [Import("a", 0, ("b",))]),
        ("if x:\n\timport a\n", [Import("a")]),
        ("important = 1\nfromage = 2\nx.import_module('a')\n", []),
        ("import a\nimport a\n", [Import("a")]),
    ],
)
def test_imports_are_found_by_their_words(text: str, imports: list[Import]) -> None:
    assert list(imports_in(text)) == imports


@given(st.text(alphabet="from import(), .a\\\n#as*", max_size=60))
def test_any_text_can_be_looked_through(text: str) -> None:
    imports_in(text)


def graph_of(files: dict[str, str], *roots: str) -> ImportGraph:
    return ImportGraph({path: imports_in(text) for path, text in files.items()}, roots or ("/w",))


THREE = {
    "/w/train.py": "import torch\nfrom model import Net\nnet = torch.compile(Net())\nnet(torch.ones(2))\n",
    "/w/model.py": "from layers import Block\n",
    "/w/layers.py": "import torch\n",
    "/w/other.py": "import torch\ntorch.compile(print)(1)\n",
}


def test_three_modules_are_reached_in_both_directions() -> None:
    graph = graph_of(THREE)
    assert graph.reached_from("/w/train.py") == {"/w/train.py": 0, "/w/model.py": 1, "/w/layers.py": 2}
    assert graph.reaching("/w/layers.py") == {"/w/layers.py": 0, "/w/model.py": 1, "/w/train.py": 2}


@pytest.mark.parametrize(
    ("importer", "text", "imported"),
    [
        ("/w/run.py", "import pkg.sub.net", ["/w/pkg/__init__.py", "/w/pkg/sub/net.py"]),  # `sub` has no __init__: a namespace
        ("/w/run.py", "from pkg.sub import net", ["/w/pkg/__init__.py", "/w/pkg/sub/net.py"]),
        ("/w/run.py", "from pkg import helper_function", ["/w/pkg/__init__.py"]),
        ("/w/run.py", "from lib import core", ["/w/src/lib/__init__.py", "/w/src/lib/core.py"]),
        ("/w/pkg/sub/net.py", "from ..tools import x", ["/w/pkg/tools.py"]),
        ("/w/pkg/sub/net.py", "from .. import tools", ["/w/pkg/__init__.py", "/w/pkg/tools.py"]),
        ("/w/pkg/__init__.py", "from .tools import x", ["/w/pkg/tools.py"]),
        ("/w/a/run.py", "import net", ["/w/a/net.py"]),
        ("/w/b/run.py", "import net", ["/w/b/net.py"]),
        ("/w/b/deep/run.py", "import net", ["/w/b/net.py"]),
        ("/w/run.py", "import os, numpy", []),
    ],
)  # fmt: skip
def test_a_name_stands_for_the_file_that_python_would_find(importer: str, text: str, imported: list[str]) -> None:
    known = "pkg/__init__ pkg/tools pkg/sub/net src/lib/__init__ src/lib/core a/net b/net"
    files = {f"/w/{name}.py": "" for name in known.split()}
    assert sorted(graph_of({**files, importer: text}).imported_by(importer)) == imported


def test_circles_end() -> None:
    graph = graph_of({"/w/a.py": "import b", "/w/b.py": "import a"})
    assert graph.reached_from("/w/a.py") == {"/w/a.py": 0, "/w/b.py": 1}


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("if __name__ == '__main__':\n    main()\n", True),
        ("from model import Net\nnet = Net()\nfor _ in range(3):\n    net(1)\n", True),
        ("def main(): pass\nmain()\n", True),
        ("import lib\nlib.run()\n", True),
        ("from lib import main\nmain()\n", True),
        ("import torch\nnet = torch.compile(f)\nloss = net(1).sum()\n", True),
        ("import torch\nclass Net: pass\ndef f(): return Net()\n", False),
        ("import torch\ntorch.manual_seed(0)\nx = torch.ones(3)\n", False),
        ("import logging\nlog = logging.getLogger()\nlog.setLevel(1)\n", False),
        ("from logging import getLogger\nlog = getLogger()\nlog.info('x')\n", False),
        ("import argparse\np = argparse.ArgumentParser()\np.add_argument('x')\n", False),
        ("from .utils import logging\nlogger = logging.get_logger()\n", False),
        ("from lib import make\n_TABLE = make()\n", False),
        ("x = (\n", False),
    ],
)
def test_a_file_acts_when_it_calls_something_of_its_own(text: str, acts: bool) -> None:
    assert acts_when_run(SourceFile("/w/a.py", text)) is acts
    if acts:
        assert program_of("/w/a.py", text, lambda: text).may_act


def test_tests_are_found_by_their_names() -> None:
    text = (
        "import pytest\n@pytest.mark.x\ndef test_a():\n    pass\nclass TestB:\n    def test_c(self):\n        pass\n    def d(self): pass\n"
    )
    source = SourceFile("/w/test_a.py", text)
    assert list(defined_tests(source)) == [("test_a", range(1, 4)), ("TestB::test_c", range(5, 7))]
    assert is_test_file("/w/test_a.py", source)
    assert not is_test_file("/w/a.py", source)
    case = "import unittest\nclass NetTest(unittest.TestCase):\n    def test_c(self):\n        pass\n"
    assert list(defined_tests(SourceFile("/w/test_a.py", case))) == [("NetTest::test_c", range(2, 4))]
    assert not is_test_file("/w/test_a.py", SourceFile("/w/test_a.py", text + "if __name__ == '__main__':\n    test_a()\n"))


def found(files: dict[str, str], path: str) -> list[str]:
    programs: dict[str, Program] = {}
    for name, text in files.items():
        programs[name] = program_of(name, text, lambda text=text: text)  # type: ignore[misc]
    return found_entries(path, programs, graph_of(files))


MAIN = "if __name__ == '__main__':\n    main()\n"


def test_files_that_compile_and_run_are_entries_for_what_they_import() -> None:
    assert found(THREE, "/w/layers.py") == ["/w/train.py"]
    assert found(THREE, "/w/model.py") == ["/w/train.py"]
    assert found(THREE, "/w/train.py") == []
    assert found(THREE, "/w/other.py") == []


def test_a_script_that_compiles_nothing_itself_is_one_where_something_marked_is_on_its_way() -> None:
    files = {"/w/run.py": "import model\n" + MAIN, "/w/model.py": "import torch\n@torch.compile\ndef f(x): pass\n", "/w/util.py": ""}
    assert found(files, "/w/model.py") == ["/w/run.py"]
    assert found({**files, "/w/run.py": "import util\n" + MAIN}, "/w/util.py") == []


def test_a_module_that_others_import_is_no_program_unless_it_says_so() -> None:
    files = {"/w/layers.py": "", "/w/net.py": "import torch, layers\nregister = layers.make()\nregister(torch.compile(print))\n"}
    assert found(files, "/w/layers.py") == ["/w/net.py"]
    used = {**files, "/w/user.py": "import net\n"}
    assert found(used, "/w/layers.py") == []
    assert found({**files, "/w/test_net.py": "import net\n"}, "/w/layers.py") == ["/w/net.py"]
    assert found({**used, "/w/net.py": files["/w/net.py"] + MAIN}, "/w/layers.py") == ["/w/net.py"]


def test_few_entries_are_taken_those_that_compile_and_are_near_first() -> None:
    files = {"/w/layers.py": "", "/w/model.py": "import layers\nimport torch\n@torch.compile\ndef f(): pass\n"}
    files |= {f"/w/far{n}.py": "import torch, model\ntorch.compile(model.f)\n" + MAIN for n in range(3)}
    files |= {"/w/near.py": "import torch, layers\ntorch.compile(layers)\n" + MAIN, "/w/a_plain.py": "import model\n" + MAIN}
    assert found(files, "/w/layers.py") == ["/w/near.py", "/w/far0.py", "/w/far1.py"]


def test_tests_are_entries_where_no_script_is() -> None:
    files = {"/w/layers.py": "", "/w/test_layers.py": "import torch, layers\ndef test_f():\n    torch.compile(layers.f)(1)\n"}
    assert found(files, "/w/layers.py") == ["/w/test_layers.py"]
    assert found({**files, "/w/run.py": "import torch, layers\ntorch.compile(layers.f)(1)\n" + MAIN}, "/w/layers.py") == ["/w/run.py"]
