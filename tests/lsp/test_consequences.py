"""A break that follows from another is shown with it, and not by itself."""

from __future__ import annotations

from dataclasses import replace

from graphbreak.core.cost import by_cost, is_consequence
from graphbreak.core.findings import Diagnostic, Kind, Report, Severity
from graphbreak.core.source import SourceFile, Span
from graphbreak.lsp.diagnostics import shown
from graphbreak.lsp.results import Results

PATH = "/w/main.py"
EARLIER = "This graph break may have been caused by an earlier graph break. Resolving the earlier graph break may resolve this one."
CAUSE = Diagnostic("cause", PATH, Span.at(3, 4, 3, 9), Severity.WARNING, Kind.BREAK, "GB0059", "Graph break: print.", functions=("f",))
EFFECT = replace(
    CAUSE, id="effect", span=Span.at(5, 4, 5, 9), code="GB0142", message="Graph break: with.", hints=(EARLIER,), caused_by="cause"
)
CALLER = replace(EFFECT, kind=Kind.CALLER, span=Span.at(9, 4, 9, 9), message="Inherits a graph break.")


def results(*diagnostics: Diagnostic) -> Results:
    found = Results()
    found.put(PATH, Report(PATH, diagnostics=diagnostics, sources={PATH: SourceFile(PATH, "")}))
    return found


def test_a_consequence_is_folded_under_its_cause() -> None:
    (squiggle,) = shown(results(CAUSE, EFFECT, CALLER), PATH)
    assert squiggle.members == (CAUSE,)
    assert [place.span for place in squiggle.related] == [EFFECT.span]
    assert "may follow from this" in squiggle.related[0].message


def test_a_consequence_whose_cause_is_not_known_stands_for_itself() -> None:
    assert len(shown(results(EFFECT), PATH)) == 1


def test_lists_have_consequences_behind_their_cause() -> None:
    other = replace(CAUSE, id="other", span=Span.at(1, 0, 1, 5))
    assert [found.id for found in by_cost([EFFECT, CAUSE, other])] == ["other", "cause", "effect"]


def test_pytorch_says_what_is_a_consequence() -> None:
    assert is_consequence(EFFECT)
    assert not is_consequence(CAUSE)
