"""Start by path with the user's interpreter: `python .../worker/__main__.py MODE [...]`. Nothing of ours stays on their `sys.path`.

MODE `parent`: import torch once and fork a process for each job asked for on the socket FD (Linux).
MODE `once`: one job, read from standard input, answered on standard output.
MODE `observe`: one run of a comparison, its job read from standard input, its notes put into the folder that is named.
"""

import importlib.util
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _load() -> None:
    """Make the package importable as `graphbreak_worker` without its folder being on the path."""
    if sys.path and os.path.abspath(sys.path[0] or ".") == _FOLDER:
        del sys.path[0]
    spec = importlib.util.spec_from_file_location(
        "graphbreak_worker", os.path.join(_FOLDER, "__init__.py"), submodule_search_locations=[_FOLDER]
    )
    assert spec is not None
    assert spec.loader is not None
    package = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    _load()
    from graphbreak_worker.loop import run_observed, run_once, run_parent  # type: ignore[import-not-found]

    if sys.argv[1] == "parent":
        run_parent(int(sys.argv[2]))
    elif sys.argv[1] == "observe":
        run_observed(sys.argv[2], int(sys.argv[3]))
    else:
        run_once()
