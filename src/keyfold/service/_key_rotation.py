"""Keeps the keys of tokens up to date: reads them again as they get old, or when one is missing.

A token may be signed with a key that is newer than those that were read, so a key id that is unknown
makes the keys be read again: once per interval, because anybody can send such a token. If reading
fails, the keys that were read before are used for a bounded time: a key may just have been revoked.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, build_opener

from keyfold.clocks import Clock
from keyfold.errors import AuthenticationUnavailable
from keyfold.service._jwks import KeySet, parse_key_set
from keyfold.wire.server._browsers import is_loopback_host
from keyfold.wire.server._file_access import read_trusted

if TYPE_CHECKING:
    from jwt import PyJWK

_LOG = logging.getLogger("keyfold.service")

_TIMEOUT_SECONDS = 5.0
# How long a request waits for keys, in all.
_LONGEST_WAIT_SECONDS = 10.0
_MOST_BYTES = 256 * 1024
_READ_BYTES = 16 * 1024


class KeySource(Protocol):
    """Where a JWKS comes from."""

    @property
    def name(self) -> str:
        """The path or the URL, for messages."""
        ...

    def read(self) -> bytes:
        """Return the JWKS; raises AuthenticationUnavailable. It may block."""
        ...


@dataclass(frozen=True, slots=True)
class JwksFile:
    """A JWKS in a file, which others may not write."""

    name: str

    def read(self) -> bytes:
        """Return the content of the file."""
        return read_trusted(
            self.name, lambda fact, advice: AuthenticationUnavailable(self.name, fact, advice)
        )


@dataclass(frozen=True, slots=True)
class JwksUrl:
    """A JWKS at a URL: of HTTPS, or on this machine. Redirects are not followed."""

    name: str

    def read(self) -> bytes:
        """Return the body of the response, up to 256 KiB."""
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        try:
            with _make_opener(self.name).open(self.name, timeout=_TIMEOUT_SECONDS) as response:
                content = b""
                while part := response.read1(_READ_BYTES):
                    content += part
                    if len(content) > _MOST_BYTES:
                        fact = f"its response has more than {_MOST_BYTES} bytes"
                        raise AuthenticationUnavailable(self.name, fact)
                    if time.monotonic() > deadline:
                        raise TimeoutError("it takes too long")
                return content
        except HTTPError as error:
            error.close()
            fact = f"it answers with status {error.code}"
            raise AuthenticationUnavailable(self.name, fact) from None
        except (OSError, URLError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise AuthenticationUnavailable(self.name, f"it cannot be read: {reason}") from None


class _NoRedirects(HTTPRedirectHandler):
    """Treats redirects as errors: they could lead anywhere, such as to plain HTTP."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Return None: there is no other request."""


def _make_opener(url: str) -> OpenerDirector:
    handlers = [_NoRedirects()]
    # A proxy is another machine.
    return build_opener(*handlers, ProxyHandler({})) if _is_local(url) else build_opener(*handlers)


def is_safe_url(url: str) -> bool:
    """Return whether nobody on the network can change what is read from a URL.

    >>> is_safe_url("https://login.example/keys"), is_safe_url("http://127.0.0.1:8080/keys")
    (True, True)
    >>> is_safe_url("http://login.example/keys"), is_safe_url("file:///etc/keys")
    (False, False)
    """
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    if not parts.hostname or not has_port or not url.isascii() or not url.isprintable():
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_local(url))


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return is_loopback_host(f"[{host}]" if ":" in host else host)


@dataclass(frozen=True, slots=True)
class RotationTimes:
    """After how many seconds keys are read again, at the earliest again, and no longer used.

    `grace_seconds` counts from when the keys were last read.
    """

    refresh_seconds: float = 300.0
    retry_seconds: float = 30.0
    grace_seconds: float = 3_600.0


class RotatingKeys:
    """The current keys of a source."""

    def __init__(
        self,
        source: KeySource,
        algorithms: Collection[str],
        times: RotationTimes | None = None,
        *,
        monotonic: Clock = time.monotonic,
    ) -> None:
        self._source, self._algorithms = source, frozenset(algorithms)
        self._times = times or RotationTimes()
        self._monotonic = monotonic
        self._lock = threading.Lock()
        # The keys, and when they were read.
        self._current: tuple[KeySet, float] | None = None
        self._reading: Future[None] | None = None
        self._next_at = float("-inf")

    def load(self) -> None:
        """Read the keys; raises AuthenticationUnavailable."""
        self._next_at = self._monotonic() + self._times.retry_seconds
        self._read()

    def find_current(self) -> KeySet | None:
        """Return the keys; None if there are none, or none that may still be used.

        If they are old, they are read again in the background. The result is the same object for as
        long as the keys stay the same.
        """
        current = self._current
        if current is None:
            return None
        age = self._monotonic() - current[1]
        if age >= self._times.refresh_seconds:
            self._start()
        return current[0] if age < self._times.grace_seconds else None

    async def find(self, kid: str | None, algorithm: str) -> PyJWK | None:
        """Return the key of a token; None if the source has none of this id and algorithm.

        Raises AuthenticationUnavailable if there are no keys.
        """
        keys = self.find_current()
        key = None if keys is None else keys.find(kid, algorithm)
        if key is not None:
            return key
        await self._wait(self._start())
        keys = self.find_current()
        if keys is None:
            fact = "its keys have not been read, or too long ago"
            raise AuthenticationUnavailable(self._source.name, fact, "The log says why.")
        return keys.find(kid, algorithm)

    def _start(self) -> Future[None] | None:
        """Start to read the keys in a thread, unless that is being done, or was done just now."""
        with self._lock:
            if self._reading is not None:
                return self._reading
            now = self._monotonic()
            if now < self._next_at:
                return None
            self._next_at = now + self._times.retry_seconds
            self._reading = reading = Future[None]()
            reading.set_running_or_notify_cancel()
        # A daemon, so that a program can end while a server does not answer.
        threading.Thread(target=self._run, args=(reading,), daemon=True).start()
        return reading

    def _run(self, reading: Future[None]) -> None:
        try:
            self._read()
        except AuthenticationUnavailable as error:
            _LOG.error("%s", error)
        except Exception:  # noqa: BLE001 - whatever it is, the keys that were read before are used
            _LOG.exception("%s: its keys cannot be read.", self._source.name)
        finally:
            with self._lock:
                self._reading = None
            reading.set_result(None)

    def _read(self) -> None:
        content = self._source.read()
        current = self._current
        if current is not None and current[0].content == content:
            keys = current[0]
        else:
            keys = parse_key_set(content, self._algorithms, self._source.name)
        self._current = keys, self._monotonic()

    async def _wait(self, reading: Future[None] | None) -> None:
        if reading is not None:
            await asyncio.wait([asyncio.wrap_future(reading)], timeout=_LONGEST_WAIT_SECONDS)
