"""Python imports this before the program, when `graphbreak record` puts its folder on PYTHONPATH: it waits for the program to import torch.

Nothing else may change for the program: the folder is taken off `sys.path` again, and the `sitecustomize` that it hides is run.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_WORKER = os.path.dirname(_HERE)


class _WaitForTorch:
    """Stands first among the finders until torch is imported, and has the recording start right after that."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name != "torch":
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        real = spec.loader.exec_module

        def exec_module(module: object) -> None:
            real(module)  # type: ignore[arg-type]
            _start_recording()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _start_recording() -> None:
    """Record in this process. Whatever goes wrong with that is not the program's trouble."""
    try:
        if "graphbreak_worker" not in sys.modules:
            spec = importlib.util.spec_from_file_location(
                "graphbreak_worker", os.path.join(_WORKER, "__init__.py"), submodule_search_locations=[_WORKER]
            )
            assert spec is not None
            assert spec.loader is not None
            package = sys.modules["graphbreak_worker"] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(package)
        from graphbreak_worker import recording  # type: ignore[import-not-found]

        recording.start(os.environ["GRAPHBREAK_RECORD"], os.environ["GRAPHBREAK_RECORD_ROOT"])
    except Exception as error:
        print(f"graphbreak: nothing is recorded in process {os.getpid()}: {type(error).__name__}: {error}", file=sys.stderr)


def _run_the_hidden_one() -> None:
    """Run the `sitecustomize` that Python would have imported without this one."""
    del sys.modules["sitecustomize"]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        sys.modules["sitecustomize"] = importlib.util.module_from_spec(importlib.machinery.ModuleSpec("sitecustomize", None))
        return
    module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != _HERE]
if "GRAPHBREAK_RECORD" in os.environ:
    sys.meta_path.insert(0, _WaitForTorch())  # type: ignore[arg-type]
_run_the_hidden_one()
