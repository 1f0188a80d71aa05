"""Keys of tokens: which are usable, how they are read, and when they are read again."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import AuthenticationUnavailable, Unauthenticated
from keyfold.service import _key_rotation
from keyfold.service._jwks import parse_key_set
from keyfold.service._key_rotation import (
    JwksFile,
    JwksUrl,
    RotatingKeys,
    RotationTimes,
    is_safe_url,
)
from tests.unit.service.tokens import (
    LOGIN,
    Watch,
    call,
    make_jwk,
    make_jwks,
    make_private,
    open_files,
    sign,
)

ONE = make_jwk(make_private("one"), kid="one")
TWO = make_jwk(make_private("two"), kid="two")


class Source:
    """A JWKS in memory: counts how often it is read, and fails on request."""

    name = "https://login.example/jwks.json"

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.content = make_jwks(*keys).encode()
        self.reads = 0
        self.fails = False
        self.may_answer = threading.Event()
        self.may_answer.set()

    def read(self) -> bytes:
        self.may_answer.wait(10)
        self.reads += 1
        if self.fails:
            raise AuthenticationUnavailable(self.name, "it cannot be read: refused")
        return self.content


class Rotation:
    """Rotating keys, with a clock and a source to change."""

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.source, self.watch = Source(*keys), Watch(1_000.0)
        times = RotationTimes(refresh_seconds=300, retry_seconds=30, grace_seconds=3_600)
        self.keys = RotatingKeys(self.source, ["RS256"], times, monotonic=self.watch)

    def find(self, kid: str) -> bool:
        return asyncio.run(self.keys.find(kid, "RS256")) is not None

    def settle(self) -> None:
        """Wait for what is read in the background."""
        reading = self.keys._reading
        if reading is not None:
            reading.result(10)


def test_keys_are_read_once() -> None:
    rotation = Rotation(ONE)
    assert rotation.find("one")
    rotation.watch.now += 299
    assert rotation.find("one")
    assert rotation.source.reads == 1


def test_old_keys_are_read_again_in_the_background() -> None:
    rotation = Rotation(ONE)
    assert rotation.find("one")
    rotation.source.content = make_jwks(TWO).encode()
    rotation.source.may_answer.clear()
    rotation.watch.now += 300
    # Nobody waits for that.
    assert rotation.find("one")
    assert rotation.find("one")
    rotation.source.may_answer.set()
    rotation.settle()
    assert not rotation.find("one")
    assert rotation.find("two")
    assert rotation.source.reads == 2


def test_an_unknown_key_id_reads_the_keys_once_per_interval() -> None:
    rotation = Rotation(ONE)
    assert rotation.find("one")
    rotation.source.content = make_jwks(ONE, TWO).encode()
    # Just read: anybody could send such a token.
    assert not rotation.find("two")
    rotation.watch.now += 30
    assert rotation.find("two")
    assert rotation.source.reads == 2
    for number in range(10):
        assert not rotation.find(f"invented {number}")
    assert rotation.source.reads == 2
    rotation.watch.now += 30
    for number in range(10):
        assert not rotation.find(f"invented {number}")
    assert rotation.source.reads == 3


def test_requests_at_the_same_time_share_one_read() -> None:
    rotation = Rotation(ONE)

    async def find_many() -> list[Any]:
        rotation.source.may_answer.clear()
        tasks = [asyncio.create_task(rotation.keys.find("one", "RS256")) for _ in range(5)]
        await asyncio.sleep(0)
        rotation.source.may_answer.set()
        return await asyncio.gather(*tasks)

    assert None not in asyncio.run(find_many())
    assert rotation.source.reads == 1


def test_after_failures_the_old_keys_are_used_for_a_bounded_time() -> None:
    rotation = Rotation(ONE)
    assert rotation.find("one")
    rotation.source.fails = True
    for _ in range(119):
        rotation.watch.now += 30
        assert rotation.find("one")
        rotation.settle()
    rotation.watch.now += 30
    with pytest.raises(AuthenticationUnavailable, match="too long ago"):
        rotation.find("one")
    rotation.source.fails = False
    rotation.watch.now += 30
    assert rotation.find("one")


def test_without_keys_nobody_is_known(caplog: pytest.LogCaptureFixture) -> None:
    rotation = Rotation(ONE)
    rotation.source.fails = True
    for _ in range(3):
        with pytest.raises(AuthenticationUnavailable) as caught:
            rotation.find("one")
        assert "login.example" not in caught.value.public
    assert rotation.source.reads == 1
    assert "it cannot be read: refused" in caplog.text


def test_a_key_set_that_is_broken_does_not_replace_one_that_is_not() -> None:
    rotation = Rotation(ONE)
    assert rotation.find("one")
    for broken in (b"", b"{}", b'{"keys": []}', b'{"keys": 7}', b"<html>"):
        rotation.source.content = broken
        rotation.watch.now += 300
        assert rotation.find("one")
        rotation.settle()
        assert rotation.find("one")


@pytest.mark.parametrize(
    "other",
    [
        ONE | {"use": "enc"},
        ONE | {"key_ops": ["sign"]},
        ONE | {"key_ops": "verify"},
        ONE | {"alg": "RS512"},
        ONE | {"kty": "oct", "k": "c2VjcmV0"},
        ONE | {"n": "AQAB"},
        ONE | {"n": 7},
        ONE | {"e": "!"},
        {"kty": "RSA", "kid": "one"},
        make_jwk(make_private("short", bits=1_024), kid="one"),
        make_jwk(make_private("one", "ES256"), kid="one"),
        {},
    ],
)
def test_keys_that_do_not_fit_are_left_out(other: dict[str, Any]) -> None:
    with pytest.raises(AuthenticationUnavailable, match="usable for RS256"):
        parse_key_set(make_jwks(other).encode(), ["RS256"], "jwks.json")
    both = parse_key_set(make_jwks(other, ONE).encode(), ["RS256"], "jwks.json")
    assert list(both.keys) == [("one", "RS256")]


def test_private_members_are_not_read() -> None:
    private = ONE | {"d": "AQAB", "p": "AQAB"}
    found = parse_key_set(make_jwks(private).encode(), ["RS256"], "jwks.json")
    assert not hasattr(found.keys["one", "RS256"].key, "sign")


def test_tokens_follow_the_keys_of_a_file(tmp_path: Path) -> None:
    watch = Watch()
    opened = open_files(tmp_path, watch=watch)
    by_one, by_two = sign(), sign(None, make_private("two"), kid="two")
    assert call(opened, by_one).name == "ada"
    with pytest.raises(Unauthenticated, match="does not have"):
        call(opened, by_two)
    # Replaced: the first key was revoked.
    (tmp_path / "jwks.json").write_text(make_jwks(TWO))
    watch.now += 1
    assert call(opened, by_two).name == "ada"
    with pytest.raises(Unauthenticated, match="does not have"):
        call(opened, by_one)


def test_a_file_that_others_may_write_is_not_read_again(tmp_path: Path) -> None:
    watch = Watch()
    opened = open_files(tmp_path, watch=watch)
    assert call(opened, sign()).name == "ada"
    (tmp_path / "jwks.json").write_text(make_jwks(TWO))
    (tmp_path / "jwks.json").chmod(0o666)
    watch.now += 29
    assert call(opened, sign()).name == "ada"
    watch.now += 1
    with pytest.raises(AuthenticationUnavailable):
        call(opened, sign())


class Site(ThreadingHTTPServer):
    """A site on this machine that has keys."""

    content = make_jwks(ONE).encode()
    status = 200
    location = ""
    requests = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/jwks.json"


class _Handler(BaseHTTPRequestHandler):
    server: Site  # pyright: ignore[reportIncompatibleVariableOverride] - always this one

    def do_GET(self) -> None:
        self.server.requests += 1
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - its name there
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_keys_are_read_from_a_url(tmp_path: Path, site: Site) -> None:
    watch = Watch()
    text = LOGIN.replace('jwks_file = "jwks.json"', f'jwks_url = "{site.url}"')
    opened = open_files(tmp_path, text, watch=watch)
    assert site.requests == 0
    assert call(opened, sign()).name == "ada"
    # Rotated: an unknown key id makes it be read again.
    site.content = make_jwks(ONE, TWO).encode()
    by_two = sign(None, make_private("two"), kid="two")
    with pytest.raises(Unauthenticated):
        call(opened, by_two)
    watch.now += 30
    assert call(opened, by_two).name == "ada"
    assert site.requests == 2


@pytest.mark.parametrize("status", [301, 302, 307, 308, 401, 404, 500])
def test_only_a_response_with_keys_is_taken(site: Site, status: int) -> None:
    site.status = status
    if 300 <= status < 400:
        site.location = site.url
    with pytest.raises(AuthenticationUnavailable, match=f"it answers with status {status}"):
        JwksUrl(site.url).read()
    assert site.requests == 1


def test_a_response_is_bounded(site: Site) -> None:
    site.content = b" " * 262_145
    with pytest.raises(AuthenticationUnavailable, match="more than 262144 bytes"):
        JwksUrl(site.url).read()


def test_a_site_that_takes_too_long_is_given_up(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 100.0])
    monkeypatch.setattr(_key_rotation.time, "monotonic", lambda: next(times))
    with pytest.raises(AuthenticationUnavailable, match="takes too long"):
        JwksUrl(site.url).read()


def test_a_site_that_is_not_there_is_told(site: Site) -> None:
    site.server_close()
    with pytest.raises(AuthenticationUnavailable, match="it cannot be read"):
        JwksUrl(site.url).read()


def test_a_proxy_is_not_asked_for_this_machine(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert json.loads(JwksUrl(site.url).read())["keys"]


@pytest.mark.parametrize(
    ("url", "is_safe"),
    [
        ("https://login.example/jwks.json", True),
        ("http://localhost:8080/jwks", True),
        ("http://[::1]:8080/jwks", True),
        ("http://127.0.0.2/jwks", True),
        ("http://login.example/jwks", False),
        ("http://localhost.example/jwks", False),
        ("http://127.0.0.1@login.example/jwks", False),
        ("http://10.0.0.1/jwks", False),
        ("ftp://127.0.0.1/jwks", False),
        ("file:///etc/passwd", False),
        ("https:///jwks", False),
        ("https://a:99999/jwks", False),
        ("https://[::1/jwks", False),
        ("https://a/jw\nks", False),
        ("jwks.json", False),
    ],
)
def test_urls_are_of_https_or_of_this_machine(url: str, *, is_safe: bool) -> None:
    assert is_safe_url(url) is is_safe


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(AuthenticationUnavailable, match="it cannot be read: No such file"):
        JwksFile(str(tmp_path / "none.json")).read()
