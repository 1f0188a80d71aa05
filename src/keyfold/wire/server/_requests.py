"""HTTP requests, the operations they ask for, and the answers they get."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from zlib import crc32

import orjson

from keyfold.api import OPERATIONS, names_where
from keyfold.api.bodies import parse_body
from keyfold.api.disposal import free_in_parts
from keyfold.api.large_bodies import parse_in_slices
from keyfold.engine import NO_DEADLINE, Deadline
from keyfold.errors import SerializationException, UnknownOperationException
from keyfold.wire.server._answers import (
    AMZ_JSON,
    JSON,
    NOT_FOUND,
    TEXT,
    Answer,
    answer_error,
    answer_failure,
    answer_plain,
)
from keyfold.wire.server._authorization import find_authorization_fault
from keyfold.wire.server._bodies import ReceivedBody
from keyfold.wire.server._encodings import (
    LEAST_BYTES,
    LEAST_REQUEST_BYTES,
    BodyRefused,
    choose_encoding,
    decode,
    encode,
)
from keyfold.wire.server._lookups import Execute, Lookup, run_lookup

Headers = dict[bytes, bytes]

# A body of this size is decoded, authorized and parsed in a thread, in slices: other connections
# must not wait for that.
LARGE_BODY_BYTES = 1 << 16

_TARGETS = {row.target.encode(): name for name, row in OPERATIONS.items()}

# Matches an Authorization in the form that clients use.
match_authorization = re.compile(
    rb"AWS4-HMAC-SHA256 Credential=[^,]*/aws4_request, ?SignedHeaders=[^,]+, ?Signature=."
).match

# The service responds to these with an empty body, instead of an empty object.
_WITHOUT_BODY = names_where(lambda each: not each.has_body)

_EXPOSED = b"Access-Control-Allow-Origin: *\r\n"
_EXPOSED_HEADERS = (
    b"Access-Control-Expose-Headers: x-amzn-RequestId,x-amzn-ErrorType,x-amz-crc32,"
    b"Content-Length,Date\r\n"
)
_PREFLIGHT_SECONDS = 172_800


class HttpRequest(NamedTuple):
    """One HTTP request. Header names are in lower case; of repeated headers, the first counts."""

    method: bytes
    url: bytes
    headers: Headers
    body: bytes
    keeps_alive: bool
    # The operation of a request in the form that clients use; None for any other form, which
    # `_read_fully` reads.
    operation: str | None
    # All headers in the order received, if one is repeated; only kept if signatures are verified.
    repeated: Sequence[tuple[bytes, bytes]] = ()
    # The body, if it is large: `body` is empty until `join_body`, which is for a thread.
    received: ReceivedBody | None = None

    @property
    def body_bytes(self) -> int:
        """The size of the body."""
        return len(self.body) if self.received is None else len(self.received)

    def join_body(self) -> HttpRequest:
        """Return a request that has `received` with its body in one piece."""
        assert self.received is not None  # or the caller has the body
        return self._replace(body=self.received.take(), received=None)


class WireCall:
    """An operation that a request asks for, from its body to what it consumed.

    The body is decoded and parsed once, when it is first needed: after the gate has verified its
    signature, which covers the bytes as received. What the gate and the metrics change about the
    request, they change in `request`.
    """

    __slots__ = (
        "_body",
        "_request",
        "consumed",
        "content_type",
        "hides_capacity",
        "is_large",
        "lookup",
        "operation",
        "runs_aside",
    )

    def __init__(self, operation: str, body: bytes, content_type: bytes) -> None:
        self.operation = operation
        self.content_type = content_type
        self._body: bytes | None = body
        self._request: Any = None
        # Whether carrying it out may take long because of its size.
        self.is_large = False
        # Whether a read must not run on the event loop: it is large, encoded, or a lookup.
        self.runs_aside = len(body) >= LEAST_REQUEST_BYTES
        # How to run a Query that its principal may only run as a lookup.
        self.lookup: Lookup | None = None
        # Whether the server asked for the consumed capacity, and must remove it from the response.
        self.hides_capacity = False
        # The ConsumedCapacity of the response.
        self.consumed: Any = None

    @property
    def request(self) -> Any:
        """The parsed body; raises SerializationException, and BodyRefused for a LargeCall."""
        if self._body is not None:
            self._request, self._body = parse_body(self._body), None
        return self._request

    def run(self, execute: Execute, deadline: Deadline = NO_DEADLINE) -> bytes:
        """Run the call, and return the JSON of its response; raises what `execute` raises.

        Raises InternalServerError if a lookup reads for longer than the `deadline`.
        """
        if self.lookup is None:
            return self.write_response(execute(self.operation, self.request))
        page = run_lookup(execute, self.request, self.lookup, deadline)
        body = self.write_response(page.response)
        self.consumed = {"TableName": self.lookup.table, "CapacityUnits": page.units}
        return body

    def write_response(self, response: dict[str, Any]) -> bytes:
        """Return the JSON of a response, and keep what it consumed."""
        self.consumed = response.get("ConsumedCapacity")
        if self.hides_capacity:
            response.pop("ConsumedCapacity", None)
        return orjson.dumps(response)


class LargeCall(WireCall):
    """A call whose body is large, or may be when it is decoded; it is parsed in slices then."""

    __slots__ = ("_encoding", "_longest_body")

    def __init__(
        self,
        operation: str,
        body: bytes,
        content_type: bytes,
        *,
        encoding: bytes | None,
        longest_body: int,
    ) -> None:
        super().__init__(operation, body, content_type)
        # The Content-Encoding of the body, and how long it may be when decoded.
        self._encoding, self._longest_body = encoding, longest_body
        self.is_large = encoding is not None or len(body) >= LARGE_BODY_BYTES
        self.runs_aside = self.runs_aside or self.is_large

    @property
    def request(self) -> Any:
        """The decoded and parsed body; raises BodyRefused, SerializationException."""
        body = self._body
        if body is not None:
            if self._encoding is not None:
                body = decode(body, self._encoding, self._longest_body)
            is_large = len(body) >= LARGE_BODY_BYTES
            self._request = parse_in_slices(body) if is_large else parse_body(body)
            self._body = None
        return self._request

    def free(self) -> None:
        """Free the parsed body, which nobody uses any more; for a thread."""
        values, self._request = [self._request], None
        free_in_parts(values)


def find_access_key(headers: Headers) -> str:
    """Return the access key that an Authorization names; an empty string if it names none.

    >>> find_access_key({b"authorization": b"AWS4-HMAC-SHA256 Credential=AKIA/20261115/x"})
    'AKIA'
    """
    credential = headers.get(b"authorization", b"").partition(b"Credential=")[2]
    return credential.partition(b"/")[0].decode("latin-1")


def find_target(method: bytes, url: bytes, headers: Headers) -> str | None:
    """Return the operation of a request in the form that clients use; None for any other form.

    Its Authorization may have any form: `match_authorization` tells.
    """
    if (
        headers.get(b"content-type") == AMZ_JSON
        and b"content-encoding" not in headers
        and method == b"POST"
        and url == b"/"
    ):
        return _TARGETS.get(headers.get(b"x-amz-target", b""))
    return None


def is_usual(request: HttpRequest) -> bool:
    """Return whether a request has the form that clients use, and no header is repeated."""
    return request.operation is not None and not request.repeated


def read_call(
    request: HttpRequest, longest_body: int, *, is_gated: bool = False
) -> WireCall | Answer:
    """Return the call that a request asks for, or its answer if it is not a valid call.

    Its body has not been decoded. With `is_gated`, none is: not even to answer a request whose
    Authorization is incomplete.
    """
    headers = request.headers
    if request.operation is not None and len(request.body) < LARGE_BODY_BYTES:
        return WireCall(request.operation, request.body, AMZ_JSON)
    operation = _TARGETS.get(headers.get(b"x-amz-target", b""))
    return _read_fully(request, operation, longest_body, is_gated=is_gated)


def _read_fully(
    request: HttpRequest, operation: str | None, longest_body: int, *, is_gated: bool
) -> WireCall | Answer:
    """Read a request in any form; checks are made in the service's order."""
    method, url, headers, body, *_ = request
    path, _, query = url.partition(b"?")
    if method == b"OPTIONS":
        return _answer_preflight(headers) if b"origin" in headers else NOT_FOUND
    if path != b"/":
        return NOT_FOUND
    if method in {b"GET", b"HEAD"}:
        host = headers.get(b"host", b"keyfold").decode("latin-1")
        return Answer(200, f"healthy: {host} ".encode(), TEXT)
    if method != b"POST":
        return NOT_FOUND
    content_type = _read_content_type(headers.get(b"content-type", b""), has_body=bool(body))
    if content_type is None:
        return NOT_FOUND
    encoding = headers.get(b"content-encoding")
    fault = find_authorization_fault(headers, query)
    if operation is not None and fault is None:
        return LargeCall(
            operation, body, content_type, encoding=encoding, longest_body=longest_body
        )
    if body and not is_gated:
        # The service looks at the body first. A server with keys spends nothing on it.
        try:
            call = LargeCall("", body, content_type, encoding=encoding, longest_body=longest_body)
            _ = call.request
            call.free()
        except BodyRefused as refusal:
            return answer_refused_body(refusal)
        except SerializationException as error:
            return answer_error(error, content_type)
    if operation is None and (fault is None or not is_gated):
        fault = UnknownOperationException()
    assert fault is not None  # otherwise it is a call
    return answer_error(fault, content_type)


def answer_refused_body(refusal: BodyRefused) -> Answer:
    """Return the answer to a request whose body was not decoded."""
    return answer_plain(refusal.status, refusal.text) if refusal.text else answer_failure()


def _read_content_type(content_type: bytes, *, has_body: bool) -> bytes | None:
    """Return the content type of the response; None if the service rejects the request's."""
    kind = content_type.partition(b";")[0].strip().lower()
    if kind in {AMZ_JSON, JSON}:
        return kind
    return None if has_body or kind else JSON


def _answer_preflight(headers: Headers) -> Answer:
    lines = [_EXPOSED, _EXPOSED_HEADERS, b"Access-Control-Max-Age: %d\r\n" % _PREFLIGHT_SECONDS]
    for asked, allowed in (
        (b"access-control-request-headers", b"Access-Control-Allow-Headers"),
        (b"access-control-request-method", b"Access-Control-Allow-Methods"),
    ):
        if asked in headers:
            lines.append(b"%b: %b\r\n" % (allowed, headers[asked]))
    if headers.get(b"access-control-request-private-network") == b"true":
        # A page from the internet asks for a server on the visitor's network.
        lines.append(b"Access-Control-Allow-Private-Network: true\r\n")
    return Answer(200, b"", JSON, b"".join(lines))


def answer_call(call: WireCall, body: bytes, headers: Headers) -> Answer:
    """Return the answer that carries an operation's response."""
    operation = call.operation
    if operation in _WITHOUT_BODY:
        body = b""
    elif operation == "DescribeEndpoints":
        body = _name_host(body, headers)
    return Answer(200, body, call.content_type)


def _name_host(body: bytes, headers: Headers) -> bytes:
    """Replace the addresses in DescribeEndpoints with the host of the request."""
    response = orjson.loads(body)
    if b"host" in headers:
        for endpoint in response["Endpoints"]:
            endpoint["Address"] = headers[b"host"].decode("latin-1")
    return orjson.dumps(response)


def offer_compression(answer: Answer, request: HttpRequest) -> Answer:
    """Tell the client, after a large request, that it may compress the next ones (RFC 7694)."""
    is_small = len(request.body) < LEAST_REQUEST_BYTES and request.received is None
    if is_small or b"content-encoding" in request.headers:
        return answer
    return answer._replace(headers=answer.headers + b"Accept-Encoding: gzip, deflate\r\n")


def finish_large_answer(answer: Answer, headers: Headers) -> Answer:
    """Return the answer that `finish_answer` returns, with its checksum; for a thread."""
    answer = finish_answer(answer, headers)
    return answer._replace(crc=crc32(answer.body))


def finish_answer(answer: Answer, headers: Headers) -> Answer:
    """Return an answer with what the request's headers ask for: CORS headers and compression."""
    if b"origin" in headers and _EXPOSED not in answer.headers:
        answer = answer._replace(headers=answer.headers + _EXPOSED + _EXPOSED_HEADERS)
    accepted = headers.get(b"accept-encoding")
    if accepted is not None and len(answer.body) > LEAST_BYTES:
        encoding = choose_encoding(accepted)
        if encoding is not None:
            line = b"Content-Encoding: %b\r\n" % encoding
            body = encode(answer.body, encoding)
            answer = answer._replace(body=body, headers=answer.headers + line)
    return answer
