"""Endpoints parsed from URLs."""

from __future__ import annotations

import pytest

from keyfold.errors import OptionInvalid, UrlUnknown
from keyfold.wire.client._endpoints import Endpoint, find_location


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
def test_urls_are_parsed(url: str, tables: str, streams: str, region: str, prefix: str) -> None:
    place = find_location(url, environment={})
    assert (place.tables.url, place.streams.url) == (tables, streams)
    assert (place.region, place.prefix) == (region, prefix)


def test_the_region_of_an_endpoint_comes_from_the_environment() -> None:
    url = "http://localhost:8000"
    assert find_location(url, environment={"AWS_DEFAULT_REGION": "eu-west-2"}).region == "eu-west-2"
    both = {"AWS_DEFAULT_REGION": "eu-west-2", "AWS_REGION": "eu-west-3"}
    assert find_location(url, environment=both).region == "eu-west-3"
    assert find_location(url, region="sa-east-1", environment=both).region == "sa-east-1"


def test_a_region_can_have_another_endpoint() -> None:
    place = find_location("dynamodb://eu-west-1/dev-", endpoint="http://localhost:8000")
    assert place.tables == place.streams == Endpoint("http", "localhost", 8000)
    assert (place.region, place.prefix) == ("eu-west-1", "dev-")


def test_contradictory_urls_and_options_are_refused() -> None:
    with pytest.raises(OptionInvalid, match="The URL names a different one"):
        find_location("dynamodb://eu-west-1", region="eu-west-2")
    with pytest.raises(OptionInvalid, match="Only a dynamodb:// URL takes one"):
        find_location("http://localhost:8000", endpoint="http://localhost:8001")
    with pytest.raises(UrlUnknown, match="is not a region"):
        find_location("http://localhost:8000", region="Europe")
    with pytest.raises(UrlUnknown):
        find_location("http://local\r\nhost:8000")


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
def test_endpoints_know_whether_they_are_loopback_or_aws(
    host: str, is_loopback: bool, is_aws: bool
) -> None:
    endpoint = Endpoint("https", host, 443)
    assert (endpoint.is_loopback, endpoint.is_aws) == (is_loopback, is_aws)
