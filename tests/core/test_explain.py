"""Messages on one line, and hovers in which no word of the user's program can be a link, a command or markup."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphbreak.core.causes import Cause, CauseKey
from graphbreak.core.events import Reason, parse_reason
from graphbreak.core.explain import break_message, caller_message, escaped, hover_markdown
from graphbreak.core.findings import CompiledFrame, Cost, Diagnostic, Effect, Kind, Severity, StackFrame
from graphbreak.core.source import Span

SPAN = Span.at(6, 4, 6, 16)
PAGE = "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html"
SPLIT = CompiledFrame("big", "/w/main.py", 0, Effect.SPLIT)
EAGER = CompiledFrame("util", "/w/main.py", 5, Effect.EAGER)
EVIL = [
    "[run](command:workbench.action.quit)",
    "<a href='command:x'>run</a>",
    "<script>alert(1)</script>",
    "![image](https://example.org/x.png)",
    "`a` [run](command:x) `b`",
    "`[run](command:x)```",
    "`a\n\n[run](command:x)`",
    "`a\r\r[run](command:x)`",
    "``[run](command:x)`",
    "\\[run](command:x)",
    "[run][1]\n\n[1]: command:x",
    "<command:x>",
    "# heading",
    "**bold** _it_ | table |",
]


def rendered(markdown: str) -> str:
    """The Markdown without its code spans and without what is escaped: only what a viewer would act on is left."""
    return "\n\n".join(_active(paragraph) for paragraph in re.split(r"\n\s*\n", markdown.replace("\r", "\n")))


def _active(text: str) -> str:
    """Read from left to right as CommonMark does: a code span goes up to the next run of as many backticks, and knows no escapes."""
    result, index = "", 0
    while index < len(text):
        if escape := re.compile(r"\\[!-/:-@\[-`{-~]").match(text, index):
            index = escape.end()
        elif run := re.compile("`+").match(text, index):
            closing = re.compile(f"(?<!`){run.group()}(?!`)").search(text, run.end())
            index = closing.end() if closing else run.end()
        else:
            result += text[index]
            index += 1
    return result


def diagnostic(**changes: object) -> Diagnostic:
    values: dict[str, object] = {
        "id": "1",
        "path": "/w/main.py",
        "span": SPAN,
        "severity": Severity.WARNING,
        "kind": Kind.BREAK,
        "code": "GB0059",
        "message": "Graph break",
    }
    return Diagnostic(**{**values, **changes})  # type: ignore[arg-type]


def cause(reason: Reason, *frames: CompiledFrame, error: bool = False) -> Cause:
    found = Cause(CauseKey("/w/main.py", SPAN, reason.gb_type, "/w/main.py", 6), reason, error)
    found.frames = dict.fromkeys(frames, True)
    found.stacks = [(StackFrame("/w/main.py", 2, "big"), StackFrame("/w/main.py", 6, "util"))]
    return found


@pytest.mark.parametrize("text", EVIL)
def test_no_text_is_active_in_a_hover(text: str) -> None:
    left = rendered(escaped(text))
    assert "](" not in left
    assert "<" not in left
    assert "![" not in left
    assert "**" not in left
    assert not re.search(r"^\s*\[[^\]]*\]:", left, re.MULTILINE)
    assert "\n" not in left


@given(st.text(st.sampled_from("`[]()<>!\\*_#| \n\r\x0b\u2028ab:"), max_size=30))
def test_no_mixture_of_marks_is_active(text: str) -> None:
    left = rendered(escaped(text))
    assert not re.search(r"[<>*_#|\[\]!\n]", left)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use `torch.cond` here.", "Use `torch.cond` here."),
        ("`a_b` but c_d", "`a_b` but c\\_d"),
        ("got `<function f>`", "got `<function f>`"),
        ("one ` alone_", "one ' alone\\_"),
        ("x['a'] <B>", "x\\['a'\\] \\<B\\>"),
    ],
)
def test_code_stays_code_and_the_rest_is_plain(text: str, expected: str) -> None:
    assert escaped(text) == expected


@pytest.mark.parametrize("text", EVIL)
def test_every_part_of_a_hover_is_escaped(text: str) -> None:
    frame = StackFrame(f"/w/{text.replace('/', '')}.py", 6, text, library=True)
    markdown = hover_markdown(
        diagnostic(
            message=text,
            explanation=text,
            hints=(text,),
            functions=(text,),
            stack=(frame,),
            frames=(CompiledFrame(text, frame.path, 0, Effect.EAGER),),
            cost=Cost(2, 1, True, 3),
            url=PAGE,
        )
    )
    left = re.sub(r"\[[^\]]*\]\((file:///[^\s()]*|https://meta-pytorch[^\s()]*)\)", "", rendered(markdown))
    assert "](" not in left
    assert "<" not in left


def test_a_link_in_the_users_message_is_not_taken_for_pytorchs_page() -> None:
    text = (
        f"Graph Break Reason: User break\n  Explanation: see https://a)[b](command:c)/gb1.html\n\n For more details, please visit: {PAGE}\n"
    )
    reason = parse_reason(text)
    assert (reason.code, reason.url) == ("GB0059", PAGE)
    assert parse_reason(text.partition("\n\n")[0]).url == ""


def test_a_hover_says_all_that_is_known() -> None:
    markdown = hover_markdown(
        diagnostic(
            message="Graph break: no `print`. Dynamo cannot.",
            explanation="Dynamo cannot. It prints while it traces.",
            hints=("Move it.", "Use `logging`."),
            functions=("big",),
            stack=(StackFrame("/w/main.py", 2, "big"), StackFrame("/w/a (1).py", 6, "<lambda>", library=True)),
            frames=(SPLIT, EAGER),
            cost=Cost(3, 1, True, 1),
            url=PAGE,
        )
    )
    *parts, cost, page = markdown.split("\n\n")
    assert parts == [
        "**Graph break** `GB0059`",
        "Graph break: no `print`. Dynamo cannot. It prints while it traces.",
        "**Hints**",
        "- Move it.\n- Use `logging`.",
        "**User stack** (compiled function first)",
        "- [main.py:3](file:///w/main.py#L3) in `big`\n- [a (1).py:7](file:///w/a%20%281%29.py#L7) in `<lambda>` (library)",
        "**Frames**",
        "- `big` (main.py:1): split here\n- `util` (main.py:6): runs wholly in eager mode",
    ]
    assert "`big`: 3 graphs with 1 operation" in cost
    assert "in a loop" in cost
    assert page == f"[GB0059 on PyTorch's site]({PAGE})"


def test_a_caller_leaves_the_explanation_to_its_cause() -> None:
    assert "Dynamo cannot" not in hover_markdown(diagnostic(kind=Kind.CALLER, explanation="Dynamo cannot."))


REASON = Reason("Failed to trace.", "GB0059", "No `print` here. Second sentence.")


@pytest.mark.parametrize(
    ("found", "kind", "message"),
    [
        (cause(REASON, SPLIT), Kind.BREAK, "Graph break: Failed to trace. No `print` here."),
        (cause(Reason("Only a type"), SPLIT), Kind.BREAK, "Graph break: Only a type"),
        (cause(REASON, SPLIT), Kind.INTENDED, "Intended graph break: Failed to trace. No `print` here."),
        (
            cause(REASON, EAGER),
            Kind.SKIPPED,
            "Graph break that cannot be resumed: the whole function `util` runs eagerly. Failed to trace. No `print` here.",
        ),
        (
            cause(REASON, EAGER, CompiledFrame("big", "/w/main.py", 0, Effect.EAGER)),
            Kind.SKIPPED,
            "Graph break that cannot be resumed: the whole functions `util`, `big` run eagerly. Failed to trace. No `print` here.",
        ),
        (
            cause(REASON, SPLIT, error=True),
            Kind.BREAK,
            "Graph break under fullgraph=True, an error when it runs: Failed to trace. No `print` here.",
        ),
    ],
)
def test_a_break_in_one_line(found: Cause, kind: Kind, message: str) -> None:
    assert break_message(found, kind) == message


def test_a_long_reason_is_cut() -> None:
    message = break_message(cause(Reason("x" * 1000), SPLIT), Kind.BREAK)
    assert len(message) < 300
    assert message.endswith("…")


@pytest.mark.parametrize(
    ("frames", "error", "end"),
    [
        ([SPLIT], False, "`big` is split at this call."),
        ([EAGER], False, "`util` runs eagerly as a whole."),
        ([EAGER, SPLIT], False, "`util` runs eagerly as a whole. `big` is split at this call."),
        ([SPLIT], True, "Under fullgraph=True this is an error."),
        ([], False, "Failed to trace."),
    ],
)
def test_a_caller_says_what_happened_to_its_own_frame(frames: list[CompiledFrame], error: bool, end: str) -> None:
    message = caller_message(cause(REASON, *frames, error=error), frames)
    assert message.startswith("Inherits a graph break in `util` (main.py:7): Failed to trace.")
    assert message.endswith(end)
