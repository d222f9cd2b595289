"""Files that are run in behalf of others: found in the workspace or named by the project, and run again when what they need is saved."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from graphbreak.core.findings import Diagnostic, FunctionResult, Kind, Outcome, Report, Severity
from graphbreak.core.merging import not_analysed_id
from graphbreak.core.source import Span
from graphbreak.lsp.results import Results

from .editor import MARK, Editor, until

LAYERS = "def f(x):\n    return x\n"
TRAIN = "import torch\nimport layers\n@torch.compile\ndef step(x):\n    return layers.f(x)\nstep(1)\n"


def project(folder: Path, train: str = TRAIN) -> tuple[Path, Path]:
    """A module in which nothing is marked, and the program that compiles it."""
    layers, program = folder / "layers.py", folder / "train.py"
    layers.write_text(LAYERS)
    program.write_text(train)
    return layers, program


def written(editor: Editor, path: Path, kind: types.FileChangeType = types.FileChangeType.Changed) -> None:
    """Tell the server that another program wrote a file."""
    event = types.FileEvent(path.as_uri(), kind)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))


def asked(editor: Editor) -> list[str]:
    """The files that were analysed, in order."""
    return [Path(request.source.path).name for request in editor.analyser.requests]


async def test_a_module_is_traced_through_the_program_that_compiles_it(editor: Editor, tmp_path: Path) -> None:
    layers, _ = project(tmp_path)
    await editor.connect(tmp_path)
    editor.open(layers, LAYERS)
    await editor.analysed(1)
    assert asked(editor) == ["train.py"]
    editor.insert(layers, 1, 0, "    print(x)\n")
    editor.save(layers)
    await editor.shows(layers, "1:4-1:12", version=2)
    assert asked(editor) == ["train.py"] * 2
    assert editor.analyser.requests[1].overlay[str(layers)].count("print") == 1


async def test_while_typing_it_is_traced_after_a_pause(editor: Editor, tmp_path: Path) -> None:
    layers, _ = project(tmp_path)
    await editor.connect(tmp_path, options={"run": "onType"})
    editor.open(layers, LAYERS)
    await editor.analysed(1)
    editor.insert(layers, 1, 0, "    print(x)\n")
    await editor.shows(layers, "1:4-1:12", version=2)
    await editor.analysed(2)


async def test_a_program_that_compiles_nothing_itself_is_run_too(editor: Editor, tmp_path: Path) -> None:
    model, program = tmp_path / "model.py", tmp_path / "run.py"
    model.write_text(MARK + "def f(x):\n    UNREACHED; GRAPHS\n")
    program.write_text("import model\nmodel.f(1)\n")
    await editor.connect(tmp_path)
    editor.open(model, model.read_text())
    await editor.analysed(2)
    assert asked(editor) == ["model.py", "run.py"]
    assert editor.analyser.requests[1].run_unmarked
    editor.open(program, program.read_text())
    await editor.analysed(3)  # an entry is traced as what is marked is
    assert asked(editor)[2] == "run.py"


async def test_a_lens_says_which_program_is_being_traced(editor: Editor, tmp_path: Path) -> None:
    model, program = tmp_path / "model.py", tmp_path / "run.py"
    model.write_text(MARK + "def f(x):\n    UNREACHED; GRAPHS\n")
    program.write_text("import model\nmodel.f(1)\nSLOW = 1\n")
    await editor.connect(tmp_path)
    editor.open(model, model.read_text())
    await editor.analysed(2)
    assert next(command.title for _, command in await editor.lenses(model)) == "tracing run.py…"
    editor.analyser.release.set()
    await until(lambda: editor.status[-1:] == [("idle", "")])
    assert next(command.title for _, command in await editor.lenses(model)) == "not analysed: nothing in this file calls it"


async def test_tracing_the_workspace_runs_the_programs_of_files_that_are_not_open(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MARK + "def f(x):\n    UNREACHED; GRAPHS\n")
    (tmp_path / "run.py").write_text("import model\nmodel.f(1)\n")
    (tmp_path / "other.py").write_text("import layers\nlayers.f(1)\n")
    await editor.connect(tmp_path)
    await editor.command("graphbreak.traceWorkspace")
    await editor.analysed(2)
    assert asked(editor) == ["model.py", "run.py"]


async def test_no_program_is_looked_for_where_all_is_traced(editor: Editor, tmp_path: Path) -> None:
    layers, _ = project(tmp_path)
    await editor.connect(tmp_path)
    editor.open(layers, MARK + LAYERS + "f(1)\n")
    await editor.analysed(1)
    assert asked(editor) == ["layers.py"]


async def test_a_program_that_failed_before_it_read_a_file_is_run_again_when_that_is_saved(editor: Editor, tmp_path: Path) -> None:
    layers, program = project(tmp_path, TRAIN.replace("import layers", "import layers as STALE\nimport layers"))
    program.write_text(program.read_text().replace("\nimport layers\n", "\nif 1: import layers\n"))  # which the fake does not see
    await editor.connect(tmp_path)
    editor.open(layers, LAYERS)
    await editor.analysed(1)
    editor.save(layers)
    await editor.analysed(2)


async def test_a_program_written_by_another_program_is_run_again_and_nothing_vanishes_meanwhile(editor: Editor, tmp_path: Path) -> None:
    layers, program = project(tmp_path)
    layers.write_text("def f(x):\n    print(x)\n")
    await editor.connect(tmp_path)
    editor.open(layers, layers.read_text())
    await editor.shows(layers, "1:4-1:12")
    before = len(editor.published)
    program.write_text(TRAIN + "step(2)\n")
    written(editor, program)
    await editor.analysed(2)
    await editor.settle()
    assert all(params.diagnostics for params in editor.published[before:] if params.uri == layers.as_uri())


async def test_a_program_that_is_new_is_found(editor: Editor, tmp_path: Path) -> None:
    layers = tmp_path / "layers.py"
    layers.write_text(LAYERS)
    await editor.connect(tmp_path)
    editor.open(layers, "def f(x):\n    print(x)\n")
    await editor.analysed(0)
    _, program = project(tmp_path)
    written(editor, program, types.FileChangeType.Created)
    await editor.shows(layers, "1:4-1:12")
    await editor.analysed(1)


async def test_an_entry_of_the_project_is_run_for_the_files_that_it_comes_by(editor: Editor, tmp_path: Path) -> None:
    layers, _ = project(tmp_path)
    (tmp_path / "other.py").write_text(TRAIN)
    (tmp_path / "pyproject.toml").write_text('[tool.graphbreak]\nentries = ["other.py --epochs 1"]\n')
    await editor.connect(tmp_path)
    editor.open(layers, LAYERS)
    await editor.analysed(1)
    assert asked(editor) == ["other.py"]


async def test_an_example_of_the_project_makes_a_file_one_to_trace(editor: Editor, tmp_path: Path) -> None:
    layers, pyproject = tmp_path / "layers.py", tmp_path / "pyproject.toml"
    layers.write_text(LAYERS)
    await editor.connect(tmp_path)
    editor.open(layers, LAYERS)
    await editor.analysed(0)
    pyproject.write_text('[tool.graphbreak.examples]\n"layers.py::f" = "f(1)"\n')
    written(editor, pyproject, types.FileChangeType.Created)
    await editor.analysed(1)
    assert asked(editor) == ["layers.py"]


async def test_nothing_is_run_in_a_workspace_that_is_not_trusted(editor: Editor, tmp_path: Path) -> None:
    layers, program = project(tmp_path)
    await editor.connect(tmp_path, options={"trusted": False})
    editor.open(layers, LAYERS)
    editor.save(layers)
    written(editor, program)
    await editor.analysed(0)


async def test_by_hand_programs_are_run_when_the_file_is_asked_for(editor: Editor, tmp_path: Path) -> None:
    layers, program = project(tmp_path)
    await editor.connect(tmp_path, options={"run": "manual"})
    editor.open(layers, LAYERS)
    editor.save(layers)
    written(editor, program)
    await editor.analysed(0)
    await editor.command("graphbreak.trace", layers.as_uri())
    await until(lambda: sorted(asked(editor)) == ["layers.py", "train.py"], lambda: str(asked(editor)))
    editor.insert(layers, 1, 0, "    print(x)\n")
    await editor.command("graphbreak.trace", layers.as_uri())
    await editor.shows(layers, "1:4-1:12", version=2)
    await until(lambda: asked(editor)[2:] == ["layers.py", "train.py"], lambda: str(asked(editor)))


def test_what_another_file_showed_is_not_called_not_analysed() -> None:
    span = Span.at(1, 0, 1, 5)
    reached = FunctionResult("/w/model.py", "f", 2, "/w/model.py", span, Outcome.TRACED)
    missed = FunctionResult("/w/model.py", "f", 2, "/w/model.py", span, Outcome.NOT_REACHED, "nothing calls it")
    hint = Diagnostic(not_analysed_id(missed), "/w/model.py", span, Severity.HINT, Kind.NOT_ANALYSED, "not-analysed", "", functions=("f",))
    results = Results()
    results.put("/w/model.py", Report("/w/model.py", functions=(missed,), diagnostics=(hint,)))
    assert results.at("/w/model.py") == [hint]
    results.put("/w/train.py", Report("/w/train.py", functions=(reached,)))
    assert results.at("/w/model.py") == []
    results.put("/w/model.py", Report("/w/model.py", functions=(missed,), diagnostics=(hint,)))
    assert results.at("/w/model.py") == []
    results.drop("/w/train.py")
    assert results.at("/w/model.py") == [hint]


async def test_a_hover_at_a_clean_function_says_with_what_it_was_called(editor: Editor, tmp_path: Path) -> None:
    await editor.connect(tmp_path)
    path = tmp_path / "a.py"
    editor.open(path, MARK + "def f(x):\n    GRAPHS\n")
    await editor.analysed(1)
    for line in (1, 2):
        hover = await editor.hover(path, line, 5)
        assert hover is not None
        assert isinstance(hover.contents, types.MarkupContent)
        assert hover.contents.value == "**f**: 1 graph · no breaks\n\n- `x: f32[8, 16]` (from call)"
    assert await editor.hover(path, 3, 5) is None
