"""An editor for tests: a real LSP client, connected over a socket to a real server in the same process."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features

from graphbreak.lsp.server import create_server
from graphbreak.lsp.stdio import serve

from .fake_server import FakeAnalyser

Change = types.TextDocumentContentChangePartial | types.TextDocumentContentChangeWholeDocument

# Making a converter takes longer than most of the tests.
_converter = functools.cache(default_converter)

MARK = "import torch\n@torch.compile\n"


def capabilities(*, extended: bool = True) -> types.ClientCapabilities:
    """What this editor can do; one that is not `extended` knows nothing of us."""
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=["utf-16"]),
        window=types.WindowClientCapabilities(work_done_progress=True),
        workspace=types.WorkspaceClientCapabilities(
            configuration=True,
            workspace_folders=True,
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
            did_change_configuration=types.DidChangeConfigurationClientCapabilities(dynamic_registration=True),
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
            code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
        ),
        text_document=types.TextDocumentClientCapabilities(
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
                related_information=True, version_support=True, code_description_support=True, data_support=True
            ),
            hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown, types.MarkupKind.PlainText]),
            code_action=types.CodeActionClientCapabilities(
                code_action_literal_support=types.ClientCodeActionLiteralOptions(
                    types.ClientCodeActionKindOptions([types.CodeActionKind.QuickFix])
                ),
                is_preferred_support=True,
                data_support=True,
            ),
        ),
        experimental={"graphbreakStatus": True, "graphbreakCommands": True} if extended else None,
    )


class Editor:
    """Drives one session. Paths are those of files; `published` has every list that arrived, in order."""

    def __init__(self) -> None:
        self.analyser = FakeAnalyser()
        self.client = LanguageClient(converter_factory=_converter)
        self.published: list[types.PublishDiagnosticsParams] = []
        self.registered: list[str] = []
        self.status: list[tuple[str, str]] = []
        self.environments: list[dict[str, Any]] = []
        self.changed: list[str] = []
        self.no_environment: list[str] = []
        self.trying: list[bool] = []
        self.goings_on: list[str] = []
        self.refreshes = 0
        self.versions: dict[Path, int] = {}
        features = dict(DEFAULT_CLIENT_FEATURES)
        features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = lambda params: self.published.append(params)
        features[types.CLIENT_REGISTER_CAPABILITY] = self._register
        features["graphbreak/status"] = self._on_status
        features["graphbreak/environment"] = lambda params: self.environments.append(_object(params))
        features["graphbreak/noEnvironment"] = lambda params: self.no_environment.append(params.message)
        features["graphbreak/trying"] = self._on_trying
        features["graphbreak/changed"] = lambda params: self.changed.append(params.uri)
        features[types.WORKSPACE_CODE_LENS_REFRESH] = self._refresh_lenses
        register_lsp_features(self.client, {name: _plain(feature) for name, feature in features.items()})
        self._server: asyncio.Task[int] | None = None

    async def connect(
        self,
        *folders: Path,
        options: object = None,
        offers: types.ClientCapabilities | None = None,
        configuration: dict[str, Any] | None = None,
    ) -> types.InitializeResult:
        """Start a server and say hello."""
        self.client._configuration.update(configuration or {})
        connected: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.get_running_loop().create_future()
        listener = await asyncio.start_server(lambda *streams: connected.set_result(streams), "127.0.0.1", 0)
        await self.client.start_tcp("127.0.0.1", listener.sockets[0].getsockname()[1])
        self._server = asyncio.create_task(serve(create_server(self.analyser), *await connected))
        listener.close()
        return await self.client.initialize_session(
            types.InitializeParams(
                capabilities=offers or capabilities(),
                workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders],
                initialization_options=options,
            )
        )

    def _on_status(self, params: Any) -> None:
        self.status.append((params.state, params.message))
        self.goings_on.append(params.state)

    def _on_trying(self, params: Any) -> None:
        self.trying.append(params.trying)
        self.goings_on.append("trying" if params.trying else "tried")

    async def disconnect(self) -> int:
        """Say goodbye: the server's exit status."""
        assert self._server is not None
        await self.client.shutdown_async(None)
        self.client.exit(None)
        status = await self._server
        self.client.protocol.writer.close()  # type: ignore[union-attr]
        return status

    def open(self, path: Path, text: str, language: str = "python") -> None:
        """Open a file with this text."""
        self.versions[path] = 1
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(path.as_uri(), language, 1, text)))

    def change(self, path: Path, *changes: Change) -> None:
        """Change it."""
        self.versions[path] += 1
        identifier = types.VersionedTextDocumentIdentifier(self.versions[path], path.as_uri())
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, list(changes)))

    def insert(self, path: Path, line: int, character: int, text: str) -> None:
        """Type something."""
        self.change(path, replacing(line, character, line, character, text))

    def save(self, path: Path) -> None:
        """Tell the server that it was saved."""
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(path.as_uri())))

    def close(self, path: Path) -> None:
        """Close it."""
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(path.as_uri())))

    async def hover(self, path: Path, line: int, character: int) -> types.Hover | None:
        """What the server says about a position."""
        place = types.Position(line, character)
        return await self.client.text_document_hover_async(types.HoverParams(types.TextDocumentIdentifier(path.as_uri()), place))

    async def actions(self, path: Path, place: types.Range, only: list[str] | None = None) -> list[types.CodeAction]:
        """The actions for a range."""
        params = types.CodeActionParams(types.TextDocumentIdentifier(path.as_uri()), place, types.CodeActionContext([], only))
        return [a for a in await self.client.text_document_code_action_async(params) or [] if isinstance(a, types.CodeAction)]

    async def lenses(self, path: Path) -> list[tuple[int, types.Command]]:
        """The lenses of a file, each with its line."""
        found = await self.client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(path.as_uri())))
        return [(lens.range.start.line, lens.command) for lens in found or [] if lens.command is not None]

    async def request(self, method: str, **params: Any) -> Any:
        """Ask one of our own requests: the answer as plain objects."""
        return _object(await self.client.protocol.send_request_async(method, params))  # type: ignore[no-untyped-call]

    async def command(self, name: str, *arguments: Any) -> Any:
        """Run a command of the server."""
        return await self.client.workspace_execute_command_async(types.ExecuteCommandParams(name, list(arguments)))

    def latest(self, path: Path) -> types.PublishDiagnosticsParams | None:
        """The newest list of a file."""
        return next((params for params in reversed(self.published) if params.uri == path.as_uri()), None)

    async def shows(self, path: Path, *ranges: str, version: int | None = None) -> list[types.Diagnostic]:
        """Wait until the file shows exactly these ranges (`line:start-line:end`), for that version if one is given."""
        await until(lambda: self._ranges(path, version) == list(ranges), lambda: f"{self._ranges(path, version)} is not {list(ranges)}")
        latest = self.latest(path)
        return list(latest.diagnostics) if latest else []

    def _ranges(self, path: Path, version: int | None) -> list[str] | None:
        latest = self.latest(path)
        if latest is None or (version is not None and latest.version != version):
            return None
        return [str(diagnostic.range) for diagnostic in latest.diagnostics]

    async def analysed(self, count: int) -> None:
        """Wait until the engine was asked that many times in all, and has not been asked more often."""
        await until(lambda: len(self.analyser.requests) >= count, lambda: f"{len(self.analyser.requests)} analyses, not {count}")
        await self.settle()
        assert len(self.analyser.requests) == count

    async def settle(self) -> None:
        """Wait until the server has dealt with everything that it was sent."""
        await self.hover(Path("/nowhere.py"), 0, 0)
        await asyncio.sleep(0.02)

    def _refresh_lenses(self, params: None) -> None:
        self.refreshes += 1

    def _register(self, params: types.RegistrationParams) -> None:
        self.registered += [registration.method for registration in params.registrations]


def replacing(line: int, character: int, end_line: int, end_character: int, text: str) -> types.TextDocumentContentChangePartial:
    """A change of a range."""
    return types.TextDocumentContentChangePartial(span(line, character, end_line, end_character), text)


def span(line: int, character: int, end_line: int, end_character: int) -> types.Range:
    """A range, in the editor's own units."""
    return types.Range(types.Position(line, character), types.Position(end_line, end_character))


def _object(value: Any) -> Any:
    """What pygls has made of a JSON value of ours, as it was."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _object(item) for name, item in value._asdict().items()}
    return [_object(item) for item in value] if isinstance(value, list) else value


def _plain(feature: Callable[..., Any]) -> Callable[..., Any]:
    """pygls marks the functions that it registers, which bound methods and shared ones do not allow."""
    if feature in DEFAULT_CLIENT_FEATURES.values():
        return feature

    def registered(params: Any) -> Any:
        return feature(params)

    return registered


async def until(condition: Callable[[], bool], otherwise: Callable[[], str] = lambda: "it did not happen", seconds: float = 5.0) -> None:
    """Wait for something that is to come about."""
    end = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < end, otherwise()
        await asyncio.sleep(0.005)
