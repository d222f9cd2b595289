"""PyTorch's own words: the text of a graph-break record as a `Reason`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ANOTHER = re.compile(r"\n*\*\*\* While handling this graph break, another graph break occurred: \*\*\*\n*")
_TRACEBACK = re.compile(
    r"\n+(?:User code traceback:|Stack variable source attribution:|from user code:|Traceback \(most recent call last\):)"
)
_PAGE = re.compile(r"https?://[\w./~%-]+/(gb\d+)\.html", re.IGNORECASE)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_FIELD = re.compile(r"^ {1,4}(Explanation|Hint|Developer debug context): ?", re.MULTILINE)
_LOOP = "graph break in loop"


@dataclass(frozen=True)
class Reason:
    """Why a graph broke, as PyTorch words it. `headers` say what it did about it; `effects` are the types of the breaks that followed
    from this one while it was being handled (a break in a loop has `graph break in loop`)."""

    gb_type: str
    code: str = ""
    explanation: str = ""
    hints: tuple[str, ...] = ()
    context: str = ""
    url: str = ""
    headers: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()

    @property
    def skips(self) -> bool:
        """Whether a header says that a whole frame falls back to eager."""
        return any("falling back to eager" in header or "results in a skip" in header for header in self.headers)

    @property
    def in_loop(self) -> bool:
        """Whether PyTorch says that it stands in a loop."""
        return _LOOP in self.effects


def parse_reason(text: str) -> Reason:
    """The reason in a break record's text, or in the message of the error that a break under `fullgraph=True` raises. Takes any text."""
    body = text.partition("Graph Break Reason: ")[2] or text
    body = _TRACEBACK.split(body.replace("\r\n", "\n"), maxsplit=1)[0].strip("\n")
    first, *others = _ANOTHER.split(body)
    headers, cause = _without_headers(first)
    fields = _fields(cause)
    page = next(reversed(list(_PAGE.finditer(cause))), None)  # the program's own words may stand before PyTorch's link
    return Reason(
        gb_type=_first_line(cause),
        code=page.group(1).upper() if page else "",
        explanation=" ".join(fields.get("Explanation", [])),
        hints=tuple(fields.get("Hint", ())),
        context=" ".join(fields.get("Developer debug context", [])),
        url=page.group() if page else "",
        headers=tuple(headers),
        effects=tuple(_first_line(other) for other in others),
    )


def traceback_start(text: str) -> int:
    """Where in the text of a break's record the reason ends and tracebacks begin."""
    found = _TRACEBACK.search(text, max(text.find("Graph Break Reason: "), 0))
    return found.start() if found else len(text)


def without_addresses(text: str) -> str:
    """The text without object addresses, which differ from run to run."""
    return _ADDRESS.sub("", text)


def _without_headers(text: str) -> tuple[list[str], str]:
    """The paragraphs that say what was done (they end with a colon), and the reason they announce."""
    headers = []
    head, _, rest = text.partition("\n\n")
    while rest and head.rstrip().endswith(":") and "\n  " not in head:
        headers.append(head.strip())
        text = rest
        head, _, rest = text.partition("\n\n")
    return headers, text.strip("\n")


def _first_line(text: str) -> str:
    return without_addresses(text.strip().partition("\n")[0].strip())


def _fields(text: str) -> dict[str, list[str]]:
    """The named parts of a reason; a part that goes over several lines is joined to one."""
    text = re.split(r"\n+ *For more details about this graph break", text, maxsplit=1)[0]
    found: dict[str, list[str]] = {}
    marks = list(_FIELD.finditer(text))
    for mark, following in zip(marks, [*(m.start() for m in marks[1:]), len(text)]):
        value = " ".join(line.strip() for line in text[mark.end() : following].splitlines())
        found.setdefault(mark.group(1), []).append(without_addresses(value.strip()))
    return found
