"""DynamoDB Local: installed by Maven, started without a network, asked over a unix socket.

The server runs in a network namespace of its own that holds a loopback device and nothing
else, so it can neither be reached nor reach anyone. A relay in that namespace listens on a
unix socket, which is a file and therefore visible from outside.

    with DynamoDBLocal() as local:
        answer = local.ask("ListTables", {})

Needs Linux, Java 17 or newer (`JAVA` names another than the one on the path) and, the first
time, Maven.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import shutil
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

VERSION = "3.3.1"
NAME = f"DynamoDB Local {VERSION}"

_MAIN = "software.amazon.dynamodb.services.local.main.ServerRunner"
_PORT = 8000  # inside its own namespace, where nothing else listens
_START_SECONDS = 60


_STREAM_OPERATIONS = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}


def target_of(operation: str) -> str:
    """What clients name an operation by: streams have an API of their own."""
    service = "DynamoDBStreams" if operation in _STREAM_OPERATIONS else "DynamoDB"
    return f"{service}_20120810.{operation}"


class LocalUnavailable(RuntimeError):
    """DynamoDB Local could not be installed or started."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the status and the parsed body."""

    status: int
    body: dict[str, Any]


def library() -> Path:
    """The folder with the jars, installed on the first call.

    Raises LocalUnavailable when Maven is missing or fails.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
    home = cache / "keyfold" / f"dynamodb-local-{VERSION}"
    if (home / f"DynamoDBLocal-{VERSION}.jar").exists():
        return home
    maven = shutil.which("mvn")
    if maven is None:
        raise LocalUnavailable(f"{NAME} is not installed and Maven, which fetches it, is missing.")
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as build:
        pom = Path(build, "pom.xml")
        shutil.copy(Path(__file__).with_name("pom.xml"), pom)
        fetched = Path(build, "lib")
        command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        done = subprocess.run(
            [*command, f"-DoutputDirectory={fetched}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0 or not (fetched / f"DynamoDBLocal-{VERSION}.jar").exists():
            raise LocalUnavailable(f"Maven could not fetch {NAME}:\n{done.stdout}{done.stderr}")
        # The loader asks for the native library by a name without its version.
        for native in fetched.glob("libsqlite4java-*-1.0.*"):
            stem, _, extension = native.name.partition("-1.0.")
            shutil.copy(native, fetched / f"{stem}.{extension.rsplit('.', 1)[1]}")
        fetched.rename(home)
    return home


class DynamoDBLocal:
    """A running server, stopped on leaving the `with` block.

    Each `account` has tables of its own; everything is in memory.
    """

    def __init__(self, account: str = "keyfold") -> None:
        self.account = account
        self._folder = tempfile.TemporaryDirectory(prefix="keyfold-oracle-")
        self._socket = str(Path(self._folder.name, "socket"))
        self._log = Path(self._folder.name, "log")
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: _UnixConnection | None = None

    def __enter__(self) -> Self:
        unshare = shutil.which("unshare")
        if unshare is None:
            raise LocalUnavailable(f"{NAME} is started by unshare(1), which this system lacks.")
        # Only root may make a network namespace alone; others make a user namespace with it.
        namespaces = ["--net"] if os.geteuid() == 0 else ["--net", "--map-root-user"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [unshare, *namespaces, sys.executable, __file__, self._socket, str(library())],
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
        """Send `request` unchecked and give back what the server says."""
        return self.ask_bytes(operation, json.dumps(request).encode(), account)

    def ask_bytes(self, operation: str, body: bytes, account: str | None = None) -> Answer:
        """The same with a body that need not be JSON."""
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


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        near, far = await asyncio.open_connection("127.0.0.1", _PORT)
    except OSError:  # the server is still starting
        writer.close()
        return
    await asyncio.gather(_pipe(reader, far), _pipe(near, writer))


async def _serve(socket_path: str, jars: str) -> None:
    """Run the server in this namespace and relay `socket_path` to it."""
    up = await asyncio.create_subprocess_exec("ip", "link", "set", "lo", "up")
    if await up.wait() != 0:
        raise LocalUnavailable("the loopback device could not be brought up")
    relay = await asyncio.start_unix_server(_relay, socket_path)
    server = await asyncio.create_subprocess_exec(
        os.environ.get("JAVA", "java"),
        "-Xmx768m",
        "-XX:+UseSerialGC",
        f"-Djava.library.path={jars}",
        "-cp",
        f"{jars}/*",
        _MAIN,
        "-inMemory",
        "-disableTelemetry",
        "-port",
        str(_PORT),
    )
    async with relay:
        await server.wait()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], sys.argv[2]))
