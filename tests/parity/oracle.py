"""What PyTorch itself says of a program: its causes of graph breaks and its graphs, read from a `TORCH_TRACE` folder.

Nothing of the product is used here, so that the two can be compared. The format is PyTorch's: a line of JSON per record, and its payload
on the lines behind it, each with a tab in front.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_RUNNER = Path(__file__).with_name("traced_program.py")
_RECORD = re.compile(r"^V\d{4} [^\]]*\] (\{.*\})$")
_FRAME = re.compile(r'^ {2,3}File "(.+?)", line (\d+), in ', re.MULTILINE)
_RAISED = re.compile(r"^torch\._dynamo\.exc\.(?:Unsupported|UserError): ", re.MULTILINE)
_REASON = "Graph Break Reason: "
_PYTHONS_OWN = "\nTraceback (most recent call last):\n"
_NOT_FROM_OUTSIDE = ("TORCH_", "TORCHDYNAMO_", "PYTHONPATH")


@dataclass(frozen=True, order=True)
class Cause:
    """One cause, as far as a trace tells them apart: the deepest workspace line, the innermost line, and the type of the break.

    Paths are relative to the program's folder where they lie in it; lines count from 1.
    """

    path: str
    line: int
    inner_path: str
    inner_line: int
    gb_type: str


@dataclass(frozen=True)
class Verdict:
    """All that a run showed. `status` is its exit status; `output` the end of what it wrote to stderr."""

    causes: frozenset[Cause]
    graphs: int
    status: int
    timed_out: bool
    output: str


def ask(interpreter: str, program: Path, folder: Path, timeout: float) -> Verdict:
    """Run a program in its folder and read the trace; a program that does not end is ended, and what it showed until then counts."""
    with tempfile.TemporaryDirectory() as trace:
        variables = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_FROM_OUTSIDE)}
        variables.update(TORCH_TRACE=trace, PYTHONDONTWRITEBYTECODE="1", CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1")
        process = subprocess.Popen(
            [interpreter, str(_RUNNER), str(program)],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        timed_out = False
        try:
            _, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            os.killpg(process.pid, signal.SIGKILL)
            _, errors = process.communicate()
        records = [record for log in sorted(Path(trace).glob("*.log")) for record in _records(log)]
    causes = frozenset(cause for text in _reports(records) if (cause := _cause(text, str(folder))) is not None)
    graphs = sum("dynamo_output_graph" in metadata for metadata, _ in records)
    return Verdict(causes, graphs, process.returncode, timed_out, errors.decode("utf-8", "replace")[-2000:])


_Record = tuple[dict[str, object], str]


def _records(log: Path) -> Iterator[_Record]:
    """Each record's metadata with its payload."""
    metadata: dict[str, object] | None = None
    payload: list[str] = []
    for line in log.read_text(encoding="utf-8", errors="replace").split("\n"):
        found = _RECORD.match(line)
        if found:
            if metadata is not None:
                yield metadata, "\n".join(payload)
            metadata, payload = json.loads(found.group(1)), []
        elif line.startswith("\t"):
            payload.append(line[1:])
    if metadata is not None:
        yield metadata, "\n".join(payload)


def _reports(records: list[_Record]) -> Iterator[tuple[str, str]]:
    """The reason and the user's stack of each break: of the break records, and of the errors of frames that have no break record."""
    artifacts = [(metadata.get("artifact"), metadata, text) for metadata, text in records]
    named = [(artifact.get("name"), metadata, text) for artifact, metadata, text in artifacts if isinstance(artifact, dict)]
    recorded = set()
    for name, metadata, text in named:
        if name == "dynamo_graph_break_reason":
            recorded.add(_frame(metadata))
            reason, _, stack = text.partition(_PYTHONS_OWN)[0].rpartition("User code traceback:\n")
            yield reason.partition(_REASON)[2], stack
    for name, metadata, text in named:
        raised = list(_RAISED.finditer(text)) if name == "dynamo_error" and _frame(metadata) not in recorded else []
        if raised:
            reason, _, stack = text[raised[-1].end() :].rpartition("from user code:\n")
            yield reason, stack


def _frame(metadata: dict[str, object]) -> tuple[object, object]:
    return metadata.get("frame_id"), metadata.get("frame_compile_id")


def _cause(report: tuple[str, str], folder: str) -> Cause | None:
    reason, stack = report
    frames = [(match.group(1), int(match.group(2))) for match in _FRAME.finditer(stack)]
    frames = [frame for frame in frames if frame[0] != str(_RUNNER)]
    if not frames:
        return None
    inner = frames[-1]
    own = [frame for frame in frames if frame[0].startswith(folder + os.sep)]
    blamed = own[-1] if own else inner
    return Cause(_short(blamed[0], folder), blamed[1], _short(inner[0], folder), inner[1], _type(reason))


def _type(reason: str) -> str:
    """The first line of the reason itself: what announces it is a paragraph that ends with a colon."""
    paragraphs = reason.strip("\n").split("\n\n")
    while len(paragraphs) > 1 and "\n" not in paragraphs[0].strip() and paragraphs[0].rstrip().endswith(":"):
        del paragraphs[0]
    return re.sub(r" at 0x[0-9a-f]+", "", paragraphs[0].strip().split("\n")[0].strip())


def _short(path: str, folder: str) -> str:
    return os.path.relpath(path, folder) if path.startswith(folder + os.sep) else path
