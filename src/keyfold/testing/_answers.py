"""The engine's responses in the form in which botocore parses the service's."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from itertools import count
from typing import Any

import orjson

from keyfold.errors import ServiceError
from keyfold.testing._core import Core
from keyfold.testing._operations import ITEM_OPERATIONS
from keyfold.values import restore_binaries

_numbers = count(1)


class HttpResponse:
    """The part of an HTTP response that botocore uses."""

    __slots__ = ("content", "headers", "status_code")

    def __init__(self, status_code: int, headers: dict[str, str]) -> None:
        self.status_code = status_code
        self.headers = headers
        self.content = b""


def answer(core: Core, model: Any, body: bytes | str) -> tuple[HttpResponse, dict[str, Any]]:
    """Return the HTTP and the parsed response to a request.

    `model` is botocore's model of the operation, `body` the request's JSON. A ServiceError
    becomes an error response; every other error is raised.
    """
    operation: str = model.name
    try:
        if operation in ITEM_OPERATIONS:
            parsed = core.execute(operation, orjson.loads(body))
            if operation.startswith("Batch"):
                _restore_leftovers(parsed)
        else:
            # These responses may hold timestamps, which botocore converts as its user configured.
            raw = body.encode() if isinstance(body, str) else body
            parsed = _parse(core.execute_json(operation, raw), model.output_shape)
    except ServiceError as error:
        parsed = _parse_error(error, model.service_model)
        return _finish(error.status, parsed)
    return _finish(200, parsed)


def _finish(status: int, parsed: dict[str, Any]) -> tuple[HttpResponse, dict[str, Any]]:
    # As long as the service's own ids, and recognisable as ours in logs.
    request_id = f"KEYFOLD{next(_numbers):045d}"
    headers = {"x-amzn-requestid": request_id, "content-type": "application/x-amz-json-1.0"}
    parsed["ResponseMetadata"] = {
        "RequestId": request_id,
        "HTTPStatusCode": status,
        "HTTPHeaders": headers,
        "RetryAttempts": 0,
    }
    return HttpResponse(status, headers), parsed


def _parse(body: bytes, shape: Any) -> dict[str, Any]:
    return _parser().parse({"status_code": 200, "headers": {}, "body": body}, shape)


@cache
def _parser() -> Any:
    return import_module("botocore.parsers").create_parser("json")


def _parse_error(error: ServiceError, service_model: Any) -> dict[str, Any]:
    """Return what botocore parses from an error's body.

    If the error has a shape, its members are included, with the message repeated under the name
    that the shape gives it. An error without a shape, such as ValidationException, has neither.
    """
    parsed: dict[str, Any] = {"Error": {"Message": error.message, "Code": error.type}}
    shape = service_model.shape_for_error_code(error.type)
    for member in () if shape is None else shape.members:
        if member in error.fields:
            parsed[member] = error.fields[member]
        elif member.lower() == "message" and error.message:
            parsed[member] = error.message
    return parsed


def _restore_leftovers(response: dict[str, Any]) -> None:
    """Decode the binaries in the unprocessed members of a batch to bytes.

    They are copied from the request, which came as JSON.
    """
    for requests in response.get("UnprocessedItems", {}).values():
        for request in requests:
            for kind, name in (("PutRequest", "Item"), ("DeleteRequest", "Key")):
                if request.get(kind) is not None:
                    request[kind] = {**request[kind], name: restore_binaries(request[kind][name])}
    for wanted in response.get("UnprocessedKeys", {}).values():
        wanted["Keys"] = [restore_binaries(key) for key in wanted["Keys"]]
