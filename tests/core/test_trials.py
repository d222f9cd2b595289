"""What a trial makes of two reports: which causes are gone, left, made and laid bare, and what speaks against a fix."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphbreak.core.breaks import DISABLED_HERE
from graphbreak.core.differences import edits_between
from graphbreak.core.findings import (
    Diagnostic,
    Fix,
    FunctionResult,
    Graph,
    Kind,
    Operation,
    Outcome,
    Related,
    Report,
    Safety,
    Severity,
    Verdict,
)
from graphbreak.core.fixall import Choice, FixAll, Remembering
from graphbreak.core.judging import changed, inverted, lost_operations, moved_through
from graphbreak.core.requests import AnalysisRequest
from graphbreak.core.source import Edit, Position, SourceFile, Span
from graphbreak.core.trials import Trial, compare_runs, in_order, is_removal, shown_title, try_fix
from graphbreak.worker.protocol import Compared, Job

PATH = "/work/model.py"
MARK = Span.at(0, 0, 0, 1)
TEXT = "one()\ntwo()\nthree()\n"
EQUAL = Compared(True, True, 1)
FIX = Fix("Take `two` out", Safety.SAFE, {PATH: (Edit(Span.at(1, 0, 2, 0), ""),)}, family="test")


def cause(text: str, word: str, kind: Kind = Kind.BREAK, gb_type: str = "type") -> Diagnostic:
    source = SourceFile(PATH, text)
    start = text.index(word)
    span = Span(source.position(start), source.position(start + len(word)))
    return Diagnostic(
        f"{kind.value} {word} {gb_type}", PATH, span, Severity.WARNING, kind, "GB0001", "Graph break: it", gb_type, functions=("f",)
    )


def report(text: str, *found: Diagnostic, lines: tuple[int, ...] = (0, 2), recompiles: int = 0, graphs: int = 1) -> Report:
    ops = tuple(Operation("add", PATH, line) for line in lines)
    graph_list = tuple(Graph(number, ops) for number in range(1, graphs + 1))
    row = FunctionResult(
        PATH, "f", 0, PATH, MARK, Outcome.TRACED, graphs=graphs, ops=len(ops), recompiles=recompiles, graph_list=graph_list
    )
    return Report(PATH, None, (row,), found, jobs=(Job(PATH, text, "/work"),), sources={PATH: SourceFile(PATH, text)})


def tried(before: Report, after: Report, diagnostic: Diagnostic, fix: Fix = FIX, answer: Compared = EQUAL) -> Trial:
    async def analyse(request: AnalysisRequest) -> Report:
        assert request.source.text == before.sources[PATH].apply(fix.edits[PATH]).text
        return after

    async def compare(job: Job) -> Compared:
        assert job.edited is not None
        return answer

    request = AnalysisRequest(before.sources[PATH], "/work", ("/work",))
    return asyncio.run(try_fix(request, before, diagnostic, fix, analyse, compare))


AFTER = "one()\nthree()\n"
BREAK = cause(TEXT, "two()")
BEFORE = report(TEXT, cause(TEXT, "one()"), BREAK, cause(TEXT, "three()"))


def test_a_break_that_is_gone_is_counted_with_those_that_moved() -> None:
    verdict = tried(BEFORE, report(AFTER, cause(AFTER, "one()"), cause(AFTER, "three()"), lines=(0, 1)), BREAK).verdict
    assert verdict == Verdict(3, 2, True, True, "", "removes 1 of 3 breaks, outputs equal", True)


def test_a_consequence_that_goes_with_it_counts_too() -> None:
    assert tried(BEFORE, report(AFTER, cause(AFTER, "one()")), BREAK).verdict.summary == "removes 2 of 3 breaks, outputs equal"


def test_what_comes_to_light_behind_it_is_named_and_not_accepted_alone() -> None:
    other = cause(AFTER, "three()", gb_type="another")
    trial = tried(report(TEXT, BREAK), report(AFTER, other), BREAK)
    assert trial.helps
    assert not trial.verdict.accepted
    assert trial.verdict.reason == "it only lays bare 1 further break behind this one"
    assert trial.verdict.summary == "removes 1 of 1 break, lays bare 1 further one, outputs equal"


NEW = Fix("Call another", Safety.SAFE, {PATH: (Edit(Span.at(1, 0, 1, 3), "other"),)}, family="test")
CALLED = "one()\nother()\nthree()\n"


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (report(CALLED, cause(CALLED, "other()")), "the break is still there"),
        (report(CALLED, cause(CALLED, "other()", gb_type="new")), "it makes another break (GB0001 in line 2)"),
        (report(CALLED, cause(CALLED, "other()", Kind.RAISED)), "it fails: Graph break: it"),
        (report(CALLED, graphs=0, lines=()), "nothing of `f` is compiled any more"),
        (replace(report(CALLED), functions=()), "`f` is not traced any more"),
        (report(CALLED, lines=(0,)), "1 operation fewer would be captured"),
        (report(CALLED, recompiles=1), "it is compiled again for other inputs"),
        (replace(report(CALLED), problems=("It was stopped.",)), "It was stopped"),
    ],
)  # fmt: skip
def test_what_the_trace_has_against_a_fix(after: Report, reason: str) -> None:
    trial = tried(report(TEXT, BREAK), after, BREAK, NEW)
    assert trial.verdict.reason == reason
    assert not trial.helps
    assert not trial.verdict.accepted
    assert trial.verdict.same_outputs is None
    assert trial.verdict.summary == f"tried: {reason}"


@pytest.mark.parametrize(
    ("answer", "safety", "accepted", "reason"),
    [
        (Compared(False, True, 1, "it returns more"), Safety.SAFE, False, "the outputs differ: it returns more"),
        (Compared(None, True, 0, "no call was made"), Safety.SAFE, False, "the outputs cannot be compared: no call was made"),
        (Compared(None, False, 0, "it prints less"), Safety.SAFE, False, "it prints less"),
        (Compared(True, False, 1, "it prints less"), Safety.SAFE, False, "it prints less"),
        (Compared(True, False, 1, "it prints less"), Safety.CHANGES_BEHAVIOUR, True, ""),
        (Compared(False, True, 1, "it returns more"), Safety.CHANGES_BEHAVIOUR, False, "the outputs differ: it returns more"),
    ],
)  # fmt: skip
def test_what_the_comparison_has_against_a_fix(answer: Compared, safety: Safety, accepted: bool, reason: str) -> None:
    verdict = tried(report(TEXT, BREAK), report(AFTER, lines=(0, 1)), BREAK, replace(FIX, safety=safety), answer).verdict
    assert (verdict.accepted, verdict.reason) == (accepted, reason)


@pytest.mark.parametrize(
    ("names", "safety", "accepted"),
    [
        (["assert u0 >= 0", "assert u0 <= 8", "assert Eq(Mod(32*u1, 64), 0)", "assert Eq(u0, 2*((u0//2)))"], Safety.SAFE, True),
        (["assert Eq(u0, 1)"], Safety.SAFE, True),
        (["Tensor.split", "assert Eq(u0 + u1, s2)"], Safety.SAFE, True),
        (["Tensor.split", "assert Eq(u0 + u1, 5)", "assert Eq(u2 + u3, 5)"], Safety.SAFE, False),
        (["assert Eq(u0, u1)"], Safety.SAFE, False),
        (["assert Eq(u0, u1)"], Safety.CHANGES_BEHAVIOUR, True),
    ],
)
def test_a_graph_that_takes_two_sizes_for_equal_is_no_safe_fix(names: list[str], safety: Safety, accepted: bool) -> None:
    before, after = report(TEXT, cause(TEXT, "two")), report("one()\nthree()\n", lines=(0, 1))
    asserting = Graph(2, tuple(Operation(name, "", 0) for name in names))
    after = replace(after, functions=(replace(after.functions[0], graph_list=(*after.functions[0].graph_list, asserting)),))
    trial = tried(before, after, before.diagnostics[0], replace(FIX, safety=safety))
    assert (trial.verdict.accepted, trial.helps, trial.granting) == (accepted, accepted, not accepted)
    assert ("does not hold" in trial.verdict.reason) is not accepted


def test_a_break_made_intended_is_accepted_and_removes_nothing() -> None:
    text = "one()\n_two()\nthree()\n"
    fix = Fix("Disable", Safety.SAFE, {PATH: (Edit(Span.at(1, 0, 1, 0), "_"),)}, family="disable")
    trial = tried(report(TEXT, BREAK), report(text, cause(text, "_two()", Kind.INTENDED)), BREAK, fix)
    assert trial.verdict == Verdict(1, 1, True, True, "", "makes the break an intended one, outputs equal")
    assert not trial.helps


def test_a_callee_that_the_edit_disables_is_intended_at_its_call_which_is_not_edited() -> None:
    fix = Fix("Disable", Safety.SAFE, {PATH: (Edit(Span.at(0, 0, 0, 0), "@disable\n"),)}, family="disable")
    text = "@disable\n" + TEXT
    intended = replace(cause(text, "two()", Kind.INTENDED), related=(Related(PATH, Span.at(0, 0, 0, 8), DISABLED_HERE),))
    assert tried(report(TEXT, BREAK), report(text, intended, lines=(1, 3)), BREAK, fix).verdict.accepted


def test_a_recompile_that_is_gone_is_what_its_fix_is_for() -> None:
    again = cause(TEXT, "one()", Kind.RECOMPILE)
    verdict = tried(report(TEXT, again, recompiles=1, graphs=2), report(AFTER, lines=(0, 1)), again).verdict
    assert verdict.summary == "removes 1 of 1 recompile, outputs equal"
    assert verdict.removes
    still = tried(report(TEXT, again, recompiles=1, graphs=2), report(AFTER, lines=(0, 1), recompiles=1, graphs=2), again).verdict
    assert not still.accepted


def test_operations_of_lines_that_go_are_no_loss_and_those_of_a_recompile_count_once() -> None:
    edits = {PATH: (Edit(Span.at(1, 0, 2, 0), ""),)}
    assert lost_operations(report(TEXT, lines=(0, 1, 1, 2)), report(AFTER, lines=(0, 1)), edits) == 0
    assert lost_operations(report(TEXT, lines=(0, 2, 2)), report(AFTER, lines=(0, 1)), edits) == 1
    assert lost_operations(report(TEXT, graphs=3, recompiles=2), report(AFTER, lines=(0, 1)), edits) == 0


def test_two_alike_are_told_by_their_place() -> None:
    text, after = "again()\nagain()\n", "again()\n"
    first, second = cause(text, "again()"), replace(cause(text, "again()"), id="second", span=Span.at(1, 0, 1, 7))
    change = changed(report(text, first, second), report(after, cause(after, "again()")), {PATH: (Edit(Span.at(0, 0, 1, 0), ""),)})
    assert (change.gone, change.left) == ((first,), (second,))


def test_fixes_are_shown_with_their_verdicts_the_best_first() -> None:
    removing = replace(FIX, title="a", verified=Verdict(2, 1, True, True, "", "removes 1 of 2 breaks, outputs equal", True))
    intended = replace(FIX, title="b", verified=Verdict(1, 1, True, True, "", "makes the break an intended one, outputs equal"))
    failed = replace(FIX, title="c", verified=Verdict(1, 1, None, False, "it fails", "tried: it fails"))
    assert [fix.title for fix in in_order([failed, FIX, intended, removing])] == ["a", "b", FIX.title, "c"]
    assert [shown_title(BREAK, fix) for fix in (removing, failed, FIX, replace(FIX, family="ignore"))] == [
        "a — removes 1 of 2 breaks, outputs equal",
        "c — tried: it fails",
        "Take `two` out (not tried yet)",
        "Take `two` out",
    ]
    assert [is_removal(fix) for fix in (removing, intended, failed, FIX)] == [True, False, False, False]
    assert not is_removal(replace(removing, safety=Safety.CHANGES_BEHAVIOUR))


def test_of_several_runs_the_worst_answer_counts() -> None:
    def worst(*answers: Compared) -> Compared:
        waiting = list(answers)

        async def compare(job: Job) -> Compared:
            return waiting.pop(0)

        return asyncio.run(compare_runs([Job(PATH, "", "/")] * len(answers), [Job(PATH, "", "/")] * len(answers), "", compare))

    assert worst(Compared(True, True, 2), Compared(True, False, 1, "printed")) == Compared(True, False, 3, "printed")
    assert worst(Compared(True, True, 2), Compared(None, True, 1, "unknown")).values is None
    assert worst(Compared(True, True, 2), Compared(None, True, 0, "nothing marked is called")).values is True
    assert worst(Compared(None, True, 0, "nothing marked is called")).values is None
    assert worst(Compared(None, True, 2), Compared(False, True, 0, "differs")).values is False
    assert worst().values is None


def test_fixing_all_goes_on_behind_what_comes_to_light_and_ends_where_less_is_left() -> None:
    """Of `a`, `b`, `c`, `d` only the first shows, and `d` has no fix: what is applied for `c` brings nothing, and is not kept."""

    def seen(text: str) -> Report:
        first = next((word for word in ("a()", "b()", "c()", "d()") if word in text), None)
        found = [cause(text, first)] if first else []
        found += [cause(text, "z()")] if "z()" in text else []
        fixable = [
            one.with_fixes((Fix(f"Remove {text.partition(')')[0]}", Safety.SAFE, {PATH: (Edit(one.span, "-" * 3),)}, family="test"),))
            if one.span.start.line < 3
            else one
            for one in found
        ]
        return report(text, *fixable, lines=())

    trials: list[str] = []

    async def try_one(request: AnalysisRequest, before: Report, diagnostic: Diagnostic, fix: Fix, others: Sequence[Diagnostic]) -> Trial:
        trials.append(fix.title)

        async def analyse(request: AnalysisRequest) -> Report:
            return seen(request.source.text)

        return await try_fix(request, before, diagnostic, fix, analyse, compare, others)

    async def compare(job: Job) -> Compared:
        return Compared(True, True, 1)

    def fixed(text: str, choice: Choice | None = None) -> tuple[str, int]:
        source = SourceFile(PATH, text)
        work = FixAll(AnalysisRequest(source, "/work", ("/work",)), seen(text), try_one, compare, choice or Choice())
        state = asyncio.run(work.run())
        return state.request.source.text, len(state.applied)

    assert fixed("a()\nb()\nc()\n") == ("---\n---\n---\n", 3)
    assert fixed("a()\nb()\nc()\nd()\n") == ("a()\nb()\nc()\nd()\n", 0)
    assert fixed("a()\nb()\nc()\n", Choice(wanted=lambda found: False)) == ("a()\nb()\nc()\n", 0)
    trials.clear()
    assert fixed("z()\na()\nb()\n") == ("---\n---\n---\n", 3)
    assert len(trials) == 2, "two at once, then the one behind"


TEXTS = st.text(alphabet="ab \n\r", max_size=30)


def test_fixing_all_goes_back_from_where_nothing_helps_any_more() -> None:
    """The safe fix of `a` only lays bare `b`, which has none; the other one leaves nothing."""

    def seen(text: str) -> Report:
        found = [cause(text, word) for word in ("a()", "b()") if word in text][:1]
        fixes = (
            Fix("safe", Safety.SAFE, {PATH: (Edit(Span.at(0, 0, 0, 3), "-"),)}, family="test"),
            Fix("other", Safety.CHANGES_BEHAVIOUR, {PATH: (Edit(Span.at(0, 0, 1, 3), "-"),)}, family="test"),
        )
        return report(text, *(one.with_fixes(fixes if "a()" in text else ()) for one in found), lines=())

    async def analyse(request: AnalysisRequest) -> Report:
        return seen(request.source.text)

    async def compare(job: Job) -> Compared:
        return EQUAL

    asking = Remembering(analyse, compare)
    for safety, left in ((Safety.SAFE, "a()\nb()\n"), (Safety.CHANGES_BEHAVIOUR, "-\n")):
        request = AnalysisRequest(SourceFile(PATH, "a()\nb()\n"), "/work", ("/work",))
        work = FixAll(request, seen(request.source.text), asking.try_one, compare, Choice(safety))
        assert asyncio.run(work.run()).request.source.text == left


def test_fixing_all_applies_what_takes_sizes_for_equal_only_where_behaviour_may_change() -> None:
    def seen(text: str) -> Report:
        fix = Fix("let it in", Safety.SAFE, {PATH: (Edit(Span.at(0, 0, 0, 3), "-"),)}, family="test", admits=True)
        if "a()" in text:
            return report(text, cause(text, "a()").with_fixes((fix,)), lines=())
        whole = report(text, lines=())
        graph = Graph(1, (Operation("assert Eq(u0, u1)", "", 0),))
        return replace(whole, functions=(replace(whole.functions[0], graph_list=(graph,)),))

    async def analyse(request: AnalysisRequest) -> Report:
        return seen(request.source.text)

    async def compare(job: Job) -> Compared:
        return EQUAL

    asking = Remembering(analyse, compare)
    for safety, applied in ((Safety.SAFE, []), (Safety.CHANGES_BEHAVIOUR, [Safety.CHANGES_BEHAVIOUR])):
        request = AnalysisRequest(SourceFile(PATH, "a()\n"), "/work", ("/work",))
        state = asyncio.run(FixAll(request, seen("a()\n"), asking.try_one, compare, Choice(safety)).run())
        assert [one.fix.safety for one in state.applied] == applied


@st.composite
def edited_texts(draw: st.DrawFn) -> tuple[SourceFile, list[Edit], Span]:
    source = SourceFile(PATH, draw(TEXTS))
    places = sorted(draw(st.lists(st.integers(0, len(source.text)), min_size=6, max_size=6)))
    cuts = [source.position(place) for place in places]
    return source, [Edit(Span(cuts[0], cuts[1]), draw(TEXTS)), Edit(Span(cuts[4], cuts[5]), draw(TEXTS))], Span(cuts[2], cuts[3])


@given(edited_texts())
def test_a_place_goes_through_edits_and_back(drawn: tuple[SourceFile, list[Edit], Span]) -> None:
    source, edits, span = drawn
    if any("\r" in text for text in (source.text, *(edit.text for edit in edits))):
        return  # an edit can make one line end of two
    assert edits[0].span.end <= span.start
    there = moved_through(span, edits)
    if there is None or span.start == span.end:
        return
    after = source.apply(edits)
    assert after.slice(there) == source.slice(span)
    assert moved_through(there, inverted(edits)) == span


@given(TEXTS, TEXTS)
def test_the_difference_of_two_texts_makes_one_of_the_other(one: str, other: str) -> None:
    old = SourceFile(PATH, one)
    edits = edits_between(old, SourceFile(PATH, other))
    assert old.apply(edits).text == other
    assert all(edit.span.end <= later.span.start for edit, later in itertools.pairwise(edits))


def test_the_difference_is_small() -> None:
    old = SourceFile(PATH, "a\r\nb = 1\r\nc\r\n")
    assert edits_between(old, SourceFile(PATH, "a\r\nb = 2\r\nc\r\n")) == (Edit(Span.at(1, 4, 1, 5), "2"),)
    assert Position(1, 4) == edits_between(old, SourceFile(PATH, "a\r\nb = 2\r\nc\r\n"))[0].span.start


def test_what_was_freed_of_operations_may_leave_the_graph() -> None:
    before, after = report(TEXT), report(TEXT, lines=(0,))
    assert lost_operations(before, after, {}) == 1
    assert lost_operations(before, after, {}, [(PATH, Span.at(2, 0, 2, 5))]) == 0
    assert lost_operations(before, after, {}, [(PATH, Span.at(1, 0, 1, 5))]) == 1


def test_the_same_is_asked_for_once() -> None:
    asked: list[str] = []

    async def analyse(request: AnalysisRequest) -> Report:
        asked.append(request.source.text)
        return report(request.source.text)

    async def compare(job: Job) -> Compared:
        asked.append(job.backend)
        return EQUAL

    async def run() -> None:
        asking = Remembering(analyse, compare)
        request = AnalysisRequest(SourceFile(PATH, TEXT), "/work", ("/work",))
        for other in (request, request, replace(request, overlay={"/work/other.py": "x"}), request):
            assert (await asking.analyse(other)).sources[PATH].text == TEXT
        for backend in ("eager", "eager", "aot_eager"):
            assert await asking.compare(Job(PATH, TEXT, "/work", backend=backend)) == EQUAL

    asyncio.run(run())
    assert asked == [TEXT, TEXT, "eager", "aot_eager"]
