"""The real server over the wire, on the real examples: what an editor gets on open, on edit, on save, and from a quick fix."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types

from lsp.editor import Editor, capabilities

ROOT = Path(__file__).parent.parent.parent
SECONDS = 120.0


class RealEditor(Editor):
    """The test editor on a `graphbreak server` process of its own."""

    async def start(self, *folders: Path, **settings: Any) -> types.InitializeResult:
        """Start the server and say hello; the worker's Python is the one that runs the tests."""
        os.environ["PYTHONPATH"] = str(ROOT / "server")
        await self.client.start_io(sys.executable, "-m", "graphbreak", "server")
        return await self.client.initialize_session(
            types.InitializeParams(
                capabilities=capabilities(),
                process_id=os.getpid(),
                workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders],
                initialization_options={"interpreter": sys.executable, **settings},
            )
        )

    async def stop(self) -> None:
        await self.client.shutdown_session()
        await self.client.stop()  # type: ignore[no-untyped-call]

    async def diagnostics(
        self, path: Path, wanted: Callable[[list[types.Diagnostic]], bool], *, traced: bool = True
    ) -> list[types.Diagnostic]:
        """Wait until what is published for a file is as wanted, and with `traced` nothing goes on that may show more."""
        uri = path.as_uri()
        for _ in range(int(SECONDS / 0.05)):
            newest = next((params.diagnostics for params in reversed(self.published) if params.uri == uri), None)
            ended = not traced or not self.status or self.status[-1][0] != "tracing"
            if newest is not None and ended and wanted(list(newest)):
                return list(newest)
            await asyncio.sleep(0.05)
        raise AssertionError(f"the last published for {path.name}: {newest}")

    def open_file(self, path: Path) -> str:
        text = path.read_text(encoding="utf-8")
        self.open(path, text)
        return text


@pytest_asyncio.fixture
async def real() -> AsyncIterator[RealEditor]:
    editor = RealEditor()
    yield editor
    await editor.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace folder with the examples in it."""
    for path in (ROOT / "examples").glob("*.py"):
        shutil.copy(path, tmp_path)
    return tmp_path


def place(text: str, expression: str) -> tuple[int, int, int, int]:
    line = next(number for number, content in enumerate(text.splitlines()) if expression in content and "def " not in content)
    column = text.splitlines()[line].index(expression)
    return line, column, line, column + len(expression)


def spot(diagnostic: types.Diagnostic) -> tuple[int, int, int, int]:
    found = diagnostic.range
    return found.start.line, found.start.character, found.end.line, found.end.character


def ops_in(text: str) -> int:
    found = re.search(r"graphs? with (\d+) operation", text)
    assert found is not None, text
    return int(found.group(1))


def hover_text(hover: types.Hover | None) -> str:
    assert hover is not None
    assert isinstance(hover.contents, types.MarkupContent)
    return hover.contents.value


async def test_opening_examples_shows_their_breaks(real: RealEditor, folder: Path) -> None:
    await real.start(folder)
    expected = {
        "print_middle.py": [('print("mid")', "GB0059", types.DiagnosticSeverity.Warning)],
        "branch_on_data.py": [("y.sum() > 0", "GB0170", types.DiagnosticSeverity.Warning)],
        "item_score.py": [("x.sum().item()", "GB0124", types.DiagnosticSeverity.Warning)],
        "print_in_loop.py": [('print("step", step)', "GB0059", types.DiagnosticSeverity.Warning)],
        "disabled_callee.py": [("report_shape(y)", "GB0098", types.DiagnosticSeverity.Information)],
        "fullgraph_print.py": [('print("centred")', "GB0059", types.DiagnosticSeverity.Error)],
        "helper_print.py": [
            ('print("log")', "GB0059", types.DiagnosticSeverity.Warning),
            ("util(y)", "GB0059", types.DiagnosticSeverity.Information),
        ],
    }
    for name, wanted in expected.items():
        path = folder / name
        text = real.open_file(path)
        found = await real.diagnostics(path, bool)
        assert sorted((spot(d), d.code, d.severity) for d in found) == sorted((place(text, e), code, level) for e, code, level in wanted)
        for d in found:
            assert d.source == "graphbreak"
            assert d.code_description is not None
            assert d.code_description.href.endswith(f"{str(d.code).lower()}.html")
        assert next(params.version for params in reversed(real.published) if params.uri == path.as_uri()) == 1


async def test_library_breaks_become_one_squiggle(real: RealEditor, folder: Path) -> None:
    await real.start(folder)
    path = folder / "transformers_model.py"
    text = real.open_file(path)
    (found,) = await real.diagnostics(path, bool)
    assert spot(found) == place(text, "model(tokens)")
    assert "4 graph breaks" in found.message
    assert found.related_information
    assert len({place.location.range.start.line for place in found.related_information if "modeling_reformer" in place.location.uri}) >= 4


async def test_hover_says_why_and_where(real: RealEditor, folder: Path) -> None:
    await real.start(folder)
    path = folder / "helper_print.py"
    text = real.open_file(path)
    shown = await real.diagnostics(path, bool)
    line, column, _, _ = place(text, 'print("log")')
    words = hover_text(await real.hover(path, line, column + 2))
    # This editor shows messages above hovers as VS Code does, so the explanation stands there and is not said again.
    assert any("Dynamo does not know how to trace" in diagnostic.message for diagnostic in shown)
    for part in (
        "GB0059",
        "Avoid calling builtin `print`",
        "reorderable_logging_functions",
        f"{path.as_uri()}#L",
        "`util`",
        "3 graphs",
    ):
        assert part in words, part


async def test_disable_action_on_the_helper_leaves_an_intended_break(real: RealEditor, folder: Path) -> None:
    await real.start(folder)
    path = folder / "helper_print.py"
    text = real.open_file(path)
    found = await real.diagnostics(path, bool)
    cause = next(d for d in found if d.severity == types.DiagnosticSeverity.Warning)
    before = ops_in(hover_text(await real.hover(path, cause.range.start.line, cause.range.start.character)))
    actions = await real.actions(path, cause.range)
    titles = [action.title for action in actions]
    assert any("Ignore GB0059" in title for title in titles), titles
    action = next(action for action in actions if "disabled" in action.title or "outside the graph" in action.title)
    apply_edit(real, path, text, action)
    real.save(path)
    quiet = types.DiagnosticSeverity.Information

    def is_intended(d: types.Diagnostic) -> bool:
        return d.data is not None and dict(d.data)["kind"] == "intended"

    after = await real.diagnostics(path, lambda found: any(map(is_intended, found)))
    assert all(d.severity == quiet for d in after)
    intended = next(filter(is_intended, after))
    assert intended.code in ("GB0098", "GB0099")
    words = hover_text(await real.hover(path, intended.range.start.line, intended.range.start.character))
    assert "Intended graph break" in words
    assert ops_in(words) == before


def apply_edit(real: RealEditor, path: Path, text: str, action: types.CodeAction) -> None:
    """What an editor does with an action: change the buffer and the file."""
    assert action.edit is not None
    assert action.edit.document_changes is not None
    (document,) = action.edit.document_changes
    assert isinstance(document, types.TextDocumentEdit)
    lines = text.splitlines(keepends=True)
    starts = [sum(len(line) for line in lines[:number]) for number in range(len(lines) + 1)]
    edits = [edit for edit in document.edits if isinstance(edit, types.TextEdit)]
    for edit in sorted(edits, key=lambda edit: (edit.range.start.line, edit.range.start.character), reverse=True):
        begin = starts[edit.range.start.line] + edit.range.start.character
        end = starts[edit.range.end.line] + edit.range.end.character
        text = text[:begin] + edit.new_text + text[end:]
    path.write_text(text, encoding="utf-8")
    real.change(path, types.TextDocumentContentChangeWholeDocument(text))


async def test_on_save_waits_for_the_save(real: RealEditor, folder: Path) -> None:
    await real.start(folder)
    path = folder / "print_middle.py"
    text = real.open_file(path)
    await real.diagnostics(path, lambda found: len(found) == 1)
    line, column, _, _ = place(text, "return x + 1")
    real.insert(path, line, 0, " " * column + 'print("new")\n')
    await asyncio.sleep(2)
    assert len(await real.diagnostics(path, bool)) == 1
    real.save(path)
    found = await real.diagnostics(path, lambda found: len(found) == 2)
    assert sorted(spot(d) for d in found)[1] == (line, column, line, column + len('print("new")'))


async def test_on_type_does_not_wait(real: RealEditor, folder: Path) -> None:
    await real.start(folder, run="onType")
    path = folder / "print_middle.py"
    text = real.open_file(path)
    await real.diagnostics(path, lambda found: len(found) == 1)
    line, column, _, _ = place(text, "return x + 1")
    real.insert(path, line, 0, " " * column + 'print("new")\n')
    await real.diagnostics(path, lambda found: len(found) == 2)
    assert path.read_text(encoding="utf-8") == text


async def test_a_helper_module_gets_its_own_diagnostic(real: RealEditor, tmp_path: Path) -> None:
    helper, main = tmp_path / "helper.py", tmp_path / "main.py"
    helper.write_text("def note(x):\n    return x + 1\n", encoding="utf-8")
    main.write_text(
        "import torch\nfrom helper import note\n\n\n@torch.compile\ndef f(x):\n    return note(x * 2)\n\n\nf(torch.randn(4))\n",
        encoding="utf-8",
    )
    await real.start(tmp_path)
    real.open_file(main)
    text = real.open_file(helper)
    await real.diagnostics(main, lambda found: found == [])
    real.insert(helper, 1, 0, '    print("helper")\n')
    helper.write_text(text.replace("    return", '    print("helper")\n    return'), encoding="utf-8")
    real.save(helper)
    (found,) = await real.diagnostics(helper, bool)
    assert spot(found) == (1, 4, 1, 19)
    (caller,) = await real.diagnostics(main, bool)
    assert spot(caller) == (6, 11, 6, 22)


async def test_bad_files_end_in_one_outcome_and_the_next_is_right(real: RealEditor, tmp_path: Path) -> None:
    good = "import torch\n\n\n@torch.compile\ndef f(x):\n    print('hi')\n    return x + 1\n\n\nf(torch.randn(4))\n"
    texts = {
        "syntax": good + "def broken(:\n",
        "raises": good.replace("\n\n\n@", "\nraise ValueError('early')\n\n\n@"),
        "exits": good.replace("f(torch.randn(4))", "import os\nos._exit(3)"),
        "never": good + "while True:\n    pass\n",
        "loud": good + "print('x' * 1_000_000)\n",
        "emoji": good.replace("print('hi')", "s = '🎉🎉'; print('hi')"),
    }
    await real.start(tmp_path, timeout=5)
    for name, text in texts.items():
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        real.open(path, text)
        found = await real.diagnostics(path, bool)
        kinds = sorted(dict(d.data)["kind"] for d in found if d.data)
        wanted = {
            "syntax": ["not-analysed"],
            "raises": ["not-analysed", "raised"],
            "exits": ["not-analysed"],
            "never": ["break", "not-analysed"],
        }
        assert kinds == wanted.get(name, ["break"]), (name, found)
        if name == "emoji":
            assert spot(found[0]) == (5, 16, 5, 27)
        after = tmp_path / f"after_{name}.py"
        after.write_text(good, encoding="utf-8")
        real.open(after, good)
        (right,) = await real.diagnostics(after, bool)
        assert spot(right) == (5, 4, 5, 15)


async def test_fixes_are_tried_once_the_diagnostics_are_out_and_all_applied_together(real: RealEditor, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    text = (
        "import torch\n\n\n@torch.compile\ndef f(x):\n    print('one', 1)\n    y = x + 1\n    if y.sum() > 0:\n        y = y * 2\n"
        "    return y\n\n\nf(torch.ones(3))\n"
    )
    path.write_text(text)
    await real.start(tmp_path)
    real.open_file(path)
    found = await real.diagnostics(path, lambda shown: len(shown) == 2)
    everything = types.Range(types.Position(0, 0), types.Position(99, 0))
    first = await real.actions(path, found[1].range)
    assert any(action.title.endswith("(not tried yet)") for action in first)
    for _ in range(int(SECONDS / 0.1)):
        tried = await real.actions(path, found[1].range)
        actions = await real.actions(path, everything, ["source.fixAll"])  # after it: what is verified only grows
        if (
            actions
            and not any("not tried" in action.title for action in tried)
            and any("removes 2 of 2" in action.title for action in tried)
        ):
            break
        await asyncio.sleep(0.1)
    preferred = [action.title for action in tried if action.is_preferred]
    assert [title.rpartition(" — ")[2] for title in preferred] == ["removes 1 of 2 breaks, outputs equal"]
    (change,) = (actions[0].edit.document_changes if actions[0].edit else None) or []
    assert isinstance(change, types.TextDocumentEdit)
    assert {edit.new_text.strip() for edit in change.edits if isinstance(edit, types.TextEdit)} & {
        "torch._dynamo.config.reorderable_logging_functions.add(print)"
    }
