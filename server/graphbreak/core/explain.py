"""Causes in words: one-line messages for lists and squiggles, and Markdown for hovers."""

from __future__ import annotations

import re
from pathlib import PurePath

from .causes import Cause
from .events import Reason
from .findings import CompiledFrame, Diagnostic, Effect, Kind, StackFrame

_MARKDOWN = re.compile(r"([\\*_\[\]<>|#!])")
_LINE_ENDS = re.compile(r"[\n\r\v\f\x85\u2028\u2029]+")
_LONGEST = 240
_SAME = 40
"""Characters that tell that a message quotes an explanation."""


def break_message(cause: Cause, kind: Kind) -> str:
    """What a cause does, then why, on one line."""
    why = _why(cause.reason)
    if kind is Kind.INTENDED:
        return f"Intended graph break: {why}"
    if kind is Kind.SKIPPED:
        names = _names(cause.eager)
        many = len(cause.eager) > 1
        return (
            f"Graph break that cannot be resumed: the whole function{'s' if many else ''} {names} run{'' if many else 's'} eagerly. {why}"
        )
    if cause.error:
        return f"Graph break under fullgraph=True, an error when it runs: {why}"
    return f"Graph break: {why}"


def caller_message(cause: Cause, frames: list[CompiledFrame]) -> str:
    """What a break further down did to the frame of a call that inherits it."""
    holder = next(
        (frame.function for frame in reversed(cause.stack) if frame.path == cause.key.path and frame.line == cause.key.span.start.line), ""
    )
    where = f"{PurePath(cause.key.path).name}:{cause.key.span.start.line + 1}"
    effect = _effect_sentence(frames, cause.error)
    name = f"`{holder}`" if holder else "the callee"
    gb_type = cause.reason.gb_type.rstrip(".")
    return f"Inherits a graph break in {name} ({where}): {gb_type}. {effect}".rstrip()


def _effect_sentence(frames: list[CompiledFrame], error: bool) -> str:
    if error:
        return "Under fullgraph=True this is an error."
    split = [frame for frame in frames if frame.effect is Effect.SPLIT]
    eager = [frame for frame in frames if frame.effect is Effect.EAGER]
    parts = []
    if eager:
        parts.append(f"{_names(eager)} run{'' if len(eager) > 1 else 's'} eagerly as a whole.")
    if split:
        parts.append(f"{_names(split)} {'are' if len(split) > 1 else 'is'} split at this call.")
    return " ".join(parts)


def _names(frames: list[CompiledFrame]) -> str:
    return ", ".join(dict.fromkeys(f"`{frame.function}`" for frame in frames))


def _why(reason: Reason) -> str:
    """The type, and the first sentence of the explanation where it says more."""
    sentence = _first_sentence(reason.explanation)
    text = reason.gb_type.rstrip(".") + (f". {sentence}" if sentence else "")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def hover_markdown(diagnostic: Diagnostic, page_summary: str = "", *, told: bool = False) -> str:
    """What a hover shows for one diagnostic. Text that came from the user's program is escaped; nothing in it can be a command.

    `page_summary` is Markdown of our own on the kind of break. `told`: the message is shown right above already.
    """
    title = {Kind.BREAK: "Graph break", Kind.SKIPPED: "Graph break, function runs eagerly", Kind.CALLER: "Inherited graph break"}
    title |= {Kind.INTENDED: "Intended graph break", Kind.RAISED: "Raised", Kind.RECOMPILE: "Recompiled", Kind.NOT_ANALYSED: "Not analysed"}
    title |= {Kind.UNUSED_IGNORE: "Unused ignore"}
    parts = [f"**{title[diagnostic.kind]}** `{diagnostic.code}`"]
    if diagnostic.provisional:
        parts.append("*Provisional*: only the edited function was traced so far; the trace of the whole confirms or corrects this.")
    text = _in_full(diagnostic)
    if not told or text.rstrip(".") != diagnostic.message.rstrip("."):
        parts.append(escaped(text))
    if diagnostic.hints:
        parts.append("**Hints**\n\n" + "\n".join(f"- {escaped(hint)}" for hint in diagnostic.hints))
    if page_summary:
        parts.append(f"**What to do about {_code(diagnostic.code)}**\n\n{page_summary}")
    if diagnostic.stack:
        parts.append("**User stack** (compiled function first)\n\n" + "\n".join(_stack_line(frame) for frame in diagnostic.stack))
    if diagnostic.frames:
        parts.append("**Frames**\n\n" + "\n".join(_frame_line(frame) for frame in diagnostic.frames))
    if diagnostic.cost is not None:
        parts.append("**Cost**: " + cost_words(diagnostic, quote="`"))
    if diagnostic.url:
        parts.append(f"[{diagnostic.code} on PyTorch's site]({diagnostic.url})")
    return "\n\n".join(parts)


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?]) (?=[A-Z])", text.strip(), maxsplit=1)[0]


def _in_full(diagnostic: Diagnostic) -> str:
    """The message with the whole explanation in place of its first sentence, so that nothing is said twice."""
    message, explanation = diagnostic.message, diagnostic.explanation
    if not explanation or diagnostic.kind is Kind.CALLER:
        return message
    begin = message.find(_first_sentence(explanation)[:_SAME])
    return f"{message[:begin] if begin >= 0 else message + ' '}{explanation}"


def escaped(text: str) -> str:
    """Text for Markdown: what stands between backticks stays code, everything else loses its special meaning."""
    text = _LINE_ENDS.sub(" ", text)
    pieces = text.split("`")
    if len(pieces) % 2 == 0 or "``" in text:
        return _MARKDOWN.sub(r"\\\1", text.replace("`", "'"))
    return "".join(f"`{piece}`" if index % 2 else _MARKDOWN.sub(r"\\\1", piece) for index, piece in enumerate(pieces))


def _code(name: str) -> str:
    return "`" + _LINE_ENDS.sub(" ", name).replace("`", "'") + "`"


def _stack_line(frame: StackFrame) -> str:
    name = f"{PurePath(frame.path).name}:{frame.line + 1}"
    place = f"[{escaped(name)}]({_link(frame)})" if PurePath(frame.path).is_absolute() else escaped(name)
    return f"- {place} in {_code(frame.function)}" + (" (library)" if frame.library else "")


def _link(frame: StackFrame) -> str:
    return f"{PurePath(frame.path).as_uri()}#L{frame.line + 1}".replace(")", "%29").replace("(", "%28")


def _frame_line(frame: CompiledFrame) -> str:
    what = "split here" if frame.effect is Effect.SPLIT else "runs wholly in eager mode"
    return f"- {_code(frame.function)} ({escaped(PurePath(frame.path).name)}:{frame.line + 1}): {what}"


def cost_words(diagnostic: Diagnostic, quote: str = "") -> str:
    """What a break costs, in a sentence or two."""
    cost = diagnostic.cost
    assert cost is not None
    names = ", ".join(_code(name) if quote else name for name in diagnostic.functions) or "the function"
    words = [f"{names}: {_count(cost.graphs, 'graph')} with {_count(cost.ops, 'operation')}"]
    if diagnostic.kind is not Kind.SKIPPED:
        words.append(f"{_count(cost.graphs_before, 'graph')} before it and {cost.graphs_after} after it")
        words.append(f"{_count(cost.ops_before, 'operation')} right before it and {cost.ops_after} right after it")
    if cost.frames:
        words.append(f"{_count(cost.frames, 'frame')} compiled because of it")
    words.append(f"hit {_count(cost.hits, 'time')}" + (", in a loop" if cost.in_loop else ""))
    return "; ".join(words) + "."


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
