"""From records to causes: what is merged, who is to blame, who calls it, and what each frame lost."""

from __future__ import annotations

from dataclasses import replace

from graphbreak.core.causes import Cause, gather_causes
from graphbreak.core.findings import CompiledFrame, Effect
from graphbreak.core.source import SourceFile
from graphbreak.core.workspace import Workspace
from graphbreak.worker.protocol import BreakSeen, FrameCompiled, Place

MAIN, HELPER = "/w/main.py", "/w/helper.py"
LIBRARY, TORCH = "/v/lib/python3.11/site-packages/lib.py", "/v/lib/python3.11/site-packages/torch/nn/module.py"
WORKSPACE = Workspace(("/w",), ("/v/lib/python3.11",), "/v/lib/python3.11/site-packages/torch")
TEXTS = {
    MAIN: """\
def big(x):
    y = x * 2
    y = util(y) + util(y * 3)
    return y.item(), y.item()

def util(y):
    print("log")
    return y

def walk(n, x):
    if n == 0: print("end")
    return walk(n - 1, x)

big(torch.ones(3))
""",
    HELPER: "def log(x):\n    print(x)\n",
}
PRINT = "Graph Break Reason: Failed to trace builtin operator\n  Explanation: no `print`.\n  Hint: Move it.\n"
SKIP = "Graph Break Reason: Failed to handle graph break gracefully. Skipping the function and falling back to eager. Found:\n\n"


def sources(path: str) -> SourceFile | None:
    return SourceFile(path, TEXTS[path]) if path in TEXTS else None


def place(code: str, function: str, file: str = MAIN, nth: int = 0) -> Place:
    """The place of the nth time that some code is written on a line of a known file."""
    found = [(number, line) for number, line in enumerate(TEXTS[file].splitlines(), 1) if code in line]
    number, line = found[nth if len(found) > 1 else 0]
    column = line.rindex(code) if nth and len(found) == 1 else line.index(code)
    return Place(file, number, function, number, column, column + len(code))


def outside(file: str, line: int, function: str) -> Place:
    return Place(file, line, function)


def seen(*frames: Place, above: tuple[Place, ...] = (), text: str = PRINT, compile_id: str = "0/0", mark: int = 0) -> BreakSeen:
    return BreakSeen(mark, compile_id, 0, text, list(above), list(frames))


def compiled(compile_id: str, ops: int | None) -> FrameCompiled:
    return FrameCompiled(0, compile_id, "", MAIN, 1, ops, 0.01)


def causes_of(*records: BreakSeen, compiled: tuple[FrameCompiled, ...] = ()) -> list[Cause]:
    return gather_causes(records, compiled, WORKSPACE, sources)


def text_of(cause: Cause) -> str:
    source = sources(cause.key.path)
    assert source is not None
    return source.slice(cause.key.span)


def callers_of(cause: Cause) -> list[str]:
    return [SourceFile(path, TEXTS[path]).slice(span) for path, span in cause.callers]


PRINT_LOG = place('print("log")', "util")
CALL = place("util(y)", "big")
SECOND_CALL = place("util(y * 3)", "big")


def test_one_cause_reported_by_two_frames_is_one() -> None:
    (cause,) = causes_of(seen(CALL, PRINT_LOG), seen(PRINT_LOG, above=(CALL,), compile_id="1/0"))
    assert text_of(cause) == 'print("log")'
    assert callers_of(cause) == ["util(y)"]
    assert [frame.function for frame in cause.stack] == ["big", "util"]
    assert [(frame.function, frame.line, frame.effect) for frame in cause.frames] == [
        ("big", 0, Effect.SPLIT),
        ("util", 5, Effect.SPLIT),
    ]


def test_two_calls_on_one_line_stay_two() -> None:
    first, second = place("y.item()", "big"), place("y.item()", "big", nth=1)
    causes = causes_of(seen(first), seen(second))
    assert [text_of(cause) for cause in causes] == ["y.item()", "y.item()"]
    assert causes[0].key.span != causes[1].key.span
    assert causes[0].key.id != causes[1].key.id


def test_two_reasons_at_one_place_stay_two() -> None:
    causes = causes_of(seen(PRINT_LOG), seen(PRINT_LOG, text="Graph Break Reason: Something else\n"))
    assert [cause.reason.gb_type for cause in causes] == ["Failed to trace builtin operator", "Something else"]


def test_different_innermost_lines_of_a_library_stay_two() -> None:
    lines = [seen(CALL, outside(LIBRARY, number, "report")) for number in (10, 20, 10)]
    assert [cause.key.inner_line for cause in causes_of(*lines)] == [9, 19]


def test_callers_are_told_apart_by_their_spans() -> None:
    (cause,) = causes_of(seen(CALL, PRINT_LOG), seen(SECOND_CALL, PRINT_LOG, compile_id="2/0"), seen(CALL, PRINT_LOG))
    assert callers_of(cause) == ["util(y)", "util(y * 3)"]
    assert len(cause.stacks) == 2


def test_the_deepest_frame_of_the_workspace_is_blamed() -> None:
    (cause,) = causes_of(seen(place("util(y)", "big"), place("print(x)", "log", HELPER), outside(LIBRARY, 5, "write")))
    assert (cause.key.path, text_of(cause)) == (HELPER, "print(x)")
    assert (cause.key.inner_path, cause.key.inner_line) == (LIBRARY, 4)
    assert [frame.library for frame in cause.stack] == [False, False, True]


def test_frames_of_torch_that_pass_the_call_on_are_not_shown() -> None:
    (cause,) = causes_of(seen(CALL, outside(TORCH, 5, "_call_impl"), PRINT_LOG, outside(TORCH, 9, "innermost")))
    assert [frame.function for frame in cause.stack] == ["big", "util", "innermost"]
    assert text_of(cause) == 'print("log")'


def test_a_chain_of_library_code_is_blamed_on_the_nearest_workspace_frame_above() -> None:
    above = (place("big(torch.ones(3))", "<module>"), CALL, outside(TORCH, 3, "_wrapped_call_impl"))
    (cause,) = causes_of(seen(outside(LIBRARY, 10, "forward"), outside(LIBRARY, 20, "attend"), above=above))
    assert cause.blamed_above
    assert text_of(cause) == "util(y)"
    assert cause.callers == {}
    assert [(frame.function, frame.library) for frame in cause.stack] == [("big", False), ("forward", True), ("attend", True)]
    assert cause.eager == []


def test_without_any_workspace_frame_the_innermost_is_blamed() -> None:
    (cause,) = causes_of(seen(outside(LIBRARY, 10, "forward"), outside(LIBRARY, 20, "attend")))
    assert (cause.key.path, cause.key.span.start.line) == (LIBRARY, 19)
    assert cause.callers == {}


def test_a_record_without_frames_is_left_out() -> None:
    assert causes_of(seen()) == []


def test_only_frames_above_name_the_call() -> None:
    (cause,) = causes_of(seen(above=(CALL,)))
    assert text_of(cause) == "util(y)"
    assert cause.frames == {}


def test_a_recursive_function_is_its_own_caller() -> None:
    again, end = place("walk(n - 1, x)", "walk"), place('print("end")', "walk")
    (cause,) = causes_of(seen(again, again, end))
    assert text_of(cause) == 'print("end")'
    assert callers_of(cause) == ["walk(n - 1, x)"]


def test_a_recursive_call_that_breaks_is_blamed_at_its_last_place() -> None:
    again = place("walk(n - 1, x)", "walk")
    (cause,) = causes_of(seen(place("util(y)", "big"), again, replace(again), outside(LIBRARY, 3, "write")))
    assert text_of(cause) == "walk(n - 1, x)"
    assert callers_of(cause) == ["util(y)", "walk(n - 1, x)"]


def test_a_frame_without_operations_recorded_runs_eagerly() -> None:
    (cause,) = causes_of(
        seen(CALL, PRINT_LOG),
        seen(PRINT_LOG, compile_id="1/0"),
        compiled=(compiled("0/0", 3), compiled("1/0", 0), compiled("1/1", None)),  # its last compile counts
    )
    assert list(cause.frames) == [CompiledFrame("big", MAIN, 0, Effect.SPLIT), CompiledFrame("util", MAIN, 5, Effect.EAGER)]
    assert [frame.function for frame in cause.eager] == ["util"]


def test_a_break_before_the_first_operation_splits() -> None:
    (cause,) = causes_of(seen(PRINT_LOG), compiled=(compiled("0/0", 0),))
    assert cause.eager == []


def test_a_header_says_that_a_frame_runs_eagerly_where_no_compile_was_seen() -> None:
    text = SKIP + PRINT.partition(": ")[2]
    (cause,) = causes_of(seen(PRINT_LOG, text=text))
    assert [frame.function for frame in cause.eager] == ["util"]
    (cause,) = causes_of(seen(PRINT_LOG, text=text), compiled=(compiled("0/0", 1),))
    assert cause.eager == []


def test_an_eager_library_frame_is_no_loss_of_the_workspace() -> None:
    above = (place("big(torch.ones(3))", "<module>"),)
    (cause,) = causes_of(seen(outside(LIBRARY, 10, "forward"), above=above), compiled=(compiled("0/0", None),))
    assert [frame.effect for frame in cause.frames] == [Effect.EAGER]
    assert cause.eager == []


def test_an_error_under_fullgraph_is_no_eager_frame() -> None:
    (cause,) = causes_of(replace(seen(PRINT_LOG), error=True), compiled=(compiled("0/0", None),))
    assert cause.error
    assert [frame.effect for frame in cause.frames] == [Effect.SPLIT]


def test_a_resumed_part_is_its_function() -> None:
    resumed = replace(place("y.item()", "big"), first_line=1)
    (cause,) = causes_of(seen(resumed, compile_id="3/0"), seen(resumed, compile_id="4/0"))
    assert list(cause.frames) == [CompiledFrame("big", MAIN, 0, Effect.SPLIT)]


def test_one_cause_reaches_several_marks() -> None:
    (cause,) = causes_of(seen(PRINT_LOG), seen(PRINT_LOG, mark=4, compile_id="7/0"), seen(PRINT_LOG))
    assert cause.marks == [0, 4]


def test_the_report_that_says_most_is_kept() -> None:
    text = (
        SKIP
        + PRINT.partition(": ")[2]
        + "\n*** While handling this graph break, another graph break occurred: ***\n\ngraph break in loop\n"
    )
    (cause,) = causes_of(seen(PRINT_LOG), seen(PRINT_LOG, text=text), seen(PRINT_LOG))
    assert cause.reason.in_loop
    assert cause.reason.hints == ("Move it.",)


def test_the_registry_fills_in_what_the_record_lacks() -> None:
    bare = replace(
        seen(PRINT_LOG, text="Graph Break Reason: Failed to trace builtin operator\n"),
        registry_id="GB0059",
        registry_explanation="Words of the registry.",
        registry_hints=["A hint.", "Avoid {name}."],
    )
    (cause,) = causes_of(bare)
    assert (cause.reason.code, cause.reason.explanation, cause.reason.hints) == ("GB0059", "Words of the registry.", ("A hint.",))
    (cause,) = causes_of(replace(bare, registry_explanation="Does not know `{name}`.", text=PRINT))
    assert (cause.reason.explanation, cause.reason.hints) == ("no `print`.", ("Move it.",))


def test_ids_are_the_same_in_each_run() -> None:
    assert causes_of(seen(PRINT_LOG))[0].key.id == causes_of(seen(PRINT_LOG, compile_id="9/9", mark=3))[0].key.id
