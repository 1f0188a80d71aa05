"""Endpoints, region and table prefix of a service, from its URL."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from keyfold.errors import OptionInvalid, UrlUnknown

_DEFAULT_REGION = "us-east-1"
_PORTS = {"http": 80, "https": 443}
_REGION = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+").fullmatch
_PREFIX = re.compile(r"[A-Za-z0-9_.-]{1,252}").fullmatch
_HOST = re.compile(r"[A-Za-z0-9:._-]+").fullmatch
_AWS_HOST = re.compile(
    r"(?:streams\.)?dynamodb(?:-fips)?\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?"
).fullmatch
_FORMS = (
    "Give the path of a file, ':memory:', http(s)://HOST:PORT or dynamodb://REGION[/TABLE-PREFIX]."
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Scheme, host and port to connect to."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The endpoint's URL, as error messages show it."""
        return f"{self.scheme}://{self.authority}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost" or self.host.endswith(".localhost")

    @property
    def is_aws(self) -> bool:
        """Whether AWS runs it."""
        return _AWS_HOST(self.host) is not None


@dataclass(frozen=True, slots=True)
class ServiceLocation:
    """Where a database is: the endpoints of tables and streams, the region, the table prefix."""

    tables: Endpoint
    streams: Endpoint
    region: str
    prefix: str = ""


def find_location(
    url: str,
    *,
    endpoint: str | None = None,
    region: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> ServiceLocation:
    """Return the location that a URL names.

    >>> find_location("dynamodb://eu-west-1/dev-").tables.url
    'https://dynamodb.eu-west-1.amazonaws.com'

    `endpoint` replaces the AWS endpoint of a `dynamodb://` URL; `region` is the region to sign
    for with an `http(s)://` URL. Raises UrlUnknown, OptionInvalid.
    """
    scheme, _, rest = url.partition("://")
    if scheme == "dynamodb":
        return _find_in_region(url, rest, endpoint, region)
    if endpoint is not None:
        raise OptionInvalid("endpoint", endpoint, "Only a dynamodb:// URL takes one.")
    found = parse_endpoint(url)
    of_host = _AWS_HOST(found.host)
    chosen = (
        region
        or (of_host["region"] if of_host else None)
        or environment.get("AWS_REGION")
        or environment.get("AWS_DEFAULT_REGION")
        or _DEFAULT_REGION
    )
    _check_region(url, chosen)
    return ServiceLocation(found, found, chosen)


def _find_in_region(
    url: str, rest: str, endpoint: str | None, region: str | None
) -> ServiceLocation:
    named, _, prefix = rest.partition("/")
    if region not in (None, named):
        raise OptionInvalid("region", region, "The URL names a different one.")
    _check_region(url, named)
    if prefix and not _PREFIX(prefix):
        raise UrlUnknown(url, "A table prefix has letters, digits, '_', '-' and '.'.")
    if endpoint is not None:
        given = parse_endpoint(endpoint)
        return ServiceLocation(given, given, named, prefix)
    domain = f"{named}.amazonaws.com" + (".cn" if named.startswith("cn-") else "")
    return ServiceLocation(
        Endpoint("https", f"dynamodb.{domain}", 443),
        Endpoint("https", f"streams.dynamodb.{domain}", 443),
        named,
        prefix,
    )


def _check_region(url: str, region: str) -> None:
    if not _REGION(region):
        raise UrlUnknown(url, f"{region!r} is not a region. Give one such as eu-west-1.")


def parse_endpoint(url: str) -> Endpoint:
    """Return the endpoint of an `http(s)://` URL; raises UrlUnknown."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UrlUnknown(url, f"It is not a URL: {error}.") from None
    if not url.isprintable() or parts.scheme not in _PORTS:
        raise UrlUnknown(url, _FORMS)
    if not parts.hostname or not _HOST(parts.hostname):
        raise UrlUnknown(url, _FORMS)
    if parts.path not in ("", "/") or parts.query or parts.fragment or parts.username:
        raise UrlUnknown(url, "It may have only a host and a port.")
    return Endpoint(parts.scheme, parts.hostname, _PORTS[parts.scheme] if port is None else port)
