"""PyTorch's structured trace as messages, each made in the thread and at the moment of its record."""

from __future__ import annotations

import ast
import json
import logging
import re
import sys
import time
from typing import Any

from . import dynamo, stacks
from .marks import Marks
from .protocol import BreakSeen, Explained, FrameCompiled, LimitHit, Place, Recompiled
from .recorder import Recorder

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_GUARD = re.compile(r"^\d+/\d+: (.*?)(?:  +# .*)?$", re.MULTILINE)
_MOST_REASONS = 16
_HEARD = frozenset({"dynamo_start", "compilation_metrics", "dynamo_graph_break_reason", "dynamo_error", "recompile_reasons"})


class TraceHandler(logging.Handler):
    """Hears each record of the structured trace."""

    def __init__(self, recorder: Recorder, marks: Marks, disabled: dict[int, Place]) -> None:
        super().__init__(logging.DEBUG)
        self._recorder, self._marks, self._disabled = recorder, marks, disabled
        self._started: dict[str, float] = {}
        self._broken: set[str] = set()
        self._lines: dict[str, tuple[int, dict[tuple[str, int], None]]] = {}
        self.traced: set[tuple[str, int]] = set()
        """All the lines outside torch that counted."""
        self.seconds = 0.0
        """How long Dynamo was at work."""

    def begin_anew(self) -> None:
        """Dynamo was reset, and numbers its compiles from the beginning."""
        self._started.clear()
        self._broken.clear()
        self._lines.clear()

    def line(self, file: str, line: int, compile_id: str, attempt: int) -> None:
        """Dynamo traced a line; what an earlier attempt at the same frame traced no longer counts."""
        if dynamo.in_torch(file):
            return
        self._recorder.traced.add((file, line))
        known = self._lines.get(compile_id)
        if known is None or known[0] != attempt:
            known = self._lines[compile_id] = (attempt, {})
        known[1][file, line] = None

    def needs(self, name: str) -> bool:
        """Whether anything is made of the records of a name."""
        return name in _HEARD or any(wanted in name for wanted in self._recorder.details)

    def emit(self, record: logging.LogRecord) -> None:
        """Take in one record."""
        metadata = getattr(record, "metadata", None) or {}
        try:
            if "artifact" in metadata:
                self._artifact(metadata, getattr(record, "payload", "") or "")
            elif "dynamo_start" in metadata:
                self._started[_compile_id(metadata)] = time.perf_counter()
            elif "compilation_metrics" in metadata:
                self._compiled(metadata)
            self._detail(metadata, record)
        except Exception as error:  # a fault of ours must not end the user's program
            self._recorder.notes.append(f"a record of PyTorch's trace could not be read, so a break may be missing: {error!r:.300}")

    def _artifact(self, metadata: dict[str, Any], payload: Any) -> None:
        name = metadata["artifact"].get("name")
        if name == "dynamo_graph_break_reason":
            self._broken.add(_compile_id(metadata))
            self._break(metadata, str(payload), dynamo.current_break(), error=False)
        elif name == "dynamo_error" and _compile_id(metadata) not in self._broken:
            error = sys.exc_info()[1]
            if error is not None and dynamo.is_break(error):
                self._break(metadata, str(error), error, error=dynamo.reaches_the_program(error))
        elif name == "recompile_reasons":
            self._recompiled(metadata, payload)

    def _break(self, metadata: dict[str, Any], text: str, cause: BaseException | None, error: bool) -> None:
        live = stacks.live_frames(sys._getframe(1))
        above, inside = dynamo.above_dynamo(live), dynamo.user_stack(cause, live)
        joined = stacks.without_resumed_parents([*above, *inside])
        count = len(joined) - len(stacks.without_resumed_parents(inside))
        entry = dynamo.registry_entry(text)
        self._recorder.record(
            BreakSeen(
                mark=self._marks.outermost(live),
                compile_id=_compile_id(metadata),
                attempt=int(metadata.get("attempt") or 0),
                text=text,
                above=joined[:count],
                frames=joined[count:],
                error=error,
                intent=self._intent(text),
                registry_id=str(entry.get("id", "")),
                registry_explanation=str(entry.get("Explanation", "")),
                registry_hints=[str(hint) for hint in entry.get("Hints", [])],
            )
        )

    def _intent(self, text: str) -> Place | None:
        if "disable" not in text:
            return None
        found = (self._disabled.get(int(address, 16)) for address in _ADDRESS.findall(text))
        return next((place for place in found if place is not None), None)

    def _compiled(self, metadata: dict[str, Any]) -> None:
        metrics = metadata["compilation_metrics"]
        compile_id = _compile_id(metadata)
        started = self._started.get(compile_id)
        _, lines = self._lines.pop(compile_id, (0, {}))
        seconds = time.perf_counter() - started if started is not None else 0.0
        self.traced.update(lines)
        self.seconds += seconds
        self._recorder.record(
            FrameCompiled(
                mark=self._marks.outermost(stacks.live_frames(sys._getframe(1))),
                compile_id=compile_id,
                function=str(metrics.get("co_name") or ""),
                file=str(metrics.get("co_filename") or ""),
                first_line=int(metrics.get("co_firstlineno") or 0),
                ops=metrics.get("graph_op_count"),
                seconds=seconds,
                fail_type=str(metrics.get("fail_type") or ""),
                lines=[[file, line] for file, line in lines],
            )
        )

    def _recompiled(self, metadata: dict[str, Any], payload: Any) -> None:
        reasons = _reasons(payload)
        live = stacks.live_frames(sys._getframe(1))
        code, frame = dynamo.frame_being_compiled(live)
        if code is None:
            return
        values = getattr(frame, "f_locals", None) or {}
        self._recorder.record(
            Recompiled(
                mark=self._marks.outermost(live),
                compile_id=_compile_id(metadata),
                function=code.co_name,
                file=code.co_filename,
                first_line=code.co_firstlineno,
                reasons=reasons,
                actual=[_actual(reason, values) for reason in reasons],
            )
        )

    def _detail(self, metadata: dict[str, Any], record: logging.LogRecord) -> None:
        """Send an artifact that was asked for: graph code, guards, bytecode."""
        name = str((metadata.get("artifact") or {}).get("name") or next((key for key in metadata if key.startswith("dynamo_")), ""))
        if any(wanted in name for wanted in self._recorder.details):
            self._recorder.send(Explained(name, _compile_id(metadata), str(getattr(record, "payload", "") or "")[:400_000]))


class LimitHandler(logging.Handler):
    """Hears the warning of a recompile limit, which leaves no record in the structured trace."""

    def __init__(self, recorder: Recorder, marks: Marks) -> None:
        super().__init__(logging.WARNING)
        self._recorder, self._marks = recorder, marks

    def emit(self, record: logging.LogRecord) -> None:
        """Take in one warning."""
        values = record.args if isinstance(record.args, tuple) else ()
        if "hit config.%s" not in str(record.msg) or len(values) < 4:
            return
        live = stacks.live_frames(sys._getframe(1))
        code, _ = dynamo.frame_being_compiled(live)
        if code is not None:
            mark = self._marks.outermost(live)
            limit = f"{values[0]} ({values[1]})"
            self._recorder.record(LimitHit(mark, limit, code.co_name, code.co_filename, code.co_firstlineno, str(values[3])))


def _compile_id(metadata: dict[str, Any]) -> str:
    return f"{metadata.get('frame_id', '')}/{metadata.get('frame_compile_id', '')}"


def _reasons(payload: Any) -> list[str]:
    """The payload is a JSON string or list, made into text or not depending on the version."""
    if isinstance(payload, str):
        try:
            payload = json.loads(payload)
        except ValueError:
            payload = [payload]
    found = payload if isinstance(payload, list) else [payload]
    return [str(reason) for reason in found[:_MOST_REASONS]]


def _actual(reason: str, values: Any) -> str:
    """What the guarded value is now, for a guard that compares a name or an attribute with a constant; else nothing."""
    match = _GUARD.match(reason)
    if match is None:
        return ""
    try:
        tree = ast.parse(match.group(1).strip(), mode="eval").body
        if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or not _is_path(tree.left):
            return ""
        value = eval(compile(ast.Expression(tree.left), "<guard>", "eval"), {"__builtins__": {}}, dict(values))
    except Exception:
        return ""
    return repr(value) if isinstance(value, (int, float, str, bool, type(None))) else ""


def _is_path(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
