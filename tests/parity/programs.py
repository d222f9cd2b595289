"""The programs that the product and PyTorch's own trace are compared on: given cases, examples, the Markdown cases, the pages of rules."""

from __future__ import annotations

import ast
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from graphbreak.rules import pages
from markdown_cases import all_cases

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parent.parent / "examples"
ENDLESS = {"027_queue_server": 20.0}
"""Programs that wait for ever, and after how many seconds they are ended."""
_EXAMPLE_CALL = re.compile(r"^(\s*)# graphbreak: (?!ignore)(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A program: a file or folder to copy, or a text."""

    name: str
    origin: Path | None = None
    text: str = ""
    timeout: float = 120.0

    def write(self, folder: Path, for_trace: bool) -> Path:
        """Put the program into an empty folder and return the file to run. `for_trace` writes out its example calls, see `with_calls`."""
        folder.mkdir(parents=True)
        if self.origin is not None and self.origin.is_dir():
            shutil.copytree(self.origin, folder, dirs_exist_ok=True)
            return folder / "main.py"
        entry = folder / (self.origin.name if self.origin is not None else "case.py")
        text = self.source.replace("import torch\n", "import torch; torch.manual_seed(0)\n", 1)  # no line moves; both see the same numbers
        entry.write_text(with_calls(text) if for_trace else text, encoding="utf-8")
        return entry

    @property
    def source(self) -> str:
        """The text of a program of one file."""
        return self.origin.read_text(encoding="utf-8") if self.origin is not None and self.origin.is_file() else self.text

    @property
    def has_calls(self) -> bool:
        """Whether it has example calls in comments."""
        return _EXAMPLE_CALL.search(self.source) is not None


def given_cases() -> list[Program]:
    """The programs in `cases/`."""
    found = [path for path in sorted((FOLDER / "cases").iterdir()) if path.suffix == ".py" or path.is_dir()]
    return [Program(path.stem, path, timeout=ENDLESS.get(path.stem, 120.0)) for path in found if path.name != "__pycache__"]


def examples() -> list[Program]:
    """The files in `examples/`."""
    return [Program(f"examples/{path.name}", path) for path in sorted(EXAMPLES.glob("*.py"))]


def markdown_programs() -> list[Program]:
    """The code of each case in `tests/cases/`."""
    return [Program(case.name, text=case.code) for case in all_cases()]


def rule_programs() -> list[Program]:
    """The program of each page of rules that shows the break which the page is about."""
    return [Program(f"rule {page.code}", text=page.before) for page in pages()]


def with_calls(text: str) -> str:
    """The program with the example calls of its comments as real calls at its end, each in a `try` as the product keeps them apart.

    What an example call stands above is compiled there as well, unless its own decorator does that. No line above the end moves.
    """
    lines = text.splitlines()
    added: list[str] = []
    for match in _EXAMPLE_CALL.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        path, decorated = _definition_below(text, line)
        if not decorated:
            added.append(f"{path} = torch.compile({path})")
        added += ["try:", f"    {match.group(2)}", "except Exception:", "    pass"]
    return "\n".join([*lines, *added]) + "\n"


def _definition_below(text: str, line: int) -> tuple[str, bool]:
    """The dotted path of the first definition behind a line, and whether we have not to compile it: a decorator does, or there is none."""
    found: list[tuple[int, str, bool]] = []

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                if node.lineno > line:
                    compiled = any("compile" in ast.unparse(decorator) for decorator in node.decorator_list)
                    found.append((node.lineno, prefix + node.name, compiled))
                visit(node.body, f"{prefix}{node.name}.")

    visit(ast.parse(text).body, "")
    _, path, compiled = min(found, default=(line, "", True))
    return path, compiled
