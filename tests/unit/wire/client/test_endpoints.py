"""What a URL says of a database."""

from __future__ import annotations

import pytest

from keyfold.errors import OptionInvalid, UrlUnknown
from keyfold.wire.client._endpoints import Endpoint, find_place


@pytest.mark.parametrize(
    ("url", "tables", "streams", "region", "prefix"),
    [
        (
            "dynamodb://eu-west-1",
            "https://dynamodb.eu-west-1.amazonaws.com",
            "https://streams.dynamodb.eu-west-1.amazonaws.com",
            "eu-west-1",
            "",
        ),
        (
            "dynamodb://cn-north-1/dev-",
            "https://dynamodb.cn-north-1.amazonaws.com.cn",
            "https://streams.dynamodb.cn-north-1.amazonaws.com.cn",
            "cn-north-1",
            "dev-",
        ),
        ("http://localhost:8000", *2 * ("http://localhost:8000",), "us-east-1", ""),
        ("http://localhost:80/", *2 * ("http://localhost",), "us-east-1", ""),
        ("https://[::1]:8443", *2 * ("https://[::1]:8443",), "us-east-1", ""),
        (
            "https://dynamodb.ap-south-1.amazonaws.com",
            *2 * ("https://dynamodb.ap-south-1.amazonaws.com",),
            "ap-south-1",
            "",
        ),
    ],
)
def test_urls(url: str, tables: str, streams: str, region: str, prefix: str) -> None:
    place = find_place(url, environment={})
    assert (place.tables.url, place.streams.url) == (tables, streams)
    assert (place.region, place.prefix) == (region, prefix)


def test_the_region_of_an_endpoint_is_found_elsewhere() -> None:
    url = "http://localhost:8000"
    assert find_place(url, environment={"AWS_DEFAULT_REGION": "eu-west-2"}).region == "eu-west-2"
    both = {"AWS_DEFAULT_REGION": "eu-west-2", "AWS_REGION": "eu-west-3"}
    assert find_place(url, environment=both).region == "eu-west-3"
    assert find_place(url, region="sa-east-1", environment=both).region == "sa-east-1"


def test_a_region_can_be_elsewhere() -> None:
    place = find_place("dynamodb://eu-west-1/dev-", endpoint="http://localhost:8000")
    assert place.tables == place.streams == Endpoint("http", "localhost", 8000)
    assert (place.region, place.prefix) == ("eu-west-1", "dev-")


def test_what_contradicts_itself_is_refused() -> None:
    with pytest.raises(OptionInvalid, match="The URL names another"):
        find_place("dynamodb://eu-west-1", region="eu-west-2")
    with pytest.raises(OptionInvalid, match="Only a dynamodb:// URL takes one"):
        find_place("http://localhost:8000", endpoint="http://localhost:8001")
    with pytest.raises(UrlUnknown, match="is no region"):
        find_place("http://localhost:8000", region="Europe")
    with pytest.raises(UrlUnknown):
        find_place("http://local\r\nhost:8000")


@pytest.mark.parametrize(
    ("host", "is_loopback", "is_aws"),
    [
        ("localhost", True, False),
        ("db.localhost", True, False),
        ("127.8.8.8", True, False),
        ("::1", True, False),
        ("10.0.0.1", False, False),
        ("dynamodb.eu-west-1.amazonaws.com", False, True),
        ("dynamodb.eu-west-1.amazonaws.com.evil.example", False, False),
    ],
)
def test_where_an_endpoint_is(host: str, is_loopback: bool, is_aws: bool) -> None:
    endpoint = Endpoint("https", host, 443)
    assert (endpoint.is_loopback, endpoint.is_aws) == (is_loopback, is_aws)
