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
    path, changes = to_path(params.text_document.uri), list(params.content_changes)
    document = None if path is None else ls.session.documents.get(path)
    if document is not None:
        ls.session.changed(document, params.text_document.version, changes)
    elif path is not None:
        ls.session.changed_unknown(path, params.text_document.version, changes)


def did_save(ls: GraphbreakServer, params: types.DidSaveTextDocumentParams) -> None:
    """The usual time to analyse."""
    path = to_path(params.text_document.uri)
    if path is not None and ls.session.documents.get(path) is not None:
        ls.session.saved(path)
    elif path is not None:
        ls.session.saved_unknown(path)


def did_close(ls: GraphbreakServer, params: types.DidCloseTextDocumentParams) -> None:
    """Give the text back to the disk."""
    path = to_path(params.text_document.uri)
    if path is not None:
        ls.session.closed(path)
