"""When a copy one level deep does for a deep one. In the sources the call of `copy.deepcopy` is the break."""

from __future__ import annotations

import pytest

from graphbreak.core.findings import Diagnostic, Kind, Safety, Severity
from graphbreak.core.source import SourceFile, Span
from graphbreak.fixes.copied_value import copied_value
from graphbreak.fixes.model import FixContext

PATH = "/w/net.py"
CALL = "copy.deepcopy(self.config)"


def safety(body: str, call: str = CALL, inputs: str = "x: f32[4]") -> Safety:
    lines = "\n    ".join(body.splitlines())
    source = SourceFile(PATH, f"import copy\n\n\ndef f(self, x):\n    config = {call}\n    {lines}\n")
    at = source.text.index(call)
    span = Span(source.position(at), source.position(at + len(call)))
    context = FixContext({PATH: source}, inputs={(PATH, 3): frozenset({inputs})})
    fix = copied_value(Diagnostic("1", PATH, span, Severity.WARNING, Kind.BREAK, "GB0156", ""), context)
    assert fix is not None
    return fix.safety


KEPT = {
    "operand": "return x * config.scale",
    "part of a part": "return x * config.sub.scale + config.sizes[0]",
    "argument of an operation": "return x.add(config.bias)",
    "size of an operation": "return x.view(config.rows, -1)",
    "set": "config.scale = 2.0\nreturn x * config.scale",
    "set by name": "setattr(config, 'scale', 2.0)\nreturn x",
    "read by name": "return x * getattr(config, 'scale')",
    "asked for": "return x if hasattr(config, 'scale') else x + 1",
    "another name that is read": "scales = config.scales\nreturn x * sum(scales)",
    "in a loop": "for scale in config.scales:\n    x = x * scale\nreturn x",
    "original is read": "return x * config.scale * self.config.scale",
}
CHANGED = {
    "another name": "scales = config.scales\nscales.append(2.0)\nreturn x * sum(scales) + config.bias",
    "two other names": "sub = config.sub\nscales = sub.scales\nscales[0] = 2\nreturn x",
    "name of a loop": "for layer in config.layers:\n    layer.scale = 2\nreturn x",
    "method of a part": "config.scales.append(2.0)\nreturn x",
    "item of a part": "config.scales[0] = 2.0\nreturn x",
    "attribute of a part": "config.sub.scale = 2.0\nreturn x",
    "part set by name": "setattr(config.sub, 'a', 1)\nreturn x",
    "part handed on": "helper(config.sub)\nreturn x",
    "part read by name": "getattr(config, 'opts')['a'] = 1\nreturn x",
    "part changed in place": "config.scales += [1]\nreturn x",
    "handed on": "return helper(x, config)",
    "returned": "return x, config",
    "part returned": "return config.scales",
    "part stored": "self.scales = config.scales\nreturn x",
    "part in a list": "parts = [config.sub]\nparts[0].a = 1\nreturn x",
    "part chosen": "part = config.a or config.b\npart.append(1)\nreturn x",
    "view of a part": "bias = config.bias.view(-1)\nbias += 1\nreturn x + bias",
    "in another function": "return (lambda: config.scales)",
    "method of the copy": "config.update(2)\nreturn x",
    "unpacked": "one, two = config.parts\none.append(1)\nreturn x",
    "named in an expression": "(scales := config.scales).append(1)\nreturn x",
    "parameter set": "config.weight = None\nreturn x",
    "parameter set by name": "setattr(config, 'weight', None)\nreturn x",
    "original is changed": "self.config.scales.append(1)\nreturn x * sum(config.scales)",
}


@pytest.mark.parametrize("name", KEPT)
def test_the_original_stays_as_it_is(name: str) -> None:
    assert safety(KEPT[name]) is Safety.SAFE


@pytest.mark.parametrize("name", CHANGED)
def test_the_original_may_be_changed(name: str) -> None:
    assert safety(CHANGED[name]) is Safety.CHANGES_BEHAVIOUR


def test_a_tensor_with_a_gradient_of_its_own() -> None:
    assert safety("return x", "copy.deepcopy(x)") is Safety.SAFE
    assert safety("return x", "copy.deepcopy(x)", "n: 3, x: f32[4, 8] with grad") is Safety.CHANGES_BEHAVIOUR
    assert safety("return x", "copy.deepcopy(x)", "x: f32[4], y: f32[4] with grad") is Safety.SAFE
