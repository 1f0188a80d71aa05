"""Servers are started, waited for and stopped; failures show their output."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request

import pytest

from tests.endpoints.processes import PORT, NotStarted, running

SERVER = """
import http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_a_server_runs_until_the_block_ends() -> None:
    with (
        running("a server", [sys.executable, "-c", SERVER, PORT]) as url,
        urllib.request.urlopen(url, b"{}", timeout=10) as answer,
    ):
        assert answer.read() == b"{}"
    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen(url, b"{}", timeout=10)


def test_a_server_that_exits_shows_its_output() -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such option')"]
    with (
        pytest.raises(NotStarted, match=r"a server does not start:\nno such option"),
        running("a server", command),
    ):
        pytest.fail("it does not run")
