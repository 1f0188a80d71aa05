"""Responses to requests that differ from what ordinary clients send.

The expected responses are those of the service, as recorded by the tests of dynalite
and Alternator.
"""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any, cast

import botocore.session
import pytest

from keyfold import errors
from tests.unit.wire.server.http import (
    AUTHORIZATION,
    TABLE,
    Response,
    Wire,
    ask,
    get,
    head,
    put,
    read_responses,
    write_request,
)

MISSING = "Request is missing Authentication Token"
DATE = "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."


def exchange(wire: Wire, sent: bytes) -> Response:
    (response,) = wire.exchange(sent)
    return response


def error(response: Response) -> tuple[int, str, str | None]:
    return response.status, response.json["__type"].split("#")[1], response.json.get("message")


def test_a_response_has_the_headers_that_clients_check(wire: Wire) -> None:
    response = exchange(wire, ask("ListTables", {}))
    assert (response.status, response.json) == (200, {"TableNames": [TABLE]})
    headers = response.headers
    assert headers["content-type"] == "application/x-amz-json-1.0"
    assert headers["x-amz-crc32"] == str(zlib.crc32(response.body))
    assert len(headers["x-amzn-requestid"]) == 52
    assert headers["x-amzn-requestid"].isalnum()
    assert headers["connection"] == "keep-alive"
    assert "server" in headers
    assert headers["date"].endswith(" GMT")


def test_each_response_has_a_unique_request_id(wire: Wire) -> None:
    ids = {response.headers["x-amzn-requestid"] for response in wire.exchange(get("a") + get("a"))}
    assert len(ids) == 2


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_root_url_is_a_health_check(wire: Wire, method: str) -> None:
    connection, transport = wire.connect()
    connection.data_received(write_request({"Host": "localhost:8000"}, b"", method=method))
    (response,) = read_responses(transport.written, has_bodies=method == "GET")
    assert response.status == 200
    assert response.headers["content-length"] == str(len("healthy: localhost:8000 "))
    assert response.body == (b"healthy: localhost:8000 " if method == "GET" else b"")


@pytest.mark.parametrize(
    "sent",
    [
        write_request({}, b"", method="GET", url="/other"),
        write_request({}, b"", method="GET", url="/metrics"),
        write_request({}, b"", method="PUT"),
        write_request({}, b"", method="DELETE"),
        write_request({}, b"", method="OPTIONS"),
        write_request(head(), url="/other"),
        write_request(head(Content_Type=None), b"hi"),
        write_request(head(Content_Type="whatever"), b"hi"),
        write_request(head(Content_Type="application/x-amz-json-1.1"), b"hi"),
        write_request(head(Content_Type="application/jsonasdf"), b"hi"),
    ],
)
def test_requests_outside_the_api_get_404(wire: Wire, sent: bytes) -> None:
    response = exchange(wire, sent)
    assert (response.status, response.body) == (404, b"<UnknownOperationException/>\n")
    assert response.headers["x-amz-crc32"] == "3552371480"


@pytest.mark.parametrize(
    ("sent_type", "answered_type"),
    [
        ("application/json", "application/json"),
        ("application/json;", "application/json"),
        ("  application/json  ;   asfd", "application/json"),
        ("application/json;charset=asfdsaf", "application/json"),
        ("application/x-amz-json-1.0;blahblah", "application/x-amz-json-1.0"),
    ],
)
def test_the_response_has_the_content_type_of_the_request(
    wire: Wire, sent_type: str, answered_type: str
) -> None:
    headers = head(X_Amz_Target=None, Authorization=None, Content_Type=sent_type)
    response = exchange(wire, write_request(headers, b"hi"))
    assert error(response) == (400, "SerializationException", None)
    assert response.headers["content-type"] == answered_type
    response = exchange(wire, write_request(headers, b"{}"))
    assert error(response) == (400, "UnknownOperationException", None)
    assert response.headers["content-type"] == answered_type


@pytest.mark.parametrize(
    "target", [None, "whatever", "DynamoDB_20120810.ListTable", "DynamoDBStreams_20120810.GetItem"]
)
def test_an_unknown_operation_is_reported_before_a_missing_authorization(
    wire: Wire, target: str | None
) -> None:
    headers = head(X_Amz_Target=target, Authorization=None)
    response = exchange(wire, write_request(headers))
    assert error(response) == (400, "UnknownOperationException", None)


def test_a_request_without_body_and_content_type_is_an_unknown_operation(wire: Wire) -> None:
    response = exchange(wire, write_request({}, b""))
    assert error(response) == (400, "UnknownOperationException", None)
    assert response.headers["content-type"] == "application/json"


@pytest.mark.parametrize("body", [b"", b"{", b"hi", b"\xff", b'{"a":1}}', b"{" * 2_000])
def test_a_body_that_is_not_json_is_a_serialization_error(wire: Wire, body: bytes) -> None:
    response = exchange(wire, write_request(head(), body))
    assert error(response)[:2] == (400, "SerializationException")


@pytest.mark.parametrize(
    ("url", "headers", "kind", "message"),
    [
        ("/", head(Authorization=None), "MissingAuthenticationToken", MISSING),
        ("/", head(Authorization="AWS4"), "MissingAuthenticationToken", MISSING),
        ("/", head(Authorization="Basic eA=="), "MissingAuthenticationToken", MISSING),
        (
            "/?X-Amz-Credential=a&X-Amz-Signature=b&X-Amz-SignedHeaders=c&X-Amz-Date=d",
            head(Authorization=None),
            "MissingAuthenticationToken",
            MISSING,
        ),
        (
            "/?X-Amz-Algorithm",
            head(Authorization="X"),
            "InvalidSignature",
            (
                "Found both 'X-Amz-Algorithm' as a query-string param "
                "and 'Authorization' as HTTP header."
            ),
        ),
        (
            "/",
            head(Authorization="AWS4-", X_Amz_Date=None),
            "IncompleteSignature",
            (
                "Authorization header requires 'Credential' parameter. "
                "Authorization header requires 'Signature' parameter. "
                f"Authorization header requires 'SignedHeaders' parameter. {DATE} "
                "Authorization=AWS4-"
            ),
        ),
        (
            "/",
            head(Authorization="AWS4- Signature=b,Credential=a", X_Amz_Date=None, Date="a"),
            "IncompleteSignature",
            (
                "Authorization header requires 'SignedHeaders' parameter. "
                "Authorization=AWS4- Signature=b,Credential=a"
            ),
        ),
        (
            "/?X-Amz-Algorithm=a&X-Amz-Credential=b&X-Amz-Signature=c&X-Amz-Date=d",
            head(Authorization=None),
            "IncompleteSignature",
            (
                "AWS query-string parameters must include 'X-Amz-SignedHeaders'. "
                "Re-examine the query-string parameters."
            ),
        ),
    ],
)
def test_an_incomplete_authorization_is_refused(
    wire: Wire, url: str, headers: dict[str, str], kind: str, message: str
) -> None:
    response = exchange(wire, write_request(headers, url=url))
    assert error(response) == (400, f"{kind}Exception", message)


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("/", head(Authorization=AUTHORIZATION.replace(", ", ","))),
        ("/", head(Authorization=AUTHORIZATION.replace(", ", " "))),
        ("/", head(Authorization="AWS4-HMAC-SHA256 Signature=1,Credential=a,SignedHeaders=b")),
        (
            (
                "/?X-Amz-Algorithm=a&X-Amz-Credential=b&X-Amz-Signature=c&X-Amz-Date=d"
                "&X-Amz-SignedHeaders=e"
            ),
            head(Authorization=None),
        ),
        ("/?", head()),
    ],
)
def test_any_complete_authorization_is_accepted(
    wire: Wire, url: str, headers: dict[str, str]
) -> None:
    assert exchange(wire, write_request(headers, url=url)).status == 200


def test_error_messages_are_those_of_the_service(wire: Wire) -> None:
    unknown = {"TableName": "absent", "Key": {"pk": {"S": "a"}}}
    response = exchange(wire, ask("GetItem", unknown))
    assert (response.status, response.json) == (
        400,
        {
            "__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
            "message": "Requested resource not found",
        },
    )
    wrong = {"TableName": TABLE, "Key": {"pk": {"S": 1}}}
    response = exchange(wire, ask("GetItem", wrong))
    assert (response.status, response.json) == (
        400,
        {
            "__type": "com.amazon.coral.service#SerializationException",
            "Message": "NUMBER_VALUE cannot be converted to String",
        },
    )


def test_an_error_carries_its_item(wire: Wire) -> None:
    exchange(wire, put("a", n={"N": "1"}))
    condition = {
        "TableName": TABLE,
        "Item": {"pk": {"S": "a"}},
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    response = exchange(wire, ask("PutItem", condition))
    assert error(response)[:2] == (400, "ConditionalCheckFailedException")
    assert response.json["Item"] == {"pk": {"S": "a"}, "n": {"N": "1"}}


def test_tagging_is_answered_without_a_body(wire: Wire) -> None:
    described = exchange(wire, ask("DescribeTable", {"TableName": TABLE})).json
    arn = described["Table"]["TableArn"]
    tagged = exchange(
        wire, ask("TagResource", {"ResourceArn": arn, "Tags": [{"Key": "k", "Value": "v"}]})
    )
    assert (tagged.status, tagged.body) == (200, b"")
    untagged = exchange(wire, ask("UntagResource", {"ResourceArn": arn, "TagKeys": ["k"]}))
    assert (untagged.status, untagged.body) == (200, b"")


def test_describe_endpoints_returns_the_requested_host(wire: Wire) -> None:
    response = exchange(wire, ask("DescribeEndpoints", {}))
    assert response.json["Endpoints"][0]["Address"] == "localhost:8000"


def test_requests_may_be_compressed(wire: Wire) -> None:
    body = json.dumps({"TableName": TABLE, "Item": {"pk": {"S": "zipped"}}}).encode()
    headers = head("PutItem", Content_Encoding="gzip")
    assert exchange(wire, write_request(headers, gzip.compress(body))).status == 200
    assert exchange(wire, get("zipped")).json == {"Item": {"pk": {"S": "zipped"}}}


def test_large_requests_are_answered_with_an_offer_of_compression(wire: Wire) -> None:
    offered = exchange(wire, put("long", text={"S": "x" * 11_000}))
    assert (offered.status, offered.headers["accept-encoding"]) == (200, "gzip, deflate")
    short = exchange(wire, put("short", text={"S": "x" * 9_000}))
    assert "accept-encoding" not in short.headers
    body = json.dumps({"TableName": TABLE, "Item": {"pk": {"S": "zipped"}}}).encode()
    for sent in (gzip.compress(body), gzip.compress(body) + gzip.compress(b" " * 11_000)):
        again = exchange(wire, write_request(head("PutItem", Content_Encoding="gzip"), sent))
        assert (again.status, again.headers.get("accept-encoding")) == (200, None)


def test_a_body_that_cannot_be_decompressed_fails_as_on_the_service(wire: Wire) -> None:
    headers = head("ListTables", Content_Encoding="gzip")
    response = exchange(wire, write_request(headers, b"{}"))
    assert error(response)[:2] == (500, "InternalServerError")


def test_a_body_that_is_too_long_when_decompressed_is_refused(wire: Wire) -> None:
    headers = head("ListTables", Content_Encoding="gzip")
    bomb = gzip.compress(b" " * (16 * 1024 * 1024 + 1))
    assert exchange(wire, write_request(headers, bomb)).status == 413


def test_long_responses_are_compressed_on_request(wire: Wire) -> None:
    exchange(wire, put("long", text={"S": "x" * 5_000}))
    exchange(wire, put("short", text={"S": "x" * 1_000}))
    plain = exchange(wire, get("long"))
    assert "content-encoding" not in plain.headers
    zipped = exchange(wire, get("long", Accept_Encoding="gzip"))
    assert zipped.headers["content-encoding"] == "gzip"
    assert gzip.decompress(zipped.body) == plain.body
    assert zipped.headers["x-amz-crc32"] == str(zlib.crc32(zipped.body))
    short = exchange(wire, get("short", Accept_Encoding="gzip"))
    assert "content-encoding" not in short.headers


def test_cross_origin_requests_are_allowed(wire: Wire) -> None:
    preflight = write_request(
        {
            "Origin": "http://localhost:3000",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-amz-target, authorization",
        },
        b"",
        method="OPTIONS",
    )
    allowed = exchange(wire, preflight)
    assert (allowed.status, allowed.body) == (200, b"")
    assert allowed.headers["access-control-allow-origin"] == "*"
    assert allowed.headers["access-control-allow-methods"] == "POST"
    assert allowed.headers["access-control-allow-headers"] == "x-amz-target, authorization"
    assert allowed.headers["access-control-max-age"] == "172800"
    response = exchange(wire, get("a", Origin="http://localhost:3000"))
    assert response.headers["access-control-allow-origin"] == "*"
    assert "x-amz-crc32" in response.headers["access-control-expose-headers"]
    assert "access-control-max-age" not in response.headers


def test_requests_without_an_origin_get_no_cors_headers(wire: Wire) -> None:
    response = exchange(wire, get("a"))
    assert not [name for name in response.headers if name.startswith("access-control")]


def test_errors_name_their_message_field_as_the_model_does() -> None:
    model = cast(Any, botocore.session).get_session().get_service_model("dynamodb")
    for name in errors.__all__:
        kind = getattr(errors, name)
        if issubclass(kind, errors.ServiceError) and name in model.shape_names:
            assert kind.message_name in model.shape_for(name).members, name
