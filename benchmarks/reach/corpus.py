"""The corpus: programs without a call of what they mark, each with its true call kept apart.

`programs/*.md` were written for this in the style of public repositories, before anything was tuned on them. The others are the programs of
`tests/parity/cases` with the statements taken out that call what is compiled; no line moves. A third of all, chosen by a hash of their
names, is held out: it was run for the figures only.
"""

from __future__ import annotations

import ast
import hashlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
GIVEN = HERE.parent.parent / "tests" / "parity" / "cases"
LEFT_OUT = {
    "021_optional_kernel": "imports a module that is not there, so nothing in it can run",
    "022_flow_inverse": "its own program never comes to what it marks",
    "029_bench_cli": "without arguments its own program never comes to what it marks",
}
"""Given cases that say nothing here, and why."""
ENDLESS = {"027_queue_server": 20.0}
"""Given cases that never end, and the seconds after which their true run is ended."""


@dataclass(frozen=True)
class Entry:
    """One program: `files` by name, of which `main` is analysed, with the text that calls nothing and the true one."""

    name: str
    main: str
    without: str
    true: str
    folder: Path | None = None
    timeout: float = 180.0

    @property
    def held_out(self) -> bool:
        """Whether it was not looked at while the guesses were tuned."""
        return hashlib.sha256(self.name.encode()).digest()[0] % 3 == 0

    def write(self, folder: Path, true: bool) -> Path:
        """Put the program into an empty folder and return the file to analyse."""
        folder.mkdir(parents=True)
        if self.folder is not None:
            shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        path = folder / self.main
        path.write_text(self.true if true else self.without, encoding="utf-8")
        return path


def entries() -> list[Entry]:
    """All of them, in order."""
    return [*_given(), *(entry for path in sorted((HERE / "programs").glob("*.md")) for entry in _written(path))]


_CASE = re.compile(r"^# (?P<name>.+?)\n+```py\n(?P<code>.*?)^```\n+```true\n(?P<call>.*?)^```", re.MULTILINE | re.DOTALL)


def _written(path: Path) -> list[Entry]:
    return [
        Entry(f"{path.stem}: {case['name']}", "main.py", case["code"], f"{case['code']}\n\n{case['call']}")
        for case in _CASE.finditer(path.read_text(encoding="utf-8"))
    ]


def _given() -> list[Entry]:
    found = []
    for path in sorted(GIVEN.iterdir()):
        if path.stem not in LEFT_OUT and (path.suffix == ".py" or path.is_dir()) and path.name != "__pycache__":
            main = path / "main.py" if path.is_dir() else path
            text = main.read_text(encoding="utf-8")
            name = "main.py" if path.is_dir() else path.name
            found.append(
                Entry(
                    f"given: {path.stem}", name, without_calls(text), text, path if path.is_dir() else None, ENDLESS.get(path.stem, 180.0)
                )
            )
    return found


# Taking calls out


def without_calls(text: str) -> str:
    """The program without the statements that call what it compiles, nor those that need what these made. No line moves."""
    tree = ast.parse(text)
    names = _compiled_names(tree)
    lines = text.split("\n")
    for body in _bodies(tree):
        gone: set[str] = set()
        left = list(body)
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.If)):
                continue
            if _calls(statement, names) or _loads(statement) & gone:
                gone |= _stores(statement)
                left.remove(statement)
                _blank(lines, statement, keep=len(left) == 0)
    return "\n".join(lines)


def _bodies(tree: ast.Module) -> list[list[ast.stmt]]:
    """The blocks in which calls are looked for: the top level, the block for `__main__`, and those of plain functions."""
    plain = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not _is_compiled(node)]
    mains = [node for node in tree.body if isinstance(node, ast.If)]
    return [tree.body, *(node.body for node in plain), *(node.body for node in mains)]


def _compiled_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _is_compiled(node):
            names.add(node.name)
        elif isinstance(node, ast.Assign) and "torch.compile(" in ast.unparse(node.value):
            names |= _stores(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".compile") and ast.unparse(node.func) != "torch.compile":
            names.add(ast.unparse(node.func).removesuffix(".compile"))
    for node in ast.walk(tree):  # what a factory gives back under another name
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _returns_compiled(tree, ast.unparse(node.value.func)):
            names |= _stores(node)
    return names


def _returns_compiled(tree: ast.Module, name: str) -> bool:
    makers = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    return any(isinstance(inner, ast.FunctionDef) and _is_compiled(inner) for maker in makers for inner in ast.walk(maker))


def _is_compiled(node: ast.FunctionDef) -> bool:
    return any("compile" in ast.unparse(decorator) for decorator in node.decorator_list)


def _calls(statement: ast.stmt, names: set[str]) -> bool:
    called = [ast.unparse(node.func) for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return any(name in names or name.rpartition(".")[0] in names for name in called if not name.endswith(".compile"))


def _loads(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _stores(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _blank(lines: list[str], statement: ast.stmt, keep: bool) -> None:
    first = lines[statement.lineno - 1]
    for number in range(statement.lineno - 1, statement.end_lineno or statement.lineno):
        lines[number] = ""
    if keep:
        lines[statement.lineno - 1] = first[: len(first) - len(first.lstrip())] + "pass"
