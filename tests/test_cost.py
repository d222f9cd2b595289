"""What a break costs, which breaks follow from which, and in which order they are listed."""

from __future__ import annotations

from pathlib import Path

from graphbreak.core.cost import by_cost
from graphbreak.core.findings import Diagnostic, Kind, Report
from harness import Harness

TOP = "import torch\n\n\n"
CALL = "\n\nf(torch.randn(4))\n"


def causes(report: Report) -> list[Diagnostic]:
    return [found for found in report.diagnostics if found.kind in (Kind.BREAK, Kind.SKIPPED, Kind.INTENDED)]


def sides(report: Report) -> list[tuple[int, int]]:
    """Graphs before and after each cause, in the order of the source."""
    found = sorted(causes(report), key=lambda cause: cause.span)
    return [(cause.cost.graphs_before, cause.cost.graphs_after) for cause in found if cause.cost is not None]


def cost(report: Report) -> tuple[int, int, int, int, int, bool]:
    (found,) = causes(report)
    assert found.cost is not None
    return found.cost.graphs, found.cost.ops_before, found.cost.ops_after, found.cost.frames, found.cost.hits, found.cost.in_loop


def test_a_split_has_operations_on_both_sides(harness: Harness, tmp_path: Path) -> None:
    code = TOP + "@torch.compile\ndef f(x):\n    y = x * 2 + 1\n    print(1)\n    return y.sin().cos() + 1\n" + CALL
    assert cost(harness.write_and_analyse(tmp_path / "a.py", code)) == (2, 2, 3, 1, 1, False)


def test_a_break_at_the_start_has_nothing_before_it(harness: Harness, tmp_path: Path) -> None:
    code = TOP + "@torch.compile\ndef f(x):\n    print(1)\n    return x + 1\n" + CALL
    assert cost(harness.write_and_analyse(tmp_path / "a.py", code)) == (1, 0, 1, 1, 1, False)


def test_a_helper_costs_the_frames_of_its_own_too(harness: Harness, tmp_path: Path) -> None:
    code = TOP + "def g(x):\n    print(1)\n    return x + 1\n\n\n@torch.compile\ndef f(x):\n    return g(x * 2) * 3\n" + CALL
    assert cost(harness.write_and_analyse(tmp_path / "a.py", code)) == (3, 1, 2, 3, 1, False)


def test_graphs_lie_on_both_sides_of_each_break(harness: Harness, tmp_path: Path) -> None:
    body = "    print(0)\n    y = x * 2\n    print(1)\n    y = y + 1\n    print(2)\n    return y - 1\n"
    report = harness.write_and_analyse(tmp_path / "a.py", TOP + "@torch.compile\ndef f(x):\n" + body + CALL)
    assert sides(report) == [(0, 3), (1, 2), (2, 1)]


def test_hits_count_the_calls(harness: Harness, tmp_path: Path) -> None:
    code = TOP + "@torch.compile\ndef f(x):\n    y = x * 2\n    print(1)\n    return y + 1\n\n\nfor _ in range(5):\n    f(torch.randn(4))\n"
    assert cost(harness.write_and_analyse(tmp_path / "a.py", code)) == (2, 1, 1, 1, 5, False)


def test_a_loop_is_told(harness: Harness, tmp_path: Path) -> None:
    code = TOP + "@torch.compile\ndef f(x):\n    for i in range(3):\n        x = x + 1\n        print(i)\n    return x\n" + CALL
    assert cost(harness.write_and_analyse(tmp_path / "a.py", code))[-1]


def test_the_costliest_is_listed_first_with_its_callers_behind_it(harness: Harness, tmp_path: Path) -> None:
    code = TOP + (
        "def note(x):\n    print(x.shape)\n\n\n"
        "@torch.compile\ndef cheap(x):\n    print(1)\n    return x + 1\n\n\n"
        "@torch.compile\ndef lost(x):\n    for i in range(2):\n        x = x * 2\n        print(2)\n    return x\n\n\n"
        "@torch.compile\ndef split(x):\n    y = x * 2 + 3\n    note(y)\n    return y.sin() * 2\n\n\n"
        "@torch.compile(fullgraph=True)\ndef strict(x):\n    print(3)\n    return x\n\n\n"
        "for f in (cheap, lost, split, strict):\n    f(torch.randn(4))\n"
    )
    listed = by_cost(harness.write_and_analyse(tmp_path / "a.py", code).diagnostics)
    assert [(found.functions[0], found.kind) for found in listed] == [
        ("strict", Kind.BREAK),
        ("lost", Kind.SKIPPED),
        ("split", Kind.BREAK),
        ("split", Kind.CALLER),
        ("cheap", Kind.BREAK),
    ]


def test_a_failure_only_when_compiled_is_told_apart(harness: Harness, tmp_path: Path) -> None:
    code = TOP + (
        "@torch.library.custom_op('demo::twice', mutates_args=())\ndef twice(x: torch.Tensor) -> torch.Tensor:\n    return x * 2\n\n\n"
        "@twice.register_fake\ndef _(x):\n    return x.no_such_method()\n\n\n"
        "@torch.compile(fullgraph=True)\ndef f(x):\n    return twice(x) + 1\n" + CALL
    )
    raised = [found for found in harness.write_and_analyse(tmp_path / "a.py", code).diagnostics if found.kind is Kind.RAISED]
    assert [found.message.partition(":")[0] for found in raised] == ["Fails only when compiled"]


def test_a_failure_in_eager_mode_too_is_told_apart(harness: Harness, tmp_path: Path) -> None:
    code = TOP + "@torch.compile\ndef f(x):\n    y = x * 2\n    return y @ torch.ones(7, 7)\n" + CALL
    (raised,) = harness.write_and_analyse(tmp_path / "a.py", code).diagnostics
    assert raised.kind is Kind.RAISED
    assert raised.message.startswith("Fails in eager mode too: RuntimeError: ")
    assert raised.functions == ("f",)


def test_recompile_says_what_was_expected_and_what_came(harness: Harness, tmp_path: Path) -> None:
    body = "@torch.compile\ndef f(x, n):\n    if n == 0:\n        return x * 2\n    return x + 1\n\n\n"
    report = harness.write_and_analyse(tmp_path / "a.py", TOP + body + "f(torch.randn(4), 0)\nf(torch.randn(4), 1)\n")
    on_function = [found for found in report.diagnostics if found.span.start.line == 4]
    assert [found.message for found in on_function] == ["`f` was compiled once more: guard `n == 0` failed; now it is 1."]
    assert report.functions[0].recompiles == 1


def test_the_recompile_limit_is_a_warning(harness: Harness, tmp_path: Path) -> None:
    body = "@torch.compile\ndef f(x, n):\n    return x * len(n)\n\n\nfor word in 'abcdefghijk':\n    f(torch.randn(4), word)\n"
    report = harness.write_and_analyse(tmp_path / "a.py", TOP + body)
    assert any("recompile_limit" in found.message and found.severity.value == "warning" for found in report.diagnostics)
