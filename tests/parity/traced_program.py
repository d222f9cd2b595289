"""Runs a program as `python FILE` would, with two settings of PyTorch changed: `python traced_program.py FILE`.

It runs in the interpreter whose torch is asked, so it uses the standard library and torch only. Backends never run (`backend="eager"`
where the program names none, or inductor), and the stacks that PyTorch reports keep neighbouring frames of one name.
"""

from __future__ import annotations

import functools
import os
import sys
import types
from typing import Any


def use_eager_backend() -> None:
    import torch

    real: Any = torch.compile

    @functools.wraps(real)
    def compile(*args: Any, **options: Any) -> Any:  # noqa: A001 - the name that it stands for
        if options.get("backend") in (None, "inductor"):
            options["backend"] = "eager"
            options.pop("mode", None)
            options.pop("options", None)
        return real(*args, **options)

    setattr(torch, "compile", compile)  # noqa: B010 - the types know the real one


def keep_all_frames() -> None:
    import torch._dynamo  # noqa: F401 - brings its modules in

    for name in ("exc", "symbolic_convert", "side_effects"):
        module = sys.modules.get(f"torch._dynamo.{name}")
        if hasattr(module, "collapse_resume_frames"):
            setattr(module, "collapse_resume_frames", lambda stack: stack)  # noqa: B010


def run(path: str) -> None:
    program = types.ModuleType("__main__")
    program.__file__ = path
    sys.modules["__main__"] = program
    sys.argv = [path]
    sys.path[0] = os.path.dirname(path)
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, program.__dict__)


if __name__ == "__main__":
    use_eager_backend()
    keep_all_frames()
    run(os.path.abspath(sys.argv[1]))
