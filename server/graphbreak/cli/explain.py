"""`graphbreak explain FILE::NAME`: PyTorch's own explain report for the call that the file makes, and on request what it is made of."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from ..core.explained import Explanation
from ..core.requests import AnalysisRequest, Settings
from ..tracer.engine import Engine
from ..tracer.files import read_source
from .check import request_for
from .permissions import permissions_of


def explain(options: argparse.Namespace) -> int:
    """Run the command; exit status 0 with a report, 2 without."""
    file, _, name = options.target.partition("::")
    if not file or not name:
        print("graphbreak: say which function as FILE::NAME, for example train.py::Net.forward", file=sys.stderr)
        return 2
    source = read_source(os.path.abspath(file)) if Path(file).is_file() else None
    if source is None:
        print(f"graphbreak: {file} cannot be read as Python text", file=sys.stderr)
        return 2
    details = [detail for detail in ("graphs", "guards", "bytecode", "decompiled") if getattr(options, detail)]
    settings = Settings(interpreter=options.python, timeout=options.timeout, device=options.device, permissions=permissions_of(options))
    found = asyncio.run(_explain(request_for(source, settings, named=True), name, details))
    if found.problem:
        print(f"graphbreak: {found.problem}", file=sys.stderr)
        return 2
    print(found.report.rstrip())
    for artifact, compile_id, text in found.artifacts:
        print(f"\n== {artifact} [{compile_id}]\n{text.rstrip()}")
    return 0


async def _explain(request: AnalysisRequest, name: str, details: list[str]) -> Explanation:
    engine = Engine()
    try:
        return await engine.explain(request, name, details)
    finally:
        await engine.close()
