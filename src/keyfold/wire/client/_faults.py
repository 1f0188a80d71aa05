"""Checked bodies of responses, and the errors that responses stand for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any
from zlib import crc32

from keyfold import errors
from keyfold.errors import AnswerInvalid, OtherServiceError, OutcomeUnknown, ServiceError
from keyfold.wire.client._bodies import ResponseGarbled, decode_response, decompress
from keyfold.wire.client._responses import MOST_BODY_BYTES, Response

OK = 200
_FAILED = 500
_GZIP_MAGIC = b"\x1f\x8b"

THROTTLED = {
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
}
SKEWED = {
    "AuthFailure",
    "InvalidSignatureException",
    "RequestExpired",
    "RequestInTheFuture",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
}
EXPIRED = {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"}


def open_body(response: Response) -> bytes:
    """Return the body of a response, checked and decompressed; raises ResponseGarbled."""
    headers, body = response.headers, response.body
    expected = headers.get(b"x-amz-crc32")
    # The checksum covers the bytes as sent, before decompression.
    if expected is not None and expected != b"%d" % crc32(body):
        raise ResponseGarbled("the checksum of the response is wrong")
    encoding = headers.get(b"content-encoding")
    if encoding is None or encoding.lower() == b"identity":
        return body
    if response.status != OK and not body.startswith(_GZIP_MAGIC):
        # The service labels large errors as compressed without compressing them.
        return body
    if encoding.lower() != b"gzip":
        raise ResponseGarbled(f"the content encoding of the response is {encoding[:80]!r}")
    return decompress(body, MOST_BODY_BYTES)


def read_error(response: Response, endpoint: str) -> ServiceError:
    """Return the error of a response; raises ResponseGarbled, or AnswerInvalid if not DynamoDB's."""
    body = open_body(response)
    status = response.status
    try:
        members = decode_response(body)
        kind = str(members.pop("__type", "")) or _named_by_header(response)
    except ResponseGarbled:
        members, kind = {}, _named_by_header(response)
    name = kind.rpartition("#")[2].partition(":")[0]
    if not name:
        if status >= _FAILED:
            # From an intermediary, such as a load balancer.
            return OtherServiceError(f"HTTP {status}", status)
        raise AnswerInvalid(endpoint, f"it responded with status {status} and {body[:80]!r}")
    messages = [members.pop(spelling, None) for spelling in ("message", "Message")]
    message = next((each for each in messages if each), "")
    return make_error(name, status, str(message), members)


def make_error(name: str, status: int, message: str, fields: dict[str, Any]) -> ServiceError:
    """Return the service's error of a name; OtherServiceError for an unknown one."""
    known = _service_errors().get(name)
    if known is None:
        return OtherServiceError(name, status, message, fields)
    return known(message, fields)


def outcome_unknown_error(
    endpoint: str, operation: str, attempts: int, detail: str, error: ServiceError | None = None
) -> OutcomeUnknown:
    """Return the error of a write that may or may not have been carried out."""
    times = "once" if attempts == 1 else f"{attempts} times"
    later = "" if error is None else f", and a later attempt got {error}"
    reason = f"tried {times}; {detail}{later}".rstrip(".")
    return OutcomeUnknown(endpoint, operation, reason, error)


def accepts_gzip(response: Response) -> bool:
    """Return whether a response announces that requests may be compressed (RFC 7694)."""
    named = response.headers.get(b"accept-encoding", b"").lower().split(b",")
    return any(each.strip() == b"gzip" for each in named)


def is_undone(response: Response) -> bool:
    """Return whether a Keyfold server reports that it has not begun to carry out the request."""
    return b"x-keyfold-undone" in response.headers


def is_failure(response: Response) -> bool:
    """Return whether the service failed (5xx), rather than refused the request."""
    return response.status >= _FAILED


def read_date(response: Response) -> float | None:
    """Return the server's time from the Date header, in seconds since 1970; None without one."""
    date = response.headers.get(b"date")
    if date is None:
        return None
    # Imported here: it is slow to load, and only needed if a clock is wrong.
    parse = import_module("email.utils").parsedate_to_datetime
    try:
        return parse(date.decode("latin-1")).timestamp()
    except ValueError:
        return None


def _named_by_header(response: Response) -> str:
    return response.headers.get(b"x-amzn-errortype", b"").decode("latin-1")


@cache
def _service_errors() -> dict[str, type[ServiceError]]:
    found = [getattr(errors, name) for name in errors.__all__]
    return {
        each.__name__: each
        for each in found
        if issubclass(each, ServiceError) and each not in (ServiceError, OtherServiceError)
    }
