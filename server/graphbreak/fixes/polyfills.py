"""Python forms of functions written in C that Dynamo has no rule for in any supported torch (2.8 to 2.14), each exactly the function.

They give the same results, leave a list in the same order, and raise errors of the same types; the words of an error may differ.
`tests/fixes/test_polyfills.py` compares each with its original.
"""

from __future__ import annotations

_HEAD = "def {name}(a, x, lo=0, hi=None, *, key=None):\n"
_LOOP = """\
    if lo < 0:
        raise ValueError("lo must be non-negative")
    hi = len(a) if hi is None else hi
    while lo < hi:
        middle = (lo + hi) // 2
        found = a[middle] if key is None else key(a[middle])
        if {test}:
            {left}
        else:
            {right}
"""
_SEARCH = f"{_HEAD}{_LOOP}    return lo\n"
_INSERT = f"{_HEAD}    wanted = x if key is None else key(x)\n{_LOOP}    a.insert(lo, x)\n"
_LEFT = {"test": "found < x", "left": "lo = middle + 1", "right": "hi = middle"}
_RIGHT = {"test": "x < found", "left": "hi = middle", "right": "lo = middle + 1"}

_SINK = """\
position = {first}
while 2 * position + 1 < len(heap):
    child = 2 * position + 1
    if child + 1 < len(heap) and not heap[child] < heap[child + 1]:
        child += 1
    heap[position] = heap[child]
    position = child
while position > {first} and item < heap[(position - 1) // 2]:
    heap[position] = heap[(position - 1) // 2]
    position = (position - 1) // 2
heap[position] = item
"""
"""Let an item sink from a place of a heap down to a leaf, and rise from there: the order of comparisons that `heapq` has."""

_PUSH = """\
def {name}(heap, item, /):
    heap.append(item)
    position = len(heap) - 1
    while position > 0 and item < heap[(position - 1) // 2]:
        heap[position] = heap[(position - 1) // 2]
        position = (position - 1) // 2
    heap[position] = item
"""
_POP = """\
def {name}(heap, /):
    item = heap.pop()
    if not heap:
        return item
    smallest = heap[0]
    {sink}
    return smallest
"""
_REPLACE = """\
def {name}(heap, item, /):
    smallest = heap[0]
    {sink}
    return smallest
"""
_PUSHPOP = """\
def {name}(heap, item, /):
    if not heap or not heap[0] < item:
        return item
    smallest = heap[0]
    {sink}
    return smallest
"""
_HEAPIFY = """\
def {name}(heap, /):
    for first in range(len(heap) // 2 - 1, -1, -1):
        item = heap[first]
        {sink}
"""
_INDEX = """\
def {name}(a, b, /):
    for index, item in enumerate(a):
        if item is b or item == b:
            return index
    raise ValueError("sequence.index(x): x not in sequence")
"""


def _sinking(template: str, first: str = "0") -> str:
    before, _, after = template.partition("{sink}\n")
    indent = before[before.rindex("\n") + 1 :]
    return before + _SINK.format(first=first).replace("\n", "\n" + indent).rstrip(" ") + after


def _comparing(template: str, side: dict[str, str], wanted: str = "x") -> str:
    return template.format(name="{name}", **{key: text.replace("x", wanted) for key, text in side.items()})


POLYFILLS = {
    "bisect.bisect_left": _comparing(_SEARCH, _LEFT),
    "bisect.bisect_right": _comparing(_SEARCH, _RIGHT),
    "bisect.bisect": _comparing(_SEARCH, _RIGHT),
    "bisect.insort_left": _comparing(_INSERT, _LEFT, "wanted"),
    "bisect.insort_right": _comparing(_INSERT, _RIGHT, "wanted"),
    "bisect.insort": _comparing(_INSERT, _RIGHT, "wanted"),
    "heapq.heappush": _PUSH,
    "heapq.heappop": _sinking(_POP),
    "heapq.heapreplace": _sinking(_REPLACE),
    "heapq.heappushpop": _sinking(_PUSHPOP),
    "heapq.heapify": _sinking(_HEAPIFY, "first"),
    "operator.indexOf": _INDEX,
}
"""By full name the definition, with `{name}` for what it is called, in lines that end with a line feed."""
