"""Several threads parse: none disturbs another."""

from __future__ import annotations

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import graphbreak
from graphbreak.core.parsing import literal, parse_expression, parse_module

SERVER = Path(graphbreak.__file__).parent


def test_threads_do_not_disturb_each_other() -> None:
    text = "def f(x):\n    if x:\n        return [((1 + x) * 2, {'a': [x, (x, x)]}) for y in range(3)]\n" * 30

    def let_others_run(*_: object) -> None:
        time.sleep(0)

    def work(_: int) -> int:
        parse_expression("f(a, (b, c))")
        assert literal("[1, 2]") == [1, 2]
        return len(parse_module(text).body)

    threshold = gc.get_threshold()
    gc.callbacks.append(let_others_run)  # while a tree is built, which is when garbage is collected
    gc.set_threshold(50)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(work, range(24))) == {30}
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(let_others_run)


def test_everything_is_parsed_there() -> None:
    own = [path for path in SERVER.rglob("*.py") if path.parent.name not in ("worker", "sandbox", "inferring", "hook")]
    assert len(own) > 100
    calls = [path.name for path in own if "ast.parse(" in path.read_text() or "ast.literal_eval(" in path.read_text()]
    assert calls == ["parsing.py"]
