"""Where the fields of a formatted string stand in its text, on every Python that the server runs on."""

from __future__ import annotations

import ast

import pytest

from graphbreak.fixes.extraction import Unmovable
from graphbreak.fixes.fields import fields


def found(text: str) -> list[str]:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.JoinedStr)
    places = fields(text, node)
    assert all(text[offset : offset + len(field)] == field for offset, field in places)
    return [field for _, field in places]


def test_the_fields_are_found_where_they_stand() -> None:
    assert found('f"{{no}} {a} é {b.item():.3f} {c!r}{d[0]}"') == ["a", "b.item()", "c", "d[0]"]
    assert found("rf'''{a}\n{ {1: 2}[1] }''' '}' f\"{b['}']}\"") == ["a", " {1: 2}[1] ", "b['}']"]
    assert found('f"plain"') == []


@pytest.mark.parametrize("text", ['f"{a:{b}}"', 'f"{a}" "{b}"'])
def test_what_cannot_be_told_is_given_up(text: str) -> None:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.JoinedStr)
    with pytest.raises(Unmovable):
        fields(text, node)
