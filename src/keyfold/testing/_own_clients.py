"""Replacements of methods of Keyfold's own clients, which send nothing.

Everything above the network stays as it is: encoding, table prefixes, retries, and the decoding of
responses and errors. No request is signed, so no credentials are needed.
"""

from __future__ import annotations

from typing import Any

from keyfold.api.bodies import render_error
from keyfold.errors import ServiceError
from keyfold.testing._active import Method, Replaceable, active
from keyfold.testing._core import Core
from keyfold.wire.client import AsyncClient, Client
from keyfold.wire.client._bodies import encode_request
from keyfold.wire.client._calls import CallPolicy, ClientCall
from keyfold.wire.client._responses import Response


def find_methods() -> list[Replaceable]:
    """Return the methods to replace, each with the function that makes its replacement."""
    return [
        (Client, "_send", _answer_calls),
        (Client, "_pause", _skip_pauses),
        (AsyncClient, "_send", _answer_calls_async),
        (AsyncClient, "_pause", _skip_pauses),
    ]


def _answer_calls(original: Method) -> Method:
    def _send(self: Any, policy: CallPolicy, call: ClientCall) -> Response:
        core = active.core
        if core is None:
            return original(self, policy, call)
        core.wait()
        return _answer(core, call)

    return _send


def _answer_calls_async(original: Method) -> Method:
    async def _send(self: Any, policy: CallPolicy, call: ClientCall) -> Response:
        core = active.core
        if core is None:
            return await original(self, policy, call)
        await core.wait_async()
        return _answer(core, call)

    return _send


def _skip_pauses(original: Method) -> Method:
    """Retry at once: a pause would relieve no service, and only make a test slow."""

    def _pause(self: Any, seconds: float) -> Any:
        return original(self, seconds if active.core is None else 0.0)

    return _pause


def _answer(core: Core, call: ClientCall) -> Response:
    """Return the HTTP response to another attempt of a call."""
    call.attempts += 1
    body = encode_request(call.request) if call.encoding else call.body
    try:
        return Response(200, {}, core.execute_json(call.operation, body), keeps_alive=True)
    except ServiceError as error:
        return Response(error.status, {}, render_error(error), keeps_alive=True)
