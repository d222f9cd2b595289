"""One trace: run the user's file, or the example calls of its directives, and send what Dynamo does with it. The process ends with it."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import operator
import os
import socket
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from . import debuggers, denials, overlay, stacks, testing, user_module
from .protocol import DeviceSeen, Ended, ExampleCall, Failure, Job, Message, Missing, Place
from .recorder import Recorder

if TYPE_CHECKING:
    from .session import Session


class CanJudge(Protocol):
    """Who can say what a call that failed does without compiling: the session of a recording."""

    def eager_verdict(self, error: BaseException) -> tuple[int, str]:
        """The mark of the call, and the verdict; -1 where there is none."""


def run(job: Job, send: Callable[[Message], None], line: socket.socket | None = None) -> NoReturn:
    """Do the job and leave, with everything said before. Nothing the user's code raises gets past this.

    Where there is a `line` to the server, requests may come on it after the end (`Job.keep`).
    """
    from . import devices, keeping, preloading, reading, session  # the first import of torch, where the parent has not done it

    devices.prepare(job.device)
    if job.names:
        _answer(job.names, send)
    if job.edited is not None:
        from . import comparing

        comparing.run(job, send)
    recorder = Recorder(send)
    recorder.honour_fullgraph = job.honour_fullgraph
    recorder.explain, recorder.details = job.explain, job.details
    recorder.expect(job.marks, job.quiet_seconds, job.quiet_calls)

    def leave(status: int, stopped: str = "", problem: str = "") -> NoReturn:
        if preloading.current is not None and preloading.current.waits:
            preloading.start_over()
        calls = recording.keeping.calls(recording.trace.seconds)
        _say_the_end(recorder, job, status, stopped, problem, bool(calls), noting.names)
        if calls and line is not None:
            keeping.serve(recording, recorder, calls, job.root, line)
        os._exit(0)

    def stop() -> NoReturn:
        seconds, calls = job.quiet_seconds, job.quiet_calls
        leave(0, f"every marked function was called, and {seconds:g} s and {calls} further calls brought nothing new")

    recording = session.Session(recorder, stop, job.keep if line is not None else 0.0)
    prepare(job)
    denials.Watch(denials.told(), recorder.send).begin()
    debuggers.pass_over(recorder.notes)
    recorder.reading = reading.Reading()
    recorder.reading.begin()
    noting = preloading.Noting()
    noting.begin()
    if preloading.current is not None:
        recorder.hold()
        preloading.current.begin(recorder.release)
    if job.device == "cuda" and not devices.cuda_is_there():
        recorder.send(DeviceSeen("cuda", ""))
        leave(0)
    recording.add(devices.stand_in(recorder.send))
    status, problem = 0, ""
    try:
        problem = _run_guesses(job, recorder, recording) if job.guesses else run_program(job, recorder, recording)
    except SystemExit as error:
        status = _exit_status(error)
        if job.calls:  # the file ended itself while it was imported, before its example calls
            _report(recorder, recording, error)
    except BaseException as error:
        status = 1
        _report(recorder, recording, error)
    leave(status, problem=problem)


def _answer(names: list[str], send: Callable[[Message], None]) -> NoReturn:
    """Say which of some names this torch does not have, and leave."""
    from . import dynamo

    send(Missing([name for name in names if not dynamo.has(name)]))
    send(Ended(0, [], []))
    os._exit(0)


def run_program(job: Job, recorder: Recorder, recording: CanJudge) -> str:
    """Run what a job says, to the end of its threads and exit functions. Returns why that is not possible, or nothing.

    Raises what the program raises.
    """
    problem = ""
    if job.calls:
        _run_calls(job, recorder, recording)
    else:
        problem = _run_program(job, lambda error: _report(recorder, recording, error), recorder.notes)
    _finish_program()
    return problem


def prepare(job: Job) -> None:
    """Make the process look to the program as if it had been started by itself."""
    os.chdir(job.root)
    sys.argv = [job.path, *job.arguments]
    user_module.set_import_path(job.path, job.root)
    overlay.install(job.overlay)
    # The worker's own __main__ must not be what the program, or pickle, finds there.
    sys.modules["__main__"] = types.ModuleType("__main__")


def _run_program(job: Job, raised: Callable[[BaseException], None], notes: list[str]) -> str:
    """Run the file as a program, or call the function or run the tests that the job names. Returns why that is not possible, or nothing."""
    if job.tests:
        return testing.run(job.tests, raised, notes)
    if not job.function:
        user_module.run(job.path, job.text, "__main__")
        return ""
    module = user_module.run(job.path, job.text, user_module.module_name(job.path))
    try:
        function = operator.attrgetter(job.function)(module)
    except AttributeError:
        return f"There is no `{job.function}` in {job.path}."
    result = function()
    if inspect.iscoroutine(result):
        asyncio.run(result)
    return ""


def _run_calls(job: Job, recorder: Recorder, recording: CanJudge) -> None:
    """Import the file under its own name, then evaluate each example call and record only that."""
    from . import dynamo

    recorder.recording = False
    module = user_module.run(job.path, job.text, user_module.module_name(job.path))
    dynamo.reset()  # what the module called by itself is compiled by now, and would show nothing again
    compiled: set[str] = set()
    for index, call in enumerate(job.calls):
        recorder.directive = index
        try:
            if call.compile_path and call.compile_path not in compiled and not call.recorded:
                problem = _compile(module, call.compile_path, call.fullgraph, call.dynamic)
                if problem:
                    _refuse(recorder, job, index, problem)
                    continue
                compiled.add(call.compile_path)
            make = _recorded(job, module, call, recorder) if call.recorded else None
            recorder.recording = True
            if make is not None:
                make()
            elif not call.recorded:
                user_module.evaluate(call.expression, call.file or job.path, call.line, call.column, module.__dict__)
        except SystemExit as error:
            _report(recorder, recording, error, index)
        except BaseException as error:
            _report(recorder, recording, error, index)
        finally:
            recorder.recording = False
    recorder.directive = -1


def _run_guesses(job: Job, recorder: Recorder, recording: Session) -> str:
    """Import the file under its own name, then find a call for each mark and make it, recorded like an example call."""
    import torch

    from . import dynamo, inferring

    recorder.recording = False
    module = user_module.run(job.path, job.text, user_module.module_name(job.path))
    dynamo.reset()
    for index, guess in enumerate(job.guesses):
        recorder.directive = index
        found = inferring.infer(index, guess, module, recording.marks)
        recorder.send(found)
        if not found.expression:
            continue
        try:
            if found.compile_path:
                _compile(module, found.compile_path, guess.fullgraph, guess.dynamic)
            recorder.recording = True
            torch.manual_seed(0)  # the values that were tried
            user_module.evaluate_at(found.expression, guess.mark, module.__dict__)
        except BaseException as error:
            _report(recorder, recording, error, index)
        finally:
            recorder.recording = False
    recorder.directive = -1
    return ""


def _recorded(job: Job, module: types.ModuleType, call: ExampleCall, recorder: Recorder) -> Callable[[], object] | None:
    """A recorded call, ready to be made; None, and a note, where it does not fit the program any more."""
    from . import rebuilding

    project = os.path.dirname(os.path.dirname(call.file))
    try:
        return rebuilding.recorded_call(call.recorded, module, call.expression, project, job.device, bool(call.compile_path))
    except rebuilding.Stale as stale:
        note = f"the recorded inputs of `{call.expression}` cannot be used: {stale}; record again"
        if note not in recorder.notes:
            recorder.notes.append(note)
        return None


def _compile(module: types.ModuleType, path: str, fullgraph: bool, dynamic: bool | None) -> str:
    """Compile the object that a dotted path names in a module, in place, as a mark in the source would have: why it cannot, or nothing."""
    import torch

    *owners, name = path.split(".")
    owner: Any = module
    for part in owners:
        owner = getattr(owner, part, None)
    value = getattr(owner, "__dict__", {}).get(name)
    if value is None:
        return f"`{path}` cannot be reached from the top level of the module"
    plain = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    if not callable(plain):
        return f"`{path}` is of type {type(plain).__name__}, which cannot be called"
    compiled = torch.compile(plain, fullgraph=fullgraph, dynamic=dynamic)
    setattr(owner, name, type(value)(compiled) if isinstance(value, (staticmethod, classmethod)) else compiled)
    return ""


def _refuse(recorder: Recorder, job: Job, index: int, problem: str) -> None:
    """Say at an example call why it cannot be made."""
    call = job.calls[index]
    end = call.column + len(call.expression.encode("utf-8", "surrogatepass"))
    place = Place(call.file or job.path, call.line, "<module>", call.line, call.column, end)
    kind = "NameError" if "cannot be reached" in problem else "TypeError"
    recorder.send(Failure(kind, problem, [place], directive=index))


def _report(recorder: Recorder, recording: CanJudge, error: BaseException, directive: int = -1) -> None:
    from . import dynamo

    traceback.print_exception(type(error), error, stacks.without_ours(error.__traceback__))
    frames = stacks.without_resumed_parents(dynamo.failure_places(error))
    if isinstance(error, SyntaxError) and error.filename and os.path.isfile(error.filename):
        frames.append(Place(error.filename, error.lineno or 1, "<module>"))
    mark, eager = recording.eager_verdict(error) if isinstance(error, Exception) else (-1, "")
    recorder.send(Failure(type(error).__name__, _message(error), frames, dynamo.is_compiler_error(error), mark, directive, eager))


def _message(error: BaseException) -> str:
    try:
        return str(error)[:4000]
    except Exception:
        return ""


def _exit_status(error: SystemExit) -> int:
    if error.code is None:
        return 0
    return error.code if isinstance(error.code, int) else 1


def _finish_program() -> None:
    """What the interpreter does when a program ends by itself: its threads end first, then its exit functions run."""
    shutdown = getattr(threading, "_shutdown", None)
    if shutdown is not None:
        shutdown()
    atexit._run_exitfuncs()


def _say_the_end(recorder: Recorder, job: Job, status: int, stopped: str, problem: str, kept: bool, imports: list[str]) -> None:
    """Say that it is over. Whoever does leaves at once: the interpreter's own teardown costs seconds and can hang."""
    files = _workspace_files(job)
    if recorder.reading is not None:
        recorder.send(recorder.reading.needed(recorder.traced))
    recorder.send(Ended(status, files, imports, stopped, recorder.notes, dict(recorder.runs), problem, kept))
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue


def _workspace_files(job: Job) -> list[str]:
    """The files below the workspace root whose modules were imported, and the job's own."""
    from . import reading

    found = {job.path}
    for _, module in reading.new_modules():
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(job.root + os.sep) and not stacks.is_ours(file):
            found.add(os.path.abspath(file))
    return sorted(found)
