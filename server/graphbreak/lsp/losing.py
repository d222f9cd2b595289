"""Documents of which something was not understood: nobody knows their text until the editor saves them, or sends the whole of it.

To go on with a text that is not the editor's would put every squiggle after the change in a wrong place.
"""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from ..core.source import SourceFile
from ..tracer.files import read_source
from .documents import Document


class Lost:
    """The documents that are open in the editor and whose text is not known, by path."""

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}

    def put(self, document: Document) -> None:
        """The text of a document is not known any more."""
        self._documents[document.path] = document

    def drop(self, path: str) -> None:
        """It is open no more, or its text is known again."""
        self._documents.pop(path, None)

    def saved(self, path: str) -> Document | None:
        """The document as it is on disk, where it was just saved; None if it was not lost."""
        document = self._documents.get(path)
        source = read_source(path) if document is not None else None
        return None if document is None or source is None else Document(document.uri, None, document.language, source)

    def sent(
        self, path: str, version: int, changes: Sequence[types.TextDocumentContentChangeEvent]
    ) -> tuple[Document, list[types.TextDocumentContentChangeEvent]] | None:
        """The document with the last whole text among the changes, and those behind it; None where there is none."""
        document = self._documents.get(path)
        for index in reversed(range(len(changes))):
            change = changes[index]
            if document is not None and not isinstance(change, types.TextDocumentContentChangePartial):
                return Document(document.uri, version, document.language, SourceFile(path, change.text)), list(changes[index + 1 :])
        return None
