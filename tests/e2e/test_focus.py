"""An edit in one layer of a model whose whole trace takes its time: what the layer by itself shows comes first, and is told apart."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from .test_editor import RealEditor, place, real, spot

__all__ = ["real"]

MODEL = """\
import os
import time

import torch
from torch import nn


@torch.compiler.assume_constant_result
def take_time():
    time.sleep(1.1)
    return 1


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        y = self.linear(x)
        return torch.relu(y)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(Layer(), Layer())

    def forward(self, x):
        return self.layers(x) * take_time()


while not os.path.exists(os.path.join(os.path.dirname(__file__), "go on")):
    time.sleep(0.05)
model = torch.compile(Model())
with torch.no_grad():
    model(torch.ones(4, 8))
"""
EDIT = '        print("probe")\n'
EDITED = MODEL.replace("        return torch.relu(y)\n", EDIT + "        return torch.relu(y)\n")
PROBE, CALLER = place(EDITED, 'print("probe")'), place(EDITED, "self.layers(x)")


async def test_what_an_edited_layer_breaks_is_shown_before_the_whole_model_is_traced_again(real: RealEditor, tmp_path: Path) -> None:
    path, go_on = tmp_path / "model.py", tmp_path / "go on"
    path.write_text(MODEL, encoding="utf-8")
    go_on.touch()
    await real.start(tmp_path, tryFixes=False)
    real.open(path, MODEL)
    assert await real.diagnostics(path, lambda found: True) == []

    go_on.unlink()
    real.insert(path, line_of(EDIT), 0, EDIT)
    path.write_text(EDITED, encoding="utf-8")
    real.save(path)
    first = await real.diagnostics(path, lambda found: len(found) == 2, traced=False)
    assert real.status[-1] == ("tracing", "")
    assert [spot(found) for found in first] == [PROBE, CALLER]
    assert all(found.message.startswith("Provisional, `Layer.forward` was traced by itself: ") for found in first)
    told = await real.hover(path, first[0].range.start.line, first[0].range.start.character)
    assert told is not None
    assert isinstance(told.contents, types.MarkupContent)
    assert "Provisional" in told.contents.value

    go_on.touch()
    whole = await real.diagnostics(path, lambda found: len(found) == 2 and "Provisional" not in found[0].message)
    assert [spot(found) for found in whole] == [PROBE, CALLER]
    assert [found.code for found in whole] == [found.code for found in first]


def line_of(edit: str) -> int:
    """The line (from 0) that an edit puts in."""
    return EDITED[: EDITED.index(edit)].count("\n")
