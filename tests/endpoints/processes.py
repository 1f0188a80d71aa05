"""Start another server as a process, wait until it answers, and stop it."""

from __future__ import annotations

import ctypes
import http.client
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

PORT = "{port}"

_HOST = "127.0.0.1"
_START_SECONDS = 60.0
_POLL_SECONDS = 0.05
_PR_SET_PDEATHSIG = 1


class NotStarted(RuntimeError):
    """A server exited or did not answer in time."""


@contextmanager
def running(name: str, command: list[str]) -> Generator[str]:
    """Start a server on a free port and yield its URL; stop it at the end.

    Replaces `{port}` in the command. Raises NotStarted with the server's output.
    """
    port = _find_port()
    with tempfile.TemporaryDirectory(prefix="keyfold-engine-") as folder:
        log = Path(folder, "log")
        with log.open("wb") as output:
            process = subprocess.Popen(
                [each.replace(PORT, str(port)) for each in command],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # The server ends with this process, however that ends.
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - one call, which takes no lock
            )
        try:
            deadline = time.monotonic() + _START_SECONDS
            while not _answers(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    printed = log.read_text(errors="replace")
                    raise NotStarted(f"{name} does not start:\n{printed}")
                time.sleep(_POLL_SECONDS)
            yield f"http://{_HOST}:{port}"
        finally:
            # It has no data that a graceful shutdown would save.
            process.kill()
            process.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _find_port() -> int:
    with socket.create_server((_HOST, 0)) as listener:
        return int(listener.getsockname()[1])


def _answers(port: int) -> bool:
    headers = {
        "X-Amz-Target": "DynamoDB_20120810.ListTables",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Date": "20260101T000000Z",
        "Authorization": "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/dynamodb/aws4_request,"
        " SignedHeaders=host, Signature=0",
    }
    with (
        suppress(OSError, http.client.HTTPException),
        closing(http.client.HTTPConnection(_HOST, port, timeout=5)) as connection,
    ):
        connection.request("POST", "/", b"{}", headers)
        return connection.getresponse().status == http.HTTPStatus.OK
    return False
