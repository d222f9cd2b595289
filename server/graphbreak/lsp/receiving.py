"""Is it a message? What an editor sends, checked before anything is made of it."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from lsprotocol import types

Object = dict[str, Any]

PARSE_ERROR = types.ErrorCodes.ParseError.value
INVALID_REQUEST = types.ErrorCodes.InvalidRequest.value
NOT_INITIALIZED = types.ErrorCodes.ServerNotInitialized.value


class Refused(Exception):
    """It cannot be handled. The message says why; `number` is the id of the request that has to be told, or None."""

    def __init__(self, why: str, code: int, number: int | str | None = None) -> None:
        super().__init__(why)
        self.code, self.number = code, number


def message_of(body: bytes) -> Object:
    """The JSON-RPC message in a body: a request, a notification or a response. Raises Refused."""
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_json)
    except (ValueError, RecursionError) as error:
        raise Refused(f"a message is not JSON in UTF-8: {str(error)[:200]}", PARSE_ERROR) from error
    if not isinstance(value, dict):
        batch = "; batches are no part of the Language Server Protocol" if isinstance(value, list) else ""
        raise Refused(f"a message is of type {type(value).__name__} and not an object{batch}", INVALID_REQUEST)
    given = value.get("id")
    number = given if isinstance(given, (int, str)) and not isinstance(given, bool) else None
    if value.get("jsonrpc") != "2.0":
        raise Refused(f'a message is of version {value.get("jsonrpc")!r:.40} of JSON-RPC and not of "2.0"', INVALID_REQUEST, number)
    if "id" in value and number is None and "error" not in value:
        raise Refused("the id of a message is neither a number nor a text", INVALID_REQUEST)
    if not isinstance(value.get("method", ""), str) or not ("method" in value or number is not None or "error" in value):
        raise Refused("a message has no method", INVALID_REQUEST, number)
    return value


def _no_json(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def check_order(message: Object, *, initialized: bool, shut_down: bool) -> None:
    """Whether a request comes at a time when there is an answer. Raises Refused."""
    method, number = message.get("method"), message.get("id")
    if method is None or method == types.EXIT:
        return
    if shut_down:
        raise Refused(f"`{method:.80}` comes after the shutdown", INVALID_REQUEST, number)
    if method == types.INITIALIZE and initialized:
        raise Refused("`initialize` comes a second time", INVALID_REQUEST, number)
    if method != types.INITIALIZE and not initialized:
        raise Refused(f"`{method:.80}` comes before `initialize`", NOT_INITIALIZED, number)
