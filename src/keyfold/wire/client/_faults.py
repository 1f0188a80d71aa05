"""What an answer says, and what kind of error it is."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any
from zlib import crc32

from keyfold import errors
from keyfold.errors import AnswerInvalid, OtherServiceError, OutcomeUnknown, ServiceError
from keyfold.wire.client._bodies import Garbled, decode_answer, decompress
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
    """Return the body of a response, checked and decompressed; raises Garbled."""
    headers, body = response.headers, response.body
    expected = headers.get(b"x-amz-crc32")
    # The checksum is of what was sent, compressed or not.
    if expected is not None and expected != b"%d" % crc32(body):
        raise Garbled("the checksum of what came back is wrong")
    encoding = headers.get(b"content-encoding")
    if encoding is None or encoding.lower() == b"identity":
        return body
    if response.status != OK and not body.startswith(_GZIP_MAGIC):
        # The service says of large errors that they are compressed, and does not do it.
        return body
    if encoding.lower() != b"gzip":
        raise Garbled(f"the encoding of what came back is {encoding[:80]!r}")
    return decompress(body, MOST_BODY_BYTES)


def read_error(response: Response, endpoint: str) -> ServiceError:
    """Return the error that a response is; raises Garbled, and AnswerInvalid for no DynamoDB's."""
    body = open_body(response)
    status = response.status
    try:
        members = decode_answer(body)
        kind = str(members.pop("__type", "")) or _named_by_header(response)
    except Garbled:
        members, kind = {}, _named_by_header(response)
    name = kind.rpartition("#")[2].partition(":")[0]
    if not name:
        if status >= _FAILED:
            # Of something on the way, such as a load balancer.
            return OtherServiceError(f"HTTP {status}", status)
        raise AnswerInvalid(endpoint, f"it answered with status {status} and {body[:80]!r}")
    messages = [members.pop(spelling, None) for spelling in ("message", "Message")]
    message = next((each for each in messages if each), "")
    return make_error(name, status, str(message), members)


def make_error(name: str, status: int, message: str, fields: dict[str, Any]) -> ServiceError:
    """Return an error of the service by its name."""
    known = _service_errors().get(name)
    if known is None:
        return OtherServiceError(name, status, message, fields)
    return known(message, fields)


def outcome_unknown_error(
    endpoint: str, operation: str, tries: int, detail: str, error: ServiceError | None = None
) -> OutcomeUnknown:
    """Return the error of a write of which nobody knows whether it was carried out."""
    times = "once" if tries == 1 else f"{tries} times"
    answered = "" if error is None else f", and a later one was answered {error}"
    reason = f"tried {times}; {detail}{answered}".rstrip(".")
    return OutcomeUnknown(endpoint, operation, reason, error)


def accepts_gzip(response: Response) -> bool:
    """Tell whether a response says that requests may be compressed (RFC 7694)."""
    named = response.headers.get(b"accept-encoding", b"").lower().split(b",")
    return any(each.strip() == b"gzip" for each in named)


def is_undone(response: Response) -> bool:
    """Tell whether a server of ours says that it has done nothing of what was asked."""
    return b"x-keyfold-undone" in response.headers


def is_failure(response: Response) -> bool:
    """Tell whether the service failed, instead of refusing."""
    return response.status >= _FAILED


def read_date(response: Response) -> float | None:
    """Return what time it was where a response came from; None if it does not say."""
    date = response.headers.get(b"date")
    if date is None:
        return None
    # To load it takes long, and most clocks are right.
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
