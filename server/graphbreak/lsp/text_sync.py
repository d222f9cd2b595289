"""didOpen, didChange, didSave, didClose: the life of a document."""

from __future__ import annotations

from lsprotocol import types

from ..core.source import SourceFile
from .connection import GraphbreakServer
from .convert import to_path
from .documents import Document


def did_open(ls: GraphbreakServer, params: types.DidOpenTextDocumentParams) -> None:
    """Take the text over from the disk. What is no file has no place to run in, and is let be."""
    item = params.text_document
    path = to_path(item.uri)
    if path is not None:
        ls.session.opened(Document(item.uri, item.version, str(item.language_id), SourceFile(path, item.text)))


def did_change(ls: GraphbreakServer, params: types.DidChangeTextDocumentParams) -> None:
    """Follow the edits; each one's positions are those of the text after the one before."""
    document = _document(ls, params.text_document.uri)
    if document is not None:
        ls.session.changed(document, params.text_document.version, list(params.content_changes))


def did_save(ls: GraphbreakServer, params: types.DidSaveTextDocumentParams) -> None:
    """The usual time to analyse."""
    document = _document(ls, params.text_document.uri)
    if document is not None:
        ls.session.saved(document.path)


def did_close(ls: GraphbreakServer, params: types.DidCloseTextDocumentParams) -> None:
    """Give the text back to the disk."""
    document = _document(ls, params.text_document.uri)
    if document is not None:
        ls.session.closed(document.path)


def _document(ls: GraphbreakServer, uri: str) -> Document | None:
    path = to_path(uri)
    return None if path is None else ls.session.documents.get(path)
