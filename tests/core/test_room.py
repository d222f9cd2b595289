"""What of a run is kept, and what is said of the rest."""

from __future__ import annotations

from dataclasses import replace

from graphbreak.core.reporting import whole_report
from graphbreak.core.room import MOST, MOST_FRAMES, MOST_LINES, MOST_OPS, MOST_TEXT, Room, shortened
from graphbreak.worker.protocol import BreakSeen, CallSeen, Cut, Ended, FrameCompiled, GraphSeen, Message, Place

PLACE = Place("/w/a.py", 1, "f")
BREAK = BreakSeen(0, "0/0", 0, "why", [], [PLACE])
GRAPH = GraphSeen(0, "0/0", [["/w/a.py", 1]], [], [["sin", "/w/a.py", 1]] * 5001)


def taken(*messages: Message) -> list[Message]:
    room = Room()
    return [kept for message in messages for kept in room.taken(message)]


def test_what_fits_is_kept_as_it_is() -> None:
    said: list[Message] = [CallSeen(0, "x"), BREAK, GRAPH, FrameCompiled(0, "0/0", "f", "/w/a.py", 1, 3, 0.1)]
    assert taken(*said) == said


def test_a_flood_of_reports_is_cut_and_that_is_said_once() -> None:
    most, what = MOST[BreakSeen]
    kept = taken(*[BREAK] * (most + 500))
    assert kept == [BREAK] * most + [Cut(f"1,000 {what}")]
    assert most == 1000


def test_operations_and_lines_are_counted_over_all_graphs() -> None:
    kept = taken(*[GRAPH] * 30)
    assert sum(len(graph.ops) for graph in kept if isinstance(graph, GraphSeen)) <= MOST_OPS
    assert [message for message in kept if isinstance(message, Cut)] == [Cut(f"{MOST_OPS:,} operations in graphs")]
    assert [len(graph.lines) for graph in kept if isinstance(graph, GraphSeen)] == [1] * 30
    frame = FrameCompiled(0, "0/0", "f", "/w/a.py", 1, 3, 0.1, lines=[["/w/a.py", 1]] * 20_000)
    kept = taken(*[frame] * 20)
    assert sum(len(one.lines) for one in kept if isinstance(one, FrameCompiled)) == MOST_LINES
    assert Cut(f"{MOST_LINES:,} lines in graphs") in kept


def test_texts_and_stacks_are_shortened_where_it_can_be_seen() -> None:
    frames = [replace(PLACE, line=line) for line in range(1, 5000)]
    short = shortened(replace(BREAK, text="x" * 50_000, frames=frames, registry_hints=["h"] * 300))
    assert isinstance(short, BreakSeen)
    assert (len(short.text), short.text[-1]) == (MOST_TEXT, "…")
    assert len(short.frames) == MOST_FRAMES
    assert (short.frames[0], short.frames[-1]) == (frames[0], frames[-1])
    assert short.registry_hints[-1] == "… and 200 more"


def test_the_notes_of_an_end_are_bounded() -> None:
    ended = Room().end(Ended(0, [], [], "x" * 50_000, ["n"] * 300))
    assert len(ended.stopped) == MOST_TEXT
    assert len(ended.notes) == 101


def test_reports_say_what_was_cut() -> None:
    from graphbreak.core.marks import find_marks
    from graphbreak.core.parts import Part
    from graphbreak.core.project import no_project
    from graphbreak.core.requests import AnalysisRequest
    from graphbreak.core.source import SourceFile
    from graphbreak.core.tracing import Run, TimedOut
    from graphbreak.core.workspace import Workspace

    source = SourceFile("/w/a.py", "x = 1\n")
    part = Part(Run((Cut("1,000 graphs"), Cut("1,000 graphs")), TimedOut(3)), [], [], Workspace(("/w",)))
    request = AnalysisRequest(source, "/w", ("/w",))
    report, _ = whole_report(request, find_marks(source), [part], lambda path: source, no_project)
    assert report.problems[1:] == ("/w/a.py: there were more than 1,000 graphs; only the first of them are shown",)
