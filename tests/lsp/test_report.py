"""graphbreak/report and the notifications that say when to ask for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsprotocol import types

from graphbreak.core.requests import AnalysisRequest
from graphbreak.core.source import Edit, SourceFile, Span
from graphbreak.lsp.moving import moved_report

from .editor import MARK, Editor, capabilities, replacing, until
from .fake_server import report_of

TEXT = "# GRAPHS\n" + MARK + "def f(x):\n    y = x + 1\n    y = y + 2\n    print(y)\n    return y\n"


async def test_a_report_has_all_that_is_known_in_the_protocols_words(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, TEXT)
    await editor.shows(path, "6:4-6:12")
    (report,) = (await editor.request("graphbreak/report", uri=path.as_uri()))["reports"]
    uri = path.as_uri()
    assert (report["uri"], report["version"], report["stale"], report["problems"]) == (uri, 1, False, [])
    assert report["environment"] == {"python": "3.11.7", "torch": "2.13.0", "device": "cpu", "sandbox": ["time limit"], "notes": []}
    assert report["functions"] == [
        {
            "name": "f",
            "uri": uri,
            "line": 3,
            "markUri": uri,
            "markRange": _range(2, 1, 2, 14),
            "outcome": "traced",
            "detail": "",
            "stopped": None,
            "fullgraph": False,
            "inputs": [{"source": "call", "summary": "x: f32[8, 16]", "entry": "", "expression": ""}],
            "graphs": 2,
            "ops": 3,
            "breaks": 1,
            "skipped": 0,
            "recompiles": 0,
            "provisional": False,
            "regions": [_region(uri, 4, 5, 1), _region(uri, 6, 6), _region(uri, 7, 7, 2)],
            "graphList": [
                {"number": 1, "ops": [_operation(uri, 4), _operation(uri, 5)], "endedBy": [f"{path}:0"]},
                {"number": 2, "ops": [_operation(uri, 7)], "endedBy": []},
            ],
        }
    ]
    assert report["diagnostics"] == [
        {
            "id": f"{path}:0",
            "uri": uri,
            "range": _range(6, 4, 6, 12),
            "severity": "warning",
            "kind": "break",
            "code": "GB0059",
            "gbType": "",
            "message": "Graph break: Failed to trace builtin operator",
            "functions": ["f"],
            "causedBy": None,
            "ignored": False,
            "cost": {"graphs": 2, "hits": 1, "inLoop": False, "opsBefore": 1, "opsAfter": 2, "frames": 1},
            "stack": [{"uri": uri, "line": 6, "function": "f", "library": False}],
        }
    ]
    assert {name: editor.environments[0][name] for name in ("uri", "torch")} == {"uri": uri, "torch": "2.13.0"}
    assert editor.changed == [uri]


async def test_everything_in_a_report_moves_with_the_text(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, TEXT)
    await editor.shows(path, "6:4-6:12")
    editor.change(path, replacing(0, 0, 0, 0, "# 😀\n"), replacing(6, 0, 6, 0, "    # new\n"))
    (report,) = (await editor.request("graphbreak/report", uri=path.as_uri()))["reports"]
    (function,) = report["functions"]
    assert (report["version"], report["stale"], function["line"], function["markRange"]) == (1, True, 4, _range(3, 1, 3, 14))
    assert [(region["start"], region["end"]) for region in function["regions"]] == [(5, 5), (7, 7), (8, 8), (9, 9)]
    assert [operation["line"] for graph in function["graphList"] for operation in graph["ops"]] == [5, 7, 9]
    assert report["diagnostics"][0]["range"] == _range(8, 4, 8, 12)
    await until(lambda: editor.changed == [path.as_uri()] * 2)


async def test_a_line_that_was_changed_is_in_no_region_any_more() -> None:
    source = SourceFile("/a.py", TEXT)
    report = report_of(AnalysisRequest(source, "/", ("/",)))
    edit = Edit(Span.at(5, 8, 5, 9), "x")
    (function,) = moved_report(report, edit, source.apply([edit])).functions
    assert [(region.start, region.end) for region in function.regions] == [(4, 4), (6, 6), (7, 7)]
    joined = Edit(Span.at(4, 13, 5, 4), "; ")
    (function,) = moved_report(report, joined, source.apply([joined])).functions
    assert [(region.start, region.end) for region in function.regions] == [(4, 4), (5, 5), (6, 6)]


async def test_a_file_is_answered_for_by_every_report_that_speaks_of_it(editor: Editor, tmp_path: Path) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text("def log(x):\n    print(x)  # quiet\n")
    await editor.connect(tmp_path)
    for name in ("a.py", "b.py"):
        editor.open(tmp_path / name, "import helper\n" + MARK + "def f(x):\n    helper.log(x)\n")
        await editor.shows(tmp_path / name, "4:4-4:17")
    editor.open(tmp_path / "c.py", TEXT)
    await editor.shows(tmp_path / "c.py", "6:4-6:12")
    assert await _uris(editor, uri=helper.as_uri()) == [(tmp_path / name).as_uri() for name in ("a.py", "b.py")]
    assert await _uris(editor) == [(tmp_path / name).as_uri() for name in ("a.py", "b.py", "c.py")]
    assert await _uris(editor, uri="untitled:one") == []
    reports = (await editor.request("graphbreak/report", uri=helper.as_uri()))["reports"]
    assert [(found["kind"], found["ignored"]) for found in reports[0]["diagnostics"]] == [("break", True), ("caller", False)]
    editor.close(tmp_path / "a.py")
    await until(lambda: editor.changed.count((tmp_path / "a.py").as_uri()) == 2)
    assert await _uris(editor, uri=helper.as_uri()) == [(tmp_path / "b.py").as_uri()]


async def test_the_costliest_comes_first_and_severities_are_the_users(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path, options={"severity": {"break": "error", "caller": "off"}})
    helper, path = tmp_path / "helper.py", tmp_path / "a.py"
    helper.write_text("def log(x):\n    print(1)\n    print(2)\n")
    editor.open(path, "import helper\n" + MARK + "def f(x):\n    helper.log(x)\n")
    (first, _) = await editor.shows(helper, "1:4-1:12", "2:4-2:12")
    assert first.severity == types.DiagnosticSeverity.Error
    await editor.shows(path)
    (report,) = (await editor.request("graphbreak/report"))["reports"]
    assert [(found["id"], found["severity"]) for found in report["diagnostics"]] == [(f"{helper}:1", "error"), (f"{helper}:0", "error")]
    assert editor.changed == [path.as_uri()]
    editor.client.set_configuration({"severity": {"break": "off"}}, section="graphbreak")
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({}))
    await editor.shows(helper)
    await editor.shows(path)
    assert editor.changed == [path.as_uri()] * 2
    await editor.analysed(1)


async def test_nothing_is_told_to_an_editor_that_does_not_know_us(editor: Editor, tmp_path: Path) -> None:
    offers = capabilities()
    offers.experimental = None
    await editor.connect(tmp_path, offers=offers)
    editor.open(tmp_path / "a.py", TEXT)
    await editor.shows(tmp_path / "a.py", "6:4-6:12")
    assert (editor.changed, editor.environments, editor.status) == ([], [], [])


async def _uris(editor: Editor, **params: Any) -> list[str]:
    return [report["uri"] for report in (await editor.request("graphbreak/report", **params))["reports"]]


def _range(line: int, character: int, end_line: int, end_character: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": character}, "end": {"line": end_line, "character": end_character}}


def _region(uri: str, start: int, end: int, *graphs: int) -> dict[str, Any]:
    return {"uri": uri, "start": start, "end": end, "state": "graph" if graphs else "eager", "graphs": list(graphs)}


def _operation(uri: str, line: int) -> dict[str, Any]:
    return {"name": "add", "uri": uri, "line": line}
