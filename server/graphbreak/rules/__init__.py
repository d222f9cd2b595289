"""A short page for each of the most common graph breaks: what it means, why, what to do, a program before and after. Package data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

_FILE = re.compile(r"gb\d{4,}\.md")
_CODE = re.compile(r"(?:gb)?(\d{1,6})", re.IGNORECASE)
_TITLE = re.compile(r"# (GB\d{4,}) (.+)")
_PROGRAM = re.compile(r"```py\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->\n*", re.DOTALL)


@dataclass(frozen=True)
class Page:
    """One page. `title` is PyTorch's name for the type; `before` and `after` are whole programs; `markdown` is all of it, to be shown."""

    code: str
    title: str
    summary: str
    why: str
    advice: str
    before: str
    after: str
    markdown: str

    @property
    def in_short(self) -> str:
        """What a hover has room for: what it means and what to do, as Markdown."""
        return f"{self.summary}\n\n{self.advice}"


def codes() -> tuple[str, ...]:
    """The codes that have a page, in order."""
    return tuple(sorted(_texts()))


def page(code: str) -> Page | None:
    """The page for a code, which may be written `GB0170`, `gb170` or `170`."""
    text = _texts().get(normalised(code))
    return None if text is None else parse_page(text)


def page_named(gb_type: str) -> Page | None:
    """The page for PyTorch's name of a type; for records without a code (torch 2.8). Case and the final stop do not matter."""
    wanted = _folded(gb_type)
    return next((found for found in pages() if _folded(found.title) == wanted), None)


def read_all() -> None:
    """Read all pages from the disk, so that each is at hand when it is asked for."""
    for _ in pages():
        pass


def pages() -> Iterator[Page]:
    """All pages, in the order of their codes."""
    return (parse_page(_texts()[code]) for code in codes())


def normalised(code: str) -> str:
    """A code as PyTorch writes it; text that is no code comes back as it is."""
    match = _CODE.fullmatch(code.strip())
    return f"GB{int(match.group(1)):04}" if match else code


@cache
def parse_page(text: str) -> Page:
    """A page's parts; raises `ValueError` for text in another form."""
    markdown = _COMMENT.sub("", text).strip() + "\n"
    head, *rest = re.split(r"^## (.+)\n", markdown, flags=re.MULTILINE)
    parts = {name.strip(): body.strip() for name, body in zip(rest[::2], rest[1::2])}
    title, _, summary = head.partition("\n")
    match = _TITLE.fullmatch(title)
    before, after = (_PROGRAM.fullmatch(parts.get(name, "")) for name in ("Before", "After"))
    if not match or not before or not after or list(parts) != ["Why", "What to do", "Before", "After"]:
        raise ValueError(f"not a page: {title}")
    code, name = match.groups()
    return Page(code, name, summary.strip(), parts["Why"], parts["What to do"], before.group(1), after.group(1), markdown)


@cache
def _texts() -> dict[str, str]:
    files = [file for file in resources.files(__name__).iterdir() if _FILE.fullmatch(file.name)]
    return {file.name.partition(".")[0].upper(): file.read_text(encoding="utf-8") for file in files}


def _folded(gb_type: str) -> str:
    return gb_type.strip().rstrip(".").casefold()
