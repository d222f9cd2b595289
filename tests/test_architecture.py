"""The invariants of ARCHITECTURE.md, checked on the source."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "server" / "graphbreak"
WORKER = PACKAGE / "worker"
MODULES = sorted(PACKAGE.rglob("*.py"))
IO_MODULES = {
    "os",
    "io",
    "subprocess",
    "socket",
    "shutil",
    "tempfile",
    "asyncio",
    "threading",
    "multiprocessing",
    "urllib",
    "http",
    "glob",
    "select",
}


def imports(path: Path) -> Iterator[str]:
    """The absolute names of the modules that a file imports, relative ones resolved."""
    package = ["graphbreak", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def tops(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(path)}


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(PACKAGE)) for path in paths]


def below(folder: str) -> list[Path]:
    found = [path for path in MODULES if path.relative_to(PACKAGE).parts[0] == folder]
    assert found
    return found


def test_the_server_never_imports_torch() -> None:
    assert not [path for path in MODULES if WORKER not in path.parents and "torch" in tops(path)]


def test_the_worker_imports_the_standard_library_torch_and_itself() -> None:
    for path in below("worker"):
        allowed = set(sys.stdlib_module_names) | {"torch", "graphbreak_worker"}
        for name in imports(path):
            assert name.partition(".")[0] in allowed or name.startswith("graphbreak.worker"), f"{path.name} imports {name}"


def test_the_protocol_imports_the_standard_library_only() -> None:
    for module in WORKER.glob("protocol*.py"):
        others = {name for name in imports(module) if not name.startswith("graphbreak.worker.protocol_values")}
        assert {name.partition(".")[0] for name in others} <= set(sys.stdlib_module_names)


def test_the_protocol_is_the_only_worker_module_that_the_server_imports() -> None:
    for path in MODULES:
        if WORKER not in path.parents:
            used = {name for name in imports(path) if name.startswith("graphbreak.worker.")}
            assert all(name.startswith("graphbreak.worker.protocol") for name in used), f"{path.name} imports {used}"


def test_the_launcher_imports_the_standard_library_and_its_own_modules() -> None:
    launched = {"launcher", "supervisor", "namespaces", "mounts", "landlock", "seccomp", "limits", "scratch", "system"}
    for path in below("sandbox"):
        if path.stem in launched:
            own = {f"graphbreak.sandbox.{name}" for name in launched}
            for name in imports(path):
                allowed = name.partition(".")[0] in sys.stdlib_module_names or name == "graphbreak.sandbox" or name in own
                assert allowed, f"{path.name} imports {name}"


def test_lsp_libraries_stay_in_lsp() -> None:
    assert not [path for path in MODULES if "lsp" not in path.parts and tops(path) & {"pygls", "lsprotocol"}]


def test_positions_are_converted_in_one_module() -> None:
    pattern = re.compile(r"\btypes\.(Position|Range)\(")
    assert names([path for path in below("lsp") if pattern.search(path.read_text(encoding="utf-8"))]) == ["lsp/convert.py"]


@pytest.mark.parametrize("folder", ["core", "fixes", "refactors"])
def test_core_and_fixes_do_no_io(folder: str) -> None:
    for path in below(folder):
        forbidden = IO_MODULES - ({"threading"} if path.name == "parsing.py" else set())  # it has a lock, and starts nothing
        assert not tops(path) & forbidden, f"{path.name} imports {tops(path) & forbidden}"
        called = {
            node.func.id
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not called & {"open", "print", "input", "exec", "eval"}, path.name


def test_core_knows_neither_tracer_nor_editor() -> None:
    for path in [*below("core"), *below("fixes"), *below("refactors")]:
        for name in imports(path):
            assert not name.startswith(("graphbreak.tracer", "graphbreak.lsp", "graphbreak.cli")), f"{path.name} imports {name}"


def test_private_torch_names_stay_in_one_module() -> None:
    for path in MODULES:
        if path == WORKER / "dynamo.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.Attribute) and node.attr.startswith("_dynamo")), path.name
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "torch":
                assert not node.attr.startswith("_") or node.attr == "__version__" or node.attr == "__file__", (
                    f"{path.name}: torch.{node.attr}"
                )
        assert not [name for name in imports(path) if name.startswith("torch._")], path.name


def test_every_outcome_has_a_sentence() -> None:
    from graphbreak.core.breaks import OUTCOME_WORDS
    from graphbreak.core.findings import Outcome

    assert set(OUTCOME_WORDS) == set(Outcome) - {Outcome.TRACED}


def test_every_fix_is_documented_and_in_the_table() -> None:
    from graphbreak.fixes import FIXERS

    for row in FIXERS:
        module = sys.modules[row.fixer.__module__]
        words = (module.__doc__ or "").lower()
        assert all(word in words for word in ("before", "after", "not safe")), module.__name__
    modules = {sys.modules[row.fixer.__module__].__name__.rpartition(".")[2] for row in FIXERS}
    assert len(modules) == len(FIXERS)


def test_every_fix_has_a_case() -> None:
    from fix_titles import shown
    from graphbreak.fixes import FIXERS

    modules = {row.fixer.__module__.rpartition(".")[2] for row in FIXERS}
    assert modules - set(shown()) == set()


def test_every_module_says_what_it_is_for() -> None:
    for path in MODULES:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{path} has no docstring"


def test_no_module_is_longer_than_one_reads_in_a_sitting() -> None:
    long = {
        str(path.relative_to(PACKAGE)): count for path in MODULES if (count := len(path.read_text(encoding="utf-8").splitlines())) > 450
    }
    assert not long


def test_what_is_on_the_editors_screen_is_waited_for() -> None:
    """VS Code draws in parts and draws anew: what has to be there is waited for, and only what must not be there is asked once."""
    read_once = []
    for path in sorted((Path(__file__).parent / "e2e" / "vscode").glob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Assert) and not _is_absence(node.test):
                calls = [ast.unparse(part.func) for part in ast.walk(node.test) if isinstance(part, ast.Call)]
                read_once += [f"{path.name}:{node.lineno} {call}" for call in calls if call.startswith(("workbench.", "view."))]
    assert not read_once


def _is_absence(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) or (isinstance(test, ast.Compare) and ast.unparse(test.comparators[0]) == "[]")
