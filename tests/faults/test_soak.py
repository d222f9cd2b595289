"""The short version of `make soak`: see `soaking`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .soaking import soak

TRACES = 100


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found through /proc")
def test_many_traces_leave_nothing_and_take_no_more_than_few(tmp_path: Path) -> None:
    found = soak(tmp_path, TRACES)
    first, last = found.samples[0], found.samples[-1]
    assert found.wrong == []
    assert found.left == []
    assert len(found.hovers) >= TRACES, "hovers are answered while programs run"
    rest = sorted(found.idle)[-3] * 1000  # of the same server on the same machine, when nothing else goes on
    assert found.hover(95) < 100 + 10 * rest, f"5 of 100 hovers took {found.hover(95):.0f} ms or more, at rest {rest:.0f} ms"
    assert found.hover(100) < 2000 + 10 * rest, f"a hover took {found.hover(100):.0f} ms, at rest {rest:.0f} ms"
    assert last.memory - first.memory < 8 << 20, [sample.memory for sample in found.samples]
    assert {(s.descriptors, s.processes, s.zombies, s.temporary) for s in found.samples} == {
        (first.descriptors, first.processes, 0, first.temporary)
    }
