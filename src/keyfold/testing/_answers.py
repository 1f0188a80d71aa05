"""The engine's answers in the form that botocore makes of the service's."""

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
    """What botocore wants to know of an HTTP response."""

    __slots__ = ("content", "headers", "status_code")

    def __init__(self, status_code: int, headers: dict[str, str]) -> None:
        self.status_code = status_code
        self.headers = headers
        self.content = b""


def answer(core: Core, model: Any, body: bytes | str) -> tuple[HttpResponse, dict[str, Any]]:
    """Answer a request: `model` is botocore's model of the operation, `body` its JSON.

    A ServiceError becomes an answer; every other error is raised.
    """
    operation: str = model.name
    try:
        if operation in ITEM_OPERATIONS:
            parsed = core.execute(operation, orjson.loads(body))
            if operation.startswith("Batch"):
                _restore_leftovers(parsed)
        else:
            # Their answers have timestamps; botocore knows how its callers want these.
            raw = body.encode() if isinstance(body, str) else body
            parsed = _parse(core.execute_json(operation, raw), model.output_shape)
    except ServiceError as error:
        parsed = _parse_error(error, model.service_model)
        return _finish(error.status, parsed)
    return _finish(200, parsed)


def _finish(status: int, parsed: dict[str, Any]) -> tuple[HttpResponse, dict[str, Any]]:
    # As long as the service's own ids are, and it shows in logs who answered.
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
    """Return what botocore reads from an error's body.

    The message appears again by the name that it has in the error's own shape, next to what
    else there is; an error without a shape, such as ValidationException, has neither.
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
    """Make bytes of the binaries in what a batch leaves for later.

    That part is the request's own, and came as JSON.
    """
    for requests in response.get("UnprocessedItems", {}).values():
        for request in requests:
            for kind, name in (("PutRequest", "Item"), ("DeleteRequest", "Key")):
                if request.get(kind) is not None:
                    request[kind] = {**request[kind], name: restore_binaries(request[kind][name])}
    for wanted in response.get("UnprocessedKeys", {}).values():
        wanted["Keys"] = [restore_binaries(key) for key in wanted["Keys"]]
