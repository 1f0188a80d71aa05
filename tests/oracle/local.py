"""DynamoDB Local: started without a network, asked over a unix socket.

The server runs in a separate network namespace with nothing but a loopback device, so it can
neither reach the network nor be reached from it. A relay in that namespace listens on a unix
socket, which is a file and therefore visible from outside.

    with DynamoDBLocal() as local:
        answer = local.ask("ListTables", {})

Needs Linux, and the requirements of `tests/endpoints/dynamodb_local.py`.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.endpoints.dynamodb_local import NAME, LocalUnavailable, library, make_command
from tests.endpoints.namespaces import LACKING, find_namespace_command

_PORT = 8000  # inside its own namespace, where nothing else listens
_START_SECONDS = 60
_RELAY = Path(__file__).with_name("relay.py")

_STREAM_OPERATIONS = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}


def target_of(operation: str) -> str:
    """Return the X-Amz-Target of an operation; streams have a separate API."""
    service = "DynamoDBStreams" if operation in _STREAM_OPERATIONS else "DynamoDB"
    return f"{service}_20120810.{operation}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: the status and the parsed body."""

    status: int
    body: dict[str, Any]


class DynamoDBLocal:
    """A running server, stopped on leaving the `with` block.

    Each `account` has separate tables; everything is in memory.
    """

    def __init__(self, account: str = "keyfold") -> None:
        self.account = account
        self._folder = tempfile.TemporaryDirectory(prefix="keyfold-oracle-")
        self._socket = str(Path(self._folder.name, "socket"))
        self._log = Path(self._folder.name, "log")
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: _UnixConnection | None = None

    def __enter__(self) -> Self:
        namespace = find_namespace_command()
        if namespace is None:
            raise LocalUnavailable(f"{NAME} cannot be started: {LACKING}.")
        java = ("-Xmx768m", "-XX:+UseSerialGC")
        command = make_command(library(), str(_PORT), "-inMemory", java=java)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*namespace, sys.executable, str(_RELAY), self._socket, str(_PORT), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.ask("ListTables", {})
                return self
            time.sleep(0.2)
        log_text = self._log.read_text(errors="replace")
        self.stop()
        raise LocalUnavailable(f"{NAME} did not start:\n{log_text}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the server and forget its data."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        self._folder.cleanup()

    def ask(self, operation: str, request: Mapping[str, Any], account: str | None = None) -> Answer:
        """Send `request` without validation and return the server's response."""
        return self.ask_bytes(operation, json.dumps(request).encode(), account)

    def ask_bytes(self, operation: str, body: bytes, account: str | None = None) -> Answer:
        """Send a body, which need not be JSON, and return the response."""
        credential = f"{account or self.account}/20260101/us-east-1/dynamodb/aws4_request"
        headers = {
            "Host": "localhost",
            "X-Amz-Target": target_of(operation),
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Date": "20260101T000000Z",
            "Authorization": f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=0",
        }
        if self._connection is None:
            self._connection = _UnixConnection(self._socket)
        try:
            self._connection.request("POST", "/", body, headers)
            response = self._connection.getresponse()
            return Answer(response.status, json.loads(response.read()))
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            raise


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
