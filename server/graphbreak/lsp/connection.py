"""pygls' server as we need it: our own text sync, code points preferred, errors in the log, and an end that waits for the workers."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import traceback
from collections.abc import Generator
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

from ..core.requests import Analyser
from . import editor
from .receiving import Object, Refused, check_order, message_of
from .session import Session

PREFERRED = (types.PositionEncodingKind.Utf32, types.PositionEncodingKind.Utf8)
"""Encodings to agree on where the client offers them; the rest keep the client's order."""

Steps = Generator[Any, Any, Any]


class Connection(LanguageServerProtocol):
    """The messages that pygls would answer by itself in a way that is not ours."""

    _server: GraphbreakServer

    def receive(self, body: bytes) -> None:
        """Handle one message. What is none, or comes at the wrong time, is answered with an error and logged; it ends nothing."""
        try:
            message = message_of(body)
        except Refused as refused:
            self._refuse(refused)
            self._server.session.lost(None)
            return
        try:
            check_order(message, initialized=self._workspace is not None, shut_down=self._shutdown)
            self.handle_message(self.structure_message(message))
        except Refused as refused:
            self._refuse(refused)
        except Exception as error:
            self._not_handled(message, error)

    def not_understood(self, why: str) -> None:
        """Something was sent that is no message, and nobody knows what it was to say."""
        self._refuse(Refused(why, types.ErrorCodes.ParseError.value))
        self._server.session.lost(None)

    def _refuse(self, refused: Refused) -> None:
        """Tell the editor, which hears of a notification only in its log: nobody waits for an answer to one."""
        if refused.number is not None or refused.code == types.ErrorCodes.ParseError.value:
            self._send_response(refused.number, None, types.ResponseError(refused.code, str(refused)))  # type: ignore[arg-type]
        self._server.window_log_message(types.LogMessageParams(types.MessageType.Warning, f"Not understood: {refused}."))

    def _not_handled(self, message: Object, error: Exception) -> None:
        """A message that is one by its form, but not by what it says."""
        known = error if isinstance(error, JsonRpcException) else JsonRpcInternalError(str(error))
        if "method" not in message:  # whoever waits for this answer must not wait for ever
            with contextlib.suppress(Exception):
                self._handle_response(message["id"], None, known.to_response_error())
        elif "id" in message:
            self._send_response(message["id"], None, known.to_response_error())
        elif message["method"] == types.TEXT_DOCUMENT_DID_CHANGE:
            self._server.session.lost(_uri_in(message))
        why = f"Not understood: {message.get('method', 'an answer')} ({error.__cause__ or error})."
        self._server.window_log_message(types.LogMessageParams(types.MessageType.Warning, why[:2000]))

    def _execute_handler(self, msg_id: Any, handler: Any, callback: Any, args: Any = None, kwargs: Any = None) -> None:
        """pygls keeps what became of each notification for good."""

        def done(future: Any) -> None:
            if self._request_futures.get(msg_id) is future:
                del self._request_futures[msg_id]
            callback(future)

        super()._execute_handler(msg_id, handler, done, args, kwargs)

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Steps:
        """Negotiate: pygls takes the client's first encoding, so the one that is ours already is put first."""
        general = params.capabilities.general
        if general is not None and general.position_encodings:
            rank = {encoding: place for place, encoding in enumerate(PREFERRED)}
            general.position_encodings = sorted(general.position_encodings, key=lambda offered: rank.get(offered, len(rank)))  # type: ignore[call-overload]
        return (yield from super().lsp_initialize(params))

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Steps:
        """Ours alone: see `documents` for why pygls keeps no texts here."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Steps:
        """Ours alone; pygls would also change the positions in `params`."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Steps:
        """Ours alone."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Steps:
        """Ours alone: what is cancelled leaves the list that pygls goes through."""
        yield self.fm.features[types.SHUTDOWN], args, None
        for number, future in list(self._request_futures.items()):
            if number != self.msg_id and not future.done():
                future.cancel()
        self._shutdown = True

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> Steps:
        """Ours alone: pygls would leave at once, and the workers would stay."""
        yield self.fm.features[types.EXIT], (0 if self._shutdown else 1,), None


def _uri_in(message: Object) -> str | None:
    """The document that a change says it is of."""
    params = message.get("params")
    document = params.get("textDocument") if isinstance(params, dict) else None
    uri = document.get("uri") if isinstance(document, dict) else None
    return uri if isinstance(uri, str) else None


class GraphbreakServer(LanguageServer):
    """The server that every handler gets as `ls` (pygls knows it by this name of the parameter)."""

    def __init__(self, version: str, analyser: Analyser) -> None:
        super().__init__("graphbreak", version, protocol_cls=Connection, converter_factory=default_converter)
        self.session = Session(self, analyser)
        self.over = threading.Event()
        """Set when everything has ended."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Future[int] | None = None

    async def ended(self) -> int:
        """Wait until the editor is done with us, or gone: the exit status."""
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.create_future()
        return await self._end

    def end(self, status: int) -> None:
        """Come to an end with this exit status; the first reason counts."""
        if self._end is not None and not self._end.done():
            self._end.set_result(status)

    @property
    def connection(self) -> Connection:
        """The messages that come and go."""
        assert isinstance(self.protocol, Connection)
        return self.protocol

    def watch_editor(self, pid: int | None) -> None:
        """Come to an end with the editor's process."""
        editor.watch(pid, self._editor_gone, self.over)

    def _editor_gone(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.end, 1)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """A bug of ours belongs in the log; a message box would only disturb."""
        text = "".join(traceback.format_exception(error))
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, text))
