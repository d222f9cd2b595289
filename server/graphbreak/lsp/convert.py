"""Core values to LSP types and back. Nothing else knows the editor's columns, its URIs or its names for things.

Inside, columns count code points. The editor's count UTF-16 units, UTF-8 bytes or code points, as agreed at the start.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls import uris

from ..core.findings import Fix, Kind, Related, Severity
from ..core.source import Edit, Position, SourceFile, Span
from .moving import difference

if TYPE_CHECKING:
    from .diagnostics import Shown

SOURCE = "graphbreak"

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFORMATION: types.DiagnosticSeverity.Information,
    Severity.HINT: types.DiagnosticSeverity.Hint,
}

Change = types.TextDocumentContentChangeEvent


def to_path(uri: str) -> str | None:
    """The file that a URI names; None for what is not a file (an unsaved buffer, a notebook cell, an archive member)."""
    path = uris.to_fs_path(uri)
    return os.path.normpath(path) if path else None


def to_units(line: str, column: int, encoding: str) -> int:
    """A code-point column in the editor's units."""
    before = line[:column]
    if encoding == types.PositionEncodingKind.Utf32 or before.isascii():
        return column
    return sum(_width(character, encoding) for character in before)


def to_column(line: str, units: int, encoding: str) -> int:
    """An editor's column in code points; one inside a character is moved to its start, one behind the line to its end."""
    if encoding == types.PositionEncodingKind.Utf32 or line.isascii():
        return min(units, len(line))
    passed = 0
    for column, character in enumerate(line):
        passed += _width(character, encoding)
        if passed > units:
            return column
    return len(line)


def _width(character: str, encoding: str) -> int:
    if encoding == types.PositionEncodingKind.Utf8:
        return len(character.encode("utf-8", "surrogatepass"))
    return 2 if ord(character) > 0xFFFF else 1


@dataclass(frozen=True)
class Converter:
    """What converting needs to know: the agreed encoding, and how to find a file's text, its URI and its version."""

    encoding: str
    source: Callable[[str], SourceFile | None]
    known_uri: Callable[[str], str | None]
    version: Callable[[str], int | None]

    def uri(self, path: str) -> str:
        """The URI of a file, spelled as the editor spells it where it has named the file before."""
        return self.known_uri(path) or uris.from_fs_path(path) or path

    def to_range(self, path: str, span: Span) -> types.Range:
        """A span of a file as the editor counts it."""
        return types.Range(self._to_position(path, span.start), self._to_position(path, span.end))

    def _to_position(self, path: str, position: Position) -> types.Position:
        source = self.source(path)
        line = source.line(position.line) if source else ""
        # Without the text (a library file) the columns are taken for plain ASCII.
        return types.Position(position.line, to_units(line, position.column, self.encoding) if line else position.column)

    def at_line(self, line: int) -> types.Range:
        """The start of a line."""
        return types.Range(types.Position(line, 0), types.Position(line, 0))

    def from_position(self, source: SourceFile, position: types.Position) -> Position:
        """An editor's position in a text."""
        return Position(position.line, to_column(source.line(position.line), position.character, self.encoding))

    def from_range(self, source: SourceFile, place: types.Range) -> Span:
        """An editor's range in a text; one whose ends are the wrong way round is taken for the same the right way round."""
        start, end = sorted((self.from_position(source, place.start), self.from_position(source, place.end)))
        return Span(start, end)

    def from_change(self, source: SourceFile, change: Change) -> Edit:
        """One content change of a document."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            return Edit(self.from_range(source, change.range), change.text)
        return difference(source, change.text)

    def to_diagnostic(self, squiggle: Shown, *, related: bool) -> types.Diagnostic:
        """A squiggle as the editor shows it; `data` lets the editor name it again when it asks for actions."""
        lead = squiggle.members[0]
        data = {"id": lead.id, "kind": lead.kind.value}
        urls = {member.url for member in squiggle.members}
        return types.Diagnostic(
            range=self.to_range(lead.path, lead.span),
            severity=_SEVERITIES[squiggle.severity],
            code=squiggle.code,
            code_description=types.CodeDescription(lead.url) if lead.url and len(urls) == 1 else None,
            source=SOURCE,
            message=squiggle.message,
            tags=[types.DiagnosticTag.Unnecessary] if lead.kind is Kind.UNUSED_IGNORE else None,
            related_information=[self._to_related(place) for place in squiggle.related] if related else None,
            data=data if len(squiggle.members) == 1 else {**data, "ids": [member.id for member in squiggle.members]},
        )

    def _to_related(self, place: Related) -> types.DiagnosticRelatedInformation:
        location = types.Location(self.uri(place.path), self.to_range(place.path, place.span))
        return types.DiagnosticRelatedInformation(location, place.message)

    def to_workspace_edit(self, fix: Fix, *, versioned: bool) -> types.WorkspaceEdit:
        """The edits of a fix; `versioned` for editors that then refuse to apply them to a newer text."""
        edits = {path: [self._to_text_edit(path, edit) for edit in group] for path, group in fix.edits.items()}
        if not versioned:
            return types.WorkspaceEdit(changes={self.uri(path): group for path, group in edits.items()})
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(self.uri(path), self.version(path)), group)
                for path, group in edits.items()
            ]
        )

    def _to_text_edit(self, path: str, edit: Edit) -> types.TextEdit:
        return types.TextEdit(self.to_range(path, edit.span), edit.text)
