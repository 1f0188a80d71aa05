"""A server process: start it, call it, measure its memory, stop it."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._orders import TABLE, Draw, create_table_request, make_batches, make_order
from benchmarks._wire_contestants import Contestant
from benchmarks._wire_requests import SIZE, encode_request, make_body

_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_BETWEEN_TRIES = 0.001
_MIB = 1 << 20


class NotStarted(RuntimeError):
    """A server exited or did not respond instead of starting."""


class NotAgreed(RuntimeError):
    """A server's response differs from that of the others."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that is up."""

    contestant: Contestant
    process: subprocess.Popen[bytes]
    port: int
    start_ms: float

    @property
    def name(self) -> str:
        """The name of the server."""
        return self.contestant.name

    @property
    def pid(self) -> int:
        """The id of the process to measure."""
        return self.process.pid

    def rss_mib(self) -> float:
        """Return the memory of the process, including mapped pages of files."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None  # the process is alive
        return int(found[1]) * 1_024 / _MIB

    def measure_answer(self, operation: str, request: dict[str, Any]) -> int:
        """Return the bytes of the response to a request, head and body."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=_START_SECONDS) as client:
            client.sendall(encode_request(operation, request))
            client.shutdown(socket.SHUT_WR)
            return sum(len(part) for part in iter(lambda: client.recv(1 << 16), b""))

    def ask(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return the response to one request; raises NotAgreed for an error."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=_START_SECONDS) as client:
            client.sendall(encode_request(operation, request))
            response = http.client.HTTPResponse(client)
            response.begin()
            body = response.read()
            if response.status != 200:
                raise NotAgreed(f"{self.name}, {operation}: {body.decode('latin-1')}")
            return json.loads(body)

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(contestant: Contestant, folder: Path) -> Running:
    """Start a server in its own folder, and wait for its first response."""
    folder.mkdir()
    port = _free_port()
    fill = {"{port}": str(port), "{folder}": str(folder)}
    command = [_filled(each, fill) for each in contestant.command]
    log = folder / "log"
    request = encode_request("ListTables", {}, contestant.access_key)
    with log.open("wb") as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    while not _answers(port, request):
        if process.poll() is not None or time.perf_counter() - began > _START_SECONDS:
            process.kill()
            process.wait()
            raise NotStarted(f"{contestant.name}: {log.read_text(errors='replace')}")
        time.sleep(_BETWEEN_TRIES)
    return Running(contestant, process, port, (time.perf_counter() - began) * 1_000)


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _answers(port: int, request: bytes) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(request)
        return client.recv(64).split(b" ")[1:2] == [b"200"]
    return False


def fill(server: Running) -> None:
    """Create the table and put the orders into it."""
    server.ask("CreateTable", create_table_request(indexed=False))
    while server.ask("DescribeTable", {"TableName": TABLE})["Table"]["TableStatus"] != "ACTIVE":
        time.sleep(0.05)
    for batch in make_batches(SIZE):
        server.ask("BatchWriteItem", batch)


def check(server: Running) -> None:
    """Check the responses of a filled server; raises NotAgreed."""
    number = SIZE // 2
    server.ask("PutItem", make_body("PutItem", Draw(number)))
    got = server.ask("GetItem", make_body("GetItem", Draw(number)))
    found = server.ask("Query", make_body("Query", Draw(number)))
    first = number - number % 20
    expected = [_plain(make_order(Draw(each))) for each in range(first, first + 20)]
    if _plain(got["Item"]) != _plain(make_order(Draw(number))):
        raise NotAgreed(f"{server.name}, GetItem: {got}")
    if [_plain(item) for item in found["Items"]] != expected:
        raise NotAgreed(f"{server.name}, Query: {found}")


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item with the members of its sets sorted; servers return them in any order."""
    return {
        name: {kind: sorted(value) if kind == "SS" else value for kind, value in typed.items()}
        for name, typed in item.items()
    }
