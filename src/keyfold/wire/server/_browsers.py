"""Keeps web pages out: which Host and Origin headers a server accepts.

A page that a developer visits can send requests to servers on the developer's machine, in two ways.
It can send them from its own origin: browsers then name that origin in the header Origin. Or its
domain can resolve to 127.0.0.1 (DNS rebinding), so that the page and the server share an origin:
browsers then name that domain in the header Host. Pages can set neither header. Other clients can send
what they like; against them, there are access keys.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address

from keyfold.errors import OptionInvalid

_LOG = logging.getLogger("keyfold.server")

# A host as a URL has it, with an optional port. A name has ASCII letters only: browsers send others
# encoded (xn--…).
_HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,255})(?::([0-9]{0,5}))?")
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]{0,63})://(.{1,300})")
_WEB_PORTS = {"http": "80", "https": "443"}
_LOOPBACK_NAME = "localhost"

# Headers that were accepted, and reports that were logged: beyond this, clients invent them.
_REMEMBERED = 64
_LONGEST_QUOTE = 100


class BrowserRules:
    """Decides by their Host and Origin which requests a server accepts, whatever it serves.

    Loopback names are always accepted, as are the hosts of `allow_host` and the origins of
    `allow_origin`. With `any_host`, every Host is accepted. Raises OptionInvalid.
    """

    def __init__(
        self,
        allow_host: Iterable[str] = (),
        allow_origin: Iterable[str] = (),
        *,
        any_host: bool = False,
    ) -> None:
        self._hosts = frozenset(_read_host_option(each) for each in allow_host)
        self._origins = frozenset(_read_origin_option(each) for each in allow_origin)
        self._any_host = any_host
        # The Host headers that were accepted. A request that has one of them, and no Origin, needs no
        # other check.
        self.known_hosts: set[bytes | None] = set()
        self._reported: set[str] = set()

    def find_refusal(self, host: bytes | None, origin: bytes | None) -> str | None:
        """Return why a request is refused; None if it is accepted."""
        # No browser leaves Host out; health checks by HTTP/1.0 do.
        if host is not None and not self._accepts_host(host):
            name = _quote(_split_host(host.decode("latin-1").lower())[0] or "NAME")
            return self._refuse(
                f"Host {_quote(host)} is not a name of this machine, so a web page may have sent the "
                f"request. If it is yours, start the server with --allow-host {name}"
            )
        if len(self.known_hosts) < _REMEMBERED:
            self.known_hosts.add(host)
        if origin is not None and not self._accepts_origin(origin):
            return self._refuse(
                f"Origin {_quote(origin)} is not on this machine. To let its pages use the server, "
                f"start it with --allow-origin {_quote(origin)}"
            )
        return None

    def _accepts_host(self, header: bytes) -> bool:
        if self._any_host:
            return True
        host, _ = _split_host(header.decode("latin-1").lower())
        return is_loopback_host(host) or _names(self._hosts, host)

    def _accepts_origin(self, header: bytes) -> bool:
        scheme, host, port = _split_origin(header.decode("latin-1").lower())
        if is_loopback_host(host) and scheme in _WEB_PORTS:
            return True
        return host != "" and (scheme, host, port) in self._origins

    def _refuse(self, fact: str) -> str:
        # A browser hides the answer from its page, so the server's operator is told as well.
        if fact not in self._reported and len(self._reported) < _REMEMBERED:
            self._reported.add(fact)
            _LOG.warning("refused a request: %s", fact)
        return fact


def is_loopback_address(address: str) -> bool:
    """Return whether only this machine reaches a socket that is bound to an address.

    >>> is_loopback_address("127.0.0.1"), is_loopback_address("::1"), is_loopback_address("0.0.0.0")
    (True, True, False)
    """
    found = ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback


def check_exposure(address: str, *, has_keys: bool, insecure: bool) -> None:
    """Raise OptionInvalid if anybody on the network could use a server without a key."""
    if not (has_keys or insecure or is_loopback_address(address)):
        raise OptionInvalid(
            "host",
            address,
            "Other machines reach that address, and without access keys anybody may do everything. "
            "Require keys with --auth (from Python: a gate); if the network is private, say --insecure "
            "(from Python: insecure=True).",
        )


def is_loopback_host(host: str) -> bool:
    """Return whether a host in lower case is a loopback name or address; IPv6 is in brackets."""
    if host == _LOOPBACK_NAME or host.endswith(".localhost"):
        return True
    address = _read_address(host)
    if isinstance(address, IPv4Address):
        return address.is_loopback
    return address is not None and address == IPv6Address(1)


def _names(allowed: Collection[str], host: str) -> bool:
    """Return whether a normalized host is among the allowed names, or below a `*.` name of them."""
    if host in allowed:
        return host != ""
    parent = host
    while "." in parent:
        parent = parent.partition(".")[2]
        if f"*.{parent}" in allowed:
            return True
    return False


def _split_host(text: str) -> tuple[str, str]:
    """Return the normalized host and the port of `host[:port]` in lower case; both empty if invalid.

    >>> _split_host("localhost.:8000"), _split_host("[::1]"), _split_host("ada@localhost")
    (('localhost', '8000'), ('[::1]', ''), ('', ''))
    """
    found = _HOST.fullmatch(text)
    if found is None:
        return "", ""
    host, port = found[1], found[2] or ""
    if host.startswith("["):
        address = _read_address(host)
        return ("", "") if address is None else (f"[{address}]", port)
    name = host.removesuffix(".")
    return ("", "") if not all(name.split(".")) else (name, port)


def _split_origin(text: str) -> tuple[str, str, str]:
    """Return the scheme, host and port of an origin in lower case; all empty if it is invalid.

    >>> _split_origin("http://localhost:80"), _split_origin("null")
    (('http', 'localhost', ''), ('', '', ''))
    """
    found = _ORIGIN.fullmatch(text)
    host, port = _split_host(found[2]) if found else ("", "")
    if found is None or not host:
        return "", "", ""
    return found[1], host, "" if port == _WEB_PORTS.get(found[1]) else port


def _read_address(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address that a host is, with brackets if it is an IPv6 address; None for a name."""
    try:
        return IPv6Address(host[1:-1]) if host.startswith("[") else IPv4Address(host)
    except ValueError:
        return None


def _read_host_option(text: str) -> str:
    name = _to_ascii(text)
    if ":" in name and not name.startswith("["):
        # An IPv6 address, as the shell's user writes it.
        name = f"[{name}]"
    wildcard = "*." if name.startswith("*.") else ""
    host, port = _split_host(name.removeprefix("*."))
    if not host or port or (wildcard and _read_address(host)):
        advice = "Give a name or an address without a port, such as host.docker.internal or *.test."
        raise OptionInvalid("allow_host", text, advice)
    return wildcard + host


def _read_origin_option(text: str) -> tuple[str, str, str]:
    scheme, mark, rest = text.partition("://")
    origin = _split_origin(_to_ascii(scheme) + mark + _to_ascii(rest))
    if not origin[1]:
        advice = "Give an origin as browsers send it, such as https://app.example or http://10.0.0.5:3000."
        raise OptionInvalid("allow_origin", text, advice)
    return origin


def _to_ascii(text: str) -> str:
    """Return a name of an option as browsers send it: in lower case, and encoded if it is not ASCII."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    try:
        return lowered.encode("idna").decode()
    except UnicodeError:
        return ""


def _quote(header: bytes | str) -> str:
    """Return a bounded part of a header, with nothing but printable ASCII."""
    text = header.decode("latin-1") if isinstance(header, bytes) else header
    shown = "".join(each if "!" <= each <= "~" else "?" for each in text[:_LONGEST_QUOTE])
    return shown + ("..." if len(text) > _LONGEST_QUOTE else "")
