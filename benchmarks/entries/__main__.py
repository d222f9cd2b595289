"""How long it takes to find the programs that come by a file, in a workspace of 5,000 files: `python -m benchmarks.entries`.

Ratios in one run: everything is told in multiples of reading and parsing, once, all files that mention `compile`, which is what is saved.
The goals: the first search takes at most as long as that, and one after a single change at most a tenth of it.
"""

from __future__ import annotations

import ast
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.speed.programs import LAYER

from graphbreak.tracer.scan import WorkspaceScan

PACKAGES, MODULES = 50, 100


def main() -> int:
    """Write the workspace, search it, print the ratios: 0 where the goals are met."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        layer = _write(root, random.Random(0))
        parsed, _ = _timed(lambda: [ast.parse(text) for path in root.rglob("*.py") if "compile" in (text := path.read_text())])
        scan = WorkspaceScan([folder])
        first, found = _timed(lambda: scan.entries_for(str(layer), {}))
        layer.write_text(layer.read_text() + "\n# changed\n")
        again, _ = _timed(lambda: scan.entries_for(str(layer), {}))
    names = ", ".join(Path(path).relative_to(folder).as_posix() for path in found)
    print(f"{PACKAGES * MODULES} files; programs for {layer.relative_to(folder)}: {names}")
    print(f"first search: {first / parsed:.2f} x parsing what mentions compile ({first:.2f} s); after a change: {again / parsed:.2f} x")
    return 0 if found and first <= parsed and again <= parsed / 10 else 1


def _write(root: Path, chance: random.Random) -> Path:
    for package in range(PACKAGES):
        folder = root / f"p{package}"
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        for module in range(MODULES):
            imports = "".join(f"from p{chance.randrange(package + 1)}.m{chance.randrange(MODULES)} import Layer0\n" for _ in range(4))
            body = "".join(LAYER.format(number=number, word="compile") for number in range(6))
            program = "\nif __name__ == '__main__':\n    torch.compile(Layer0(8))(torch.randn(2, 3, 8))\n" if module % 50 == 7 else ""
            (folder / f"m{module}.py").write_text(f"import re\nimport torch\nfrom torch import nn\n{imports}{body}{program}")
    return root / "p3" / "m5.py"


def _timed(work: Callable[[], list[str] | list[ast.Module]]) -> tuple[float, list[str]]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, [one for one in result if isinstance(one, str)]


if __name__ == "__main__":
    sys.exit(main())
