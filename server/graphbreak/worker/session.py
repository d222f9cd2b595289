"""Everything that is put in place around a program so that its compiles are recorded, and taken away again."""

from __future__ import annotations

import functools
import importlib
import logging
import types
from collections.abc import Callable
from typing import Any

import torch

from . import compiling, devices, dynamo
from .keeping import Keeping
from .listening import LimitHandler, TraceHandler
from .marks import Marks
from .protocol import DeviceSeen, Explained, Place
from .recorder import Recorder


class Session:
    """One recording. `on_enough` is called, inside the user's call, once the program may be ended; `keep` is as in `Job`."""

    def __init__(self, recorder: Recorder, on_enough: Callable[[], None], keep: float = 0.0) -> None:
        self.marks = Marks(recorder)
        self._recorder = recorder
        self._on_enough = on_enough
        self._on_cuda = False
        disabled: dict[int, Place] = {}
        self.keeping = Keeping(keep)
        self.trace = handler = TraceHandler(recorder, self.marks, disabled)
        self._undo = [
            dynamo.patch(torch, "compile", functools.partial(compiling.recording_compile, recorder=recorder, marks=self.marks)),
            *(
                dynamo.patch(owner, "disable", functools.partial(compiling.noting_disable, disabled=disabled))
                for owner in dynamo.disable_owners()
            ),
            compiling.watch_calls(recorder, self.marks, self._called),
            dynamo.watch_lines(handler.line),
            dynamo.make_only(handler.needs),
            _listen(dynamo.TRACE_LOGGER, handler, logging.DEBUG),
            _listen(dynamo.LIMIT_LOGGER, LimitHandler(recorder, self.marks), logging.WARNING),
        ]
        if "decompiled" in recorder.details:
            self._undo.append(dynamo.watch_bytecode(self._decompile))
        dynamo.skip_folder_of(__package__)
        if not recorder.honour_fullgraph:
            dynamo.allow_scalar_capture()

    def add(self, undo: dynamo.Undo) -> None:
        """Something more was put around the program, to be taken away with the rest."""
        self._undo.append(undo)

    def end(self) -> None:
        """Take everything back."""
        while self._undo:
            self._undo.pop()()

    def _called(self, mark: int, values: Any) -> None:
        if not self._on_cuda and devices.cuda_is_in_use():
            self._on_cuda = True
            self._recorder.send(DeviceSeen("cuda", "cuda"))
        if self._recorder.recording:
            self.keeping.note(self.marks, mark, values)
        if self._recorder.explain and self.marks.is_called(mark, self._recorder.explain):
            self._explain(mark, values)
        if self._recorder.shown_enough:
            self._on_enough()

    def _decompile(self, code: types.CodeType) -> None:
        """Send what depyf makes of a code object, or one sentence where the user's environment has no depyf."""
        try:
            text = str(importlib.import_module("depyf").decompile(code))
        except ModuleNotFoundError:
            text = "depyf is not installed in this environment."
        except Exception as error:
            text = f"depyf cannot decompile this: {type(error).__name__}: {error}"
        self._recorder.send(Explained(f"decompiled {code.co_name}", dynamo.current_compile_id(), text))

    def _explain(self, mark: int, values: Any) -> None:
        """Hand this call to PyTorch's own explain, and end the program with it."""
        self._recorder.explain = ""
        text = dynamo.explanation(self.marks.target(mark), values.get("args", ()), values.get("kwargs", {}))
        self._recorder.send(Explained("explain", "", text))
        self._on_enough()

    def eager_verdict(self, error: BaseException) -> tuple[int, str]:
        """For an exception that came out of a compiled call: its mark, and what the same call does without compiling.

        The call is made again, with the inputs as the failed one left them. Returns (-1, "") where no compiled call is on its stack.
        """
        step = error.__traceback__
        while step is not None:
            mark = self.marks.of_frame(step.tb_frame)
            if mark is not None:
                values = step.tb_frame.f_locals
                return mark, self._again(mark, values.get("args", ()), values.get("kwargs", {}), error)
            step = step.tb_next
        return -1, ""

    def _again(self, mark: int, args: Any, kwargs: Any, error: BaseException) -> str:
        target = self.marks.target(mark)
        recording, self._recorder.recording = self._recorder.recording, False
        try:
            dynamo.without_compiling(lambda: target(*args, **kwargs))
        except Exception as other:
            same = type(other) is type(error) or dynamo.is_compiler_error(error)
            return f"{'raises' if same else 'differs'}: {type(other).__name__}: {str(other)[:1000]}"
        finally:
            self._recorder.recording = recording
        return "returns"


def _listen(logger: str, handler: logging.Handler, level: int) -> dynamo.Undo:
    """Give one of torch's loggers a handler of ours."""
    target = logging.getLogger(logger)
    target.addHandler(handler)
    if level < (target.level or level + 1):
        target.setLevel(level)
    return lambda: target.removeHandler(handler)
