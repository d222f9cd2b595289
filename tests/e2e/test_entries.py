"""Three modules and no configuration: what is saved in one is traced through the program that compiles it, on the real engine."""

from __future__ import annotations

from pathlib import Path

from test_entry_runs import LAYERS, MODEL, TRAIN

from .test_editor import RealEditor, real

__all__ = ["real"]


async def test_an_edit_of_a_layer_shows_the_break_that_only_the_program_reaches(real: RealEditor, tmp_path: Path) -> None:
    layers, model, program = (tmp_path / name for name in ("layers.py", "model.py", "train.py"))
    clean = LAYERS.replace('        print("block")\n', "")
    for path, text in ((layers, clean), (model, MODEL), (program, TRAIN)):
        path.write_text(text)
    await real.start(tmp_path)
    real.open(layers, clean)
    real.open(model, MODEL)
    line = clean.splitlines().index("        return x + 1")
    real.insert(layers, line, 0, '        print("block")\n')
    real.save(layers)
    (found,) = await real.diagnostics(layers, lambda shown: any(str(one.code) == "GB0059" for one in shown))
    assert str(found.range) == f"{line}:8-{line}:22"
    assert layers.read_text() == clean  # what counts is the editor's text
    hover = await real.hover(layers, line, 10)
    assert hover is not None
    assert "`Net.forward` was called with `x: f32[4, 8]` (from train.py)" in str(hover.contents)
    await real.diagnostics(model, lambda shown: not any(str(one.code) == "not-analysed" for one in shown))
    titles = [command.title for _, command in await real.lenses(model)]
    assert "1 graph · no breaks · y: f32[4, 8] with grad (from train.py)" in titles
