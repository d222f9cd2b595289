"""The texts of PyTorch's break records, as torch 2.13 and 2.8 write them, and texts that nobody wrote."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphbreak.core.events import Reason, parse_reason, without_addresses

PAGE = "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html"
EXPLANATION = "Dynamo does not know how to trace builtin operator `print` with argument types ['str'] (has_kwargs False)"
HINTS = (
    "Avoid calling builtin `print` with argument types ['str']. Consider using an equivalent alternative function/method to `print`.",
    "If you are attempting to call a logging function (e.g. `print`), you can try adding it to `torch._dynamo.config`.",
    "Please report an issue to PyTorch.",
)
CONTEXT = "builtin print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False"
BODY = f"""\
Failed to trace builtin operator
  Explanation: {EXPLANATION}
  Hint: {HINTS[0]}
  Hint: {HINTS[1]}
  Hint: {HINTS[2]}

  Developer debug context: {CONTEXT}
"""
LINK = f"\n For more details about this graph break, please visit: {PAGE}\n"
STACK = """
User code traceback:
  File "/w/main.py", line 11, in <module>
    scale(torch.randn(8, 16))
  File "/w/main.py", line 7, in scale
    print("mid")


Traceback (most recent call last):
  File "/site-packages/torch/_dynamo/symbolic_convert.py", line 1076, in wrapper
    return inner_fn(self, inst)
torch._dynamo.exc.Unsupported: Failed to trace builtin operator
  Hint: this one is in a traceback
"""
CALL_HEADER = "Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):"
SKIP_HEADER = "Failed to handle graph break gracefully. Skipping the function and falling back to eager. Graph break encountered:"
LOOP = """
*** While handling this graph break, another graph break occurred: ***

graph break in loop
  Explanation: torch.compile detected a graph break in a for/while loop.
  Hint: This graph break may have been caused by an earlier graph break.

  Developer debug context: frame skipped: loop (/w/main.py line 17)

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb7000.html
"""
ATTRIBUTION = """
Stack variable source attribution:
  RangeIteratorVariable() originated from:
  File "/w/main.py", line 18
        for i in range(2):
"""
PLAIN = Reason("Failed to trace builtin operator", "GB0059", EXPLANATION, HINTS, CONTEXT, PAGE)


def record(*parts: str) -> str:
    return "Graph break in user code at /w/main.py:7\nGraph Break Reason: " + "".join(parts)


def test_an_ordinary_break() -> None:
    reason = parse_reason(record(BODY, LINK, STACK))
    assert reason == PLAIN
    assert not reason.skips
    assert not reason.in_loop


def test_a_header_says_what_was_being_traced() -> None:
    reason = parse_reason(record(f"{CALL_HEADER}\n\n", BODY, LINK, STACK))
    assert reason.headers == (CALL_HEADER,)
    assert (reason.gb_type, reason.code, reason.hints) == (PLAIN.gb_type, PLAIN.code, PLAIN.hints)
    assert not reason.skips


def test_a_loop_is_the_effect_and_the_print_the_cause() -> None:
    reason = parse_reason(record(f"{SKIP_HEADER}\n\n", BODY, LINK, LOOP, ATTRIBUTION, STACK))
    assert (reason.gb_type, reason.code, reason.explanation, reason.hints) == (PLAIN.gb_type, PLAIN.code, PLAIN.explanation, PLAIN.hints)
    assert reason.headers == (SKIP_HEADER,)
    assert reason.effects == ("graph break in loop",)
    assert reason.skips
    assert reason.in_loop


def test_torch_2_8_has_no_link_and_no_headers() -> None:
    reason = parse_reason(record(BODY, STACK))
    assert reason == Reason(PLAIN.gb_type, "", EXPLANATION, HINTS, CONTEXT)


def test_an_error_under_fullgraph_has_the_same_reason() -> None:
    user_code = """

from user code:
   File "/w/main.py", line 7, in scale
    print("mid")
    ^^^^^^^^^^^^

Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace.
"""
    assert parse_reason(BODY + LINK + user_code) == PLAIN


def test_parts_over_several_lines_become_one() -> None:
    text = """\
Data-dependent branching
  Explanation: Detected data-dependent branching.

      The branch condition involves a tensor computed as follows:
        gt = gt(sum_1, 0)

  Hint: For the common pattern,
    consider making the code branchless.
  Hint: Use `torch.cond`.

  Developer debug context: attempted to jump
     with TensorVariable()
"""
    reason = parse_reason(record(text, LINK.replace("0059", "0170"), STACK))
    assert reason.code == "GB0170"
    assert reason.hints == ("For the common pattern, consider making the code branchless.", "Use `torch.cond`.")
    assert reason.context == "attempted to jump with TensorVariable()"
    assert reason.explanation.startswith("Detected data-dependent branching.")
    assert "gt = gt(sum_1, 0)" in reason.explanation
    assert "\n" not in reason.explanation


def test_object_addresses_are_left_out() -> None:
    text = "Skip calling `torch.compiler.disable()`d function\n  Explanation: Skip calling `<function dis at 0x7f1c2dfe8d60>`.\n"
    assert parse_reason(record(text)).explanation == "Skip calling `<function dis>`."
    assert without_addresses("<A object at 0xABCDEF01> and <B at 0x1>") == "<A object> and <B>"


def test_line_ends_do_not_matter() -> None:
    text = record(f"{SKIP_HEADER}\n\n", BODY, LINK, LOOP, STACK)
    assert parse_reason(text.replace("\n", "\r\n")) == parse_reason(text)


@pytest.mark.parametrize("text", ["", "\n\n", "Graph Break Reason: ", "Hint:", "  Hint: ", "x:\n\n", ":\n\n:\n\n:\n\n"])
def test_texts_without_a_reason_have_an_empty_one(text: str) -> None:
    reason = parse_reason(text)
    assert reason.code == ""
    assert reason.hints in ((), ("",))


PARTS = st.sampled_from(
    [
        BODY,
        LINK,
        STACK,
        LOOP,
        ATTRIBUTION,
        CALL_HEADER,
        SKIP_HEADER,
        "Graph Break Reason: ",
        "\n\n",
        "  Hint: a\n",
        "\r\n",
        ":\n\n",
        "\x00",
        "🎉",
    ]
)


@given(st.one_of(st.text(), st.lists(PARTS, max_size=8).map("".join)))
@example("Graph Break Reason: " * 3)
def test_no_text_makes_it_fail(text: str) -> None:
    reason = parse_reason(text)
    assert "\n" not in reason.gb_type
    assert all("\n" not in hint for hint in reason.hints)
