"""HTTP that has gone wrong: heads, encodings, and bytes."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

from hypothesis import strategies as st

from tests.fuzz.mutations import Draw, Sent
from tests.unit.wire.server.http import AUTHORIZATION

Headers = list[tuple[str, str]]

_LONG = "x" * 20_000

_ODD_HEADERS: dict[str, list[str]] = {
    "X-Amz-Target": [
        *("", " ", ".", "DynamoDB_20120810", "DynamoDB_20120810.", "DynamoDB_20120810.Nothing"),
        *("dynamodb_20120810.GetItem", "DynamoDB_20111205.GetItem", "GetItem", "\xff", _LONG),
        *("DynamoDBStreams_20120810.ListStreams", "DynamoDBStreams_20120810.GetItem"),
        *("DynamoDB_20120810.ListStreams", "DynamoDB_20120810.GetItem.GetItem"),
    ],
    "Content-Type": [
        *("", "application/json", "application/x-amz-json-1.1", "text/plain", "*/*", "\xe9"),
        *("application/x-amz-json-1.0; charset=utf-8", "application/x-amz-json-1.0;", ";", _LONG),
        *("multipart/form-data; boundary=x", "application/cbor", "APPLICATION/X-AMZ-JSON-1.0"),
    ],
    "Authorization": [
        *("", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 ", "AWS4-", "Basic eDp5", "Bearer x", "\xff"),
        *("AWS4-HMAC-SHA256 Credential=", "AWS4-HMAC-SHA256 Credential=x,Signature=,", _LONG),
        *("AWS4-HMAC-SHA256 =,=,=", AUTHORIZATION + ",", AUTHORIZATION.replace(", ", " ")),
        *("AWS4-HMAC-SHA256 " + "Credential=x," * 900, AUTHORIZATION.lower()),
    ],
    "X-Amz-Date": ["", "yesterday", "20261115T120000Z", "\xff"],
    "Accept-Encoding": [
        *("", "gzip", "deflate", "identity", "*", "br", "gzip;q=0", "gzip;q=nan", "gzip;q=inf"),
        *("gzip;q=-1", "gzip;q=1e999", "gzip;q=", ";q=1", "gzip,,,", "gzip;q=0.5;q=1", "\xe9"),
        *("GZIP", "*;q=0", "gzip;q=१", "," * 5_000),
    ],
    "Connection": ["", "close", "keep-alive", "upgrade", "close, keep-alive", "x", "\xff"],
    "Upgrade": ["h2c", "websocket", ""],
    "Expect": ["100-continue", "100-Continue", "", "200-ok", "100-continue, x"],
    "Host": ["", "x", "[::1]", "a:b:c", "\xff", "é"],
    "Origin": ["null", "http://localhost", "", "\xff"],
    "Access-Control-Request-Headers": ["x-amz-target", "", "\xff", "x" * 5_000],
    "Access-Control-Request-Method": ["POST", "", "\xff"],
    "Content-Length": ["0", "-1", "+2", "2, 2", "0x2", "", " ", "x", "9" * 30, "1", "99999999"],
    "Transfer-Encoding": ["chunked", "identity", "gzip", "gzip, chunked", "Chunked", "", "x"],
    "Trailer": ["X-Amz-Target"],
    "X-Forwarded-For": ["127.0.0.1"],
    "Cookie": ["x=y", _LONG],
    "": ["", "x"],
    "Bad Header": ["x"],
    "X-Odd": ["a\x00b", "a\rb", "a\nb", "\tb", "\x7f"],
}

_METHODS = [
    *("POST", "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "post", ""),
    *("PRI", "POST POST", "\xff", "M-SEARCH", "X" * 5_000),
]
_URLS = [
    *("/", "/x", "//", "", "*", "/?", "/?x", "/?X-Amz-Algorithm=AWS4-HMAC-SHA256", "/#x", "/%00"),
    *("/?X-Amz-Algorithm=&X-Amz-Credential=%zz&X-Amz-Date=\xff", "http://x/", "/metrics", "\xff"),
    *("/?" + "&" * 5_000, "/?" + "X-Amz-Algorithm&" * 900, "/" + "x" * 20_000, "localhost:80"),
    "/?X-Amz-Algorithm=A&X-Amz-Credential=b&X-Amz-Signature=c&X-Amz-SignedHeaders=d&X-Amz-Date=e",
]
_VERSIONS = ["HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/9.9", "HTTP/1.", "HTTP", ""]


@st.composite
def mutated_headers(draw: Draw, headers: Headers) -> Headers:
    """Headers of which some are gone, some others, some twice."""
    changed = list(headers)
    for _ in range(draw(st.integers(1, 3), label="headers")):
        name = draw(st.sampled_from(list(_ODD_HEADERS)))
        values = st.sampled_from(_ODD_HEADERS[name]) | st.text(
            st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=10
        )
        kind = draw(st.sampled_from(["replace", "add", "remove"]))
        if kind != "add":
            changed = [one for one in changed if one[0].lower() != name.lower()]
        if kind != "remove":
            changed.insert(draw(st.integers(0, len(changed))), (name, draw(values)))
    return changed


first_lines = st.one_of(
    st.just("POST / HTTP/1.1"),
    st.builds(
        "{} {} {}".format,
        st.sampled_from(_METHODS),
        st.sampled_from(_URLS),
        st.sampled_from(_VERSIONS),
    ),
)

# How a body may be encoded. The others are not what they say they are.
HONEST: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "identity": bytes,
    "gzip, deflate": lambda body: zlib.compress(gzip.compress(body)),
    "Identity,GZIP ": gzip.compress,
}
DISHONEST = ["gzip", "deflate", "br", "", "x", "gzip,", "\xff", "identity, br"]


@st.composite
def mutated_bytes(draw: Draw, data: bytes) -> bytes:
    """Bytes of which some are others, gone, repeated, or moved."""
    changed = data
    for _ in range(draw(st.integers(1, 4), label="edits")):
        start = draw(st.integers(0, len(changed)))
        end = min(len(changed), start + draw(st.sampled_from([0, 1, 2, 16, 1_000])))
        piece = changed[start:end]
        inserted = draw(
            st.sampled_from(
                [b"", b"\0", b"\r\n", b"\r\n\r\n", b"\n", b" ", b":", b"\xff", b"%", piece * 2]
            )
            | st.binary(max_size=8)
        )
        changed = changed[:start] + inserted + changed[end:]
    return Sent(changed)
