"""The open documents: our own copy of each text, cut into lines where LSP cuts them, and the edits made to it lately.

pygls' documents are not used: they break lines at form feeds and other characters where neither Python nor the editor does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..core.marks import Marks, find_marks
from ..core.source import Edit, SourceFile
from .moving import trimmed

BYTE_ORDER_MARK = "\ufeff"


@dataclass
class Document:
    """One open file. `source` is replaced, never changed, so that a running trace keeps the text it began with."""

    uri: str
    version: int | None
    """As the editor numbers its texts; None where that was not understood."""
    language: str
    source: SourceFile
    steps: list[tuple[int, Edit]] = field(default_factory=list)
    """The edits since the oldest running trace, each with the revision that it led to."""
    _marks: tuple[SourceFile, Marks] | None = None

    @property
    def path(self) -> str:
        """The absolute path of the file."""
        return self.source.path

    @property
    def program(self) -> SourceFile:
        """The text as Python would read it: without a byte-order mark, which some editors leave in."""
        text = self.source.text
        return SourceFile(self.path, text[1:]) if text.startswith(BYTE_ORDER_MARK) else self.source

    @property
    def is_python(self) -> bool:
        """Whether this is a Python file; editors can be set up to send us any."""
        return self.language == "python" or self.path.endswith(".py")

    @property
    def marks(self) -> Marks:
        """What is marked for compile in the text that it has now."""
        if self._marks is None or self._marks[0] is not self.source:
            self._marks = (self.source, find_marks(self.program) if self.is_python else Marks())
        return self._marks[1]

    @property
    def is_marked(self) -> bool:
        """Whether anything in it is, or has an example call that says that it is meant to be."""
        return bool(self.marks.marks or self.marks.stray)

    def since(self, revision: int) -> list[Edit]:
        """The edits made after that revision."""
        return [edit for made, edit in self.steps if made > revision]


class Documents:
    """All open documents by path. `revision` counts every change to anything that a trace could depend on."""

    def __init__(self) -> None:
        self.revision = 0
        self._open: dict[str, Document] = {}
        self._uris: dict[str, str] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self._open.values()))

    def get(self, path: str) -> Document | None:
        """The open document of a path."""
        return self._open.get(path)

    def open(self, document: Document) -> None:
        """A document was opened. Its URI is kept for good: editors spell URIs in their own ways and match them by letter."""
        self._open[document.path] = document
        self._uris[document.path] = document.uri

    def close(self, path: str) -> Document | None:
        """A document was closed; the file on disk counts again. None if it was not open."""
        document = self._open.pop(path, None)
        if document is not None:
            self.touch()
        return document

    def change(self, document: Document, edit: Edit) -> Edit:
        """Change a document, and say what really changed in it."""
        step = trimmed(document.source, edit)
        document.source = document.source.apply([edit])
        self.touch()
        document.steps.append((self.revision, step))
        return step

    def touch(self) -> None:
        """Something that traces depend on has changed, so that those now running are out of date."""
        self.revision += 1

    def forget_steps(self) -> None:
        """Nothing is running any more that would have to be moved through the edits."""
        for document in self._open.values():
            document.steps.clear()

    def uri(self, path: str) -> str | None:
        """The URI by which the editor has called this path, if it ever did."""
        return self._uris.get(path)

    def overlay(self) -> dict[str, str]:
        """The texts of all open documents by path."""
        return {path: document.program.text for path, document in self._open.items()}
