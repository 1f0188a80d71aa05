"""`keyfold api` and a signal: what was accepted is finished, and what would never end is ended."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

COMMAND = [sys.executable, "-m", "keyfold", "api", "market", "--port", "0", "--json"]
PRINCIPAL = ["--as", "customer", "--id", "user=ada"]
CHANGES = b"GET /changes HTTP/1.1\r\nhost: localhost\r\n\r\n"
ENDLESS = (
    b"POST /user/change-user HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"content-length: 1000\r\n\r\n{"
)


@contextmanager
def serving(tmp_path: Path) -> Generator[tuple[subprocess.Popen[str], int]]:
    words = [*COMMAND, "--db", str(tmp_path / "market.db"), *PRINCIPAL]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            url: str = json.loads(process.stdout.readline())["url"]
            yield process, int(url.rpartition(":")[2])
        finally:
            process.kill()


def test_a_signal_ends_events_and_requests_that_never_arrive(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, port), ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 60)) for _ in range(5)
        ]
        events, endless, partial, unread, _ = connections
        for connection, sent in (
            (events, CHANGES),
            (endless, ENDLESS),
            (partial, CHANGES[:10]),
            (unread, CHANGES * 3),
        ):
            connection.sendall(sent)
        assert events.recv(15) == b"HTTP/1.1 200 OK"
        process.send_signal(signal.SIGTERM)
        # Well before a supervisor would kill it.
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
        received = b""
        while piece := events.recv(65_536):
            received += piece
        # The stream has its end: it was not cut off.
        assert received.endswith(b"0\r\n\r\n")
