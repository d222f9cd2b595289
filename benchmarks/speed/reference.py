"""What a trace costs in a process that is warm already: runs a file again and again, `torch.compile` with the backend `eager`.

It needs the standard library and torch alone. Started by `Reference`, it reads paths and answers seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_LEAN = "--lean"


class Reference:
    """The process, driven from outside. With `measuring` false Dynamo leaves out there what it leaves out in our workers, so that what is
    ours can be told from the difference."""

    def __init__(self, folder: Path, *, measuring: bool = True) -> None:
        options = [] if measuring else [_LEAN]
        self._process = subprocess.Popen(
            [sys.executable, __file__, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            text=True,
        )

    def trace(self, path: Path, text: str | None = None) -> float:
        """Run a file, or a text as if it were in it: the seconds that this takes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(path), text if text is not None else path.read_text(encoding="utf-8")]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the reference process ended while it ran {path.name}")
        answer = json.loads(line)
        if isinstance(answer, str):
            raise RuntimeError(f"{path.name}: {answer}")
        return float(answer)

    def __enter__(self) -> Reference:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    import torch
    import torch._dynamo

    torch.set_num_threads(1)  # as in the workers
    if _LEAN in sys.argv:
        _leave_measuring_out()
    original = torch.compile

    def compile_eagerly(model: Any = None, **options: Any) -> Any:
        return original(model, **{**options, "backend": "eager"})

    torch.compile = compile_eagerly  # type: ignore[assignment]
    _run("warm.py", "import torch\n@torch.compile\ndef f(x):\n    y = x * 2\n    print('')\n    return y + 1\nf(torch.ones(3))\n")
    for line in sys.stdin:
        path, text = json.loads(line)
        torch._dynamo.reset()
        try:
            answer: object = _run(path, text)
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _leave_measuring_out() -> None:
    import torch._dynamo.guards as guards
    import torch._dynamo.utils as utils

    guards.profile_guard_manager = lambda *args: 0.0  # type: ignore[attr-defined,assignment]
    for name in ("_get_dynamo_config_for_logging", "_scrubbed_inductor_config_for_logging"):
        setattr(utils, name, lambda: None)


def _run(path: str, text: str) -> float:
    sys.path[0] = os.path.dirname(path)
    space = {"__name__": "__main__", "__file__": path}
    begin = time.perf_counter()
    exec(compile(text, path, "exec"), space)
    return time.perf_counter() - begin


if __name__ == "__main__":
    _serve()
