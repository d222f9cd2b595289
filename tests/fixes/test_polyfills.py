"""The Python forms of functions in C, against the functions themselves."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphbreak.fixes.polyfills import POLYFILLS

_NUMBERS = st.lists(st.integers(-9, 9), max_size=20)


def pair(name: str) -> tuple[Any, Any]:
    """The function and its Python form."""
    module, _, last = name.rpartition(".")
    scope: dict[str, Any] = {}
    exec(POLYFILLS[name].replace("{name}", "form"), scope)
    return getattr(importlib.import_module(module), last), scope["form"]


def outcome(function: Any, values: list[Any], *rest: Any, **named: Any) -> tuple[Any, list[Any]]:
    """What it gives, or the type of what it raises, and what it leaves in the list."""
    own = list(values)
    try:
        return function(own, *rest, **named), own
    except (ValueError, IndexError) as error:
        return type(error), own


@pytest.mark.parametrize("name", POLYFILLS)
def test_the_signature_is_the_same(name: str) -> None:
    function, form = pair(name)
    assert str(inspect.signature(form)) == str(inspect.signature(function))


@pytest.mark.parametrize("name", [name for name in POLYFILLS if name.startswith("bisect.")])
@given(values=_NUMBERS, wanted=st.integers(-10, 10), low=st.integers(-1, 5), high=st.none() | st.integers(0, 20), sort=st.booleans())
def test_bisect(name: str, values: list[int], wanted: int, low: int, high: int | None, sort: bool) -> None:
    function, form = pair(name)
    values = sorted(values) if sort else values
    high = high if high is None else min(high, len(values))
    assert outcome(form, values, wanted, low, high) == outcome(function, values, wanted, low, high)
    assert outcome(form, values, wanted, key=abs) == outcome(function, values, wanted, key=abs)


@pytest.mark.parametrize("name", [name for name in POLYFILLS if name.startswith("heapq.")])
@given(values=_NUMBERS, item=st.integers(-10, 10))
def test_heapq(name: str, values: list[int], item: int) -> None:
    function, form = pair(name)
    rest = [item] if len(inspect.signature(function).parameters) == 2 else []
    for tuples in (values, [(value, index) for index, value in enumerate(values)]):
        given_rest = [(item, -1)] if rest and tuples is not values else rest
        assert outcome(form, tuples, *given_rest) == outcome(function, tuples, *given_rest)


@given(values=_NUMBERS, item=st.integers(-10, 10))
def test_index_of(values: list[int], item: int) -> None:
    function, form = pair("operator.indexOf")
    assert outcome(form, values, item) == outcome(function, values, item)
