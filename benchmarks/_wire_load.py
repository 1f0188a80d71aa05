"""The load generator: one process, one loop, one request in flight on each connection.

It reads jobs as JSON, one per line, and prints the sample of each. Requests are bytes prepared
beforehand, and it reads only the status and the length of a response, so that it takes less time
than any server.
"""

from __future__ import annotations

import gc
import json
import os
import re
import select
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import cycle

from benchmarks._wire_requests import make_pool

_RECEIVED_BYTES = 1 << 18
_STUCK_SECONDS = 60.0
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_HEAD_END = b"\r\n\r\n"

_find_length = re.compile(rb"\r\ncontent-length: *([0-9]+)\r", re.IGNORECASE).search
_find_close = re.compile(rb"\r\nconnection: *close\r", re.IGNORECASE).search


class WrongAnswer(RuntimeError):
    """A server's response was not a success."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to send to which server; `pid` is the process whose processor time is read.

    Responses in the first `lead_seconds` are not counted. The job ends after `seconds`, or after
    `most` responses if that is given. With `spins` the load polls instead of sleeping, so that the
    server spends no processor time on waking it.
    """

    port: int
    pid: int
    operation: str
    connections: int
    lead_seconds: float
    seconds: float
    most: int | None = None
    spins: bool = False
    # Requests are signed by this key, or have an invalid signature.
    access_key: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """The result of a job."""

    requests: int
    seconds: float
    p50_us: float
    p99_us: float
    server_cpu_seconds: float
    load_cpu_seconds: float
    # The processor time of all other programs meanwhile.
    foreign_cpu_seconds: float

    @property
    def foreign_share(self) -> float:
        """How many processors were busy with other programs."""
        return self.foreign_cpu_seconds / self.seconds

    @property
    def per_second(self) -> float:
        """Responses per second."""
        return self.requests / self.seconds

    @property
    def cpu_us(self) -> float:
        """The server's processor time per request."""
        return self.server_cpu_seconds / self.requests * 1e6


class _Client:
    """One connection, and the state of the response to its request."""

    __slots__ = ("_buffer", "_missing", "_port", "closes", "sent_at", "socket")

    def __init__(self, port: int) -> None:
        self._port = port
        self._buffer = b""
        # The bytes of the response that are still missing, once its head has arrived.
        self._missing: int | None = None
        # Whether the server closes the connection after each response; the first one shows it.
        self.closes: bool | None = None
        self.sent_at = 0
        self.connect()

    def connect(self) -> None:
        """Open the connection, replacing an earlier one."""
        self.socket = socket.create_connection(("127.0.0.1", self._port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def receive(self) -> bool:
        """Read the bytes that have arrived; return whether the response is complete."""
        data = self.socket.recv(_RECEIVED_BYTES)
        if not data:
            raise WrongAnswer("the server closed a connection in use")
        if self._missing is None:
            data = self._buffer + data
            end = data.find(_HEAD_END)
            if end < 0:
                self._buffer = data
                return False
            if data[9:12] != b"200":
                raise WrongAnswer(data.decode("latin-1"))
            length = _find_length(data, 0, end + 2)
            if length is None:
                raise WrongAnswer(f"no Content-Length: {data[:end].decode('latin-1')}")
            if self.closes is None:
                self.closes = _find_close(data, 0, end + 2) is not None
            self._buffer = b""
            self._missing = end + len(_HEAD_END) + int(length[1]) - len(data)
        else:
            self._missing -= len(data)
        if self._missing:
            return False
        self._missing = None
        return True


class _Clients:
    """All connections of a job, and a selector for those with something to read."""

    def __init__(self, port: int, count: int) -> None:
        self._poll = select.epoll()
        self._by_handle: dict[int, _Client] = {}
        for _ in range(count):
            self._add(_Client(port))

    def __iter__(self) -> Iterator[_Client]:
        return iter(list(self._by_handle.values()))

    def wait(self, *, spins: bool) -> list[_Client]:
        """Return the connections with something to read."""
        poll = self._poll.poll
        ready = poll(0 if spins else _STUCK_SECONDS)
        if not ready:
            stuck = time.monotonic() + _STUCK_SECONDS
            while not ready:
                if time.monotonic() > stuck or not spins:
                    raise WrongAnswer(f"no answer within {_STUCK_SECONDS:.0f} s")
                ready = poll(0)
        by_handle = self._by_handle
        return [by_handle[handle] for handle, _ in ready]

    def reconnect(self, client: _Client) -> None:
        """Replace a connection that the server closes."""
        self._remove(client)
        client.connect()
        self._add(client)

    def close(self) -> None:
        for client in self:
            self._remove(client)
        self._poll.close()

    def _add(self, client: _Client) -> None:
        handle = client.socket.fileno()
        self._by_handle[handle] = client
        self._poll.register(handle, select.EPOLLIN)

    def _remove(self, client: _Client) -> None:
        handle = client.socket.fileno()
        self._poll.unregister(handle)
        del self._by_handle[handle]
        client.socket.close()


def cpu_seconds(pid: int) -> float:
    """Return the processor time of all threads of a process, more precisely than /proc has it."""
    # As clock_getcpuclockid(3) returns it on Linux: the kind of clock is in the last three bits.
    return time.clock_gettime((~pid << 3) | 2)


def _machine_cpu_seconds() -> float:
    """Return the busy time of all processors together."""
    with open("/proc/stat", encoding="ascii") as file:  # noqa: PTH123 - measured time runs
        ticks = [int(each) for each in file.readline().split()[1:9]]
    # The fourth and fifth columns are idle time and time spent waiting for a disk.
    return (sum(ticks) - ticks[3] - ticks[4]) / _TICKS_PER_SECOND


def run_job(job: Job, requests: Iterator[bytes]) -> Sample:
    """Send requests, one at a time on each connection, until the job is done."""
    clients = _Clients(job.port, job.connections)
    try:
        return _run(job, requests, clients)
    finally:
        clients.close()


def _run(job: Job, requests: Iterator[bytes], clients: _Clients) -> Sample:
    clock = time.perf_counter_ns
    begin = last = clock()
    counted_from = begin + int(job.lead_seconds * 1e9)
    end = counted_from + int(job.seconds * 1e9)
    is_counting = is_ending = False
    server_cpu = load_cpu = machine_cpu = 0.0
    waits: list[int] = []
    idle = list(clients)
    while not is_ending or len(idle) < job.connections:
        if not is_ending:
            for client in idle:
                client.sent_at = clock()
                client.socket.sendall(next(requests))
            idle = []
        for client in clients.wait(spins=job.spins):
            if client.receive():
                last = clock()
                if is_counting:
                    waits.append(last - client.sent_at)
                if client.closes:
                    clients.reconnect(client)
                idle.append(client)
        if not is_counting and last >= counted_from:
            is_counting = True
            begin = last
            machine_cpu = _machine_cpu_seconds()
            server_cpu, load_cpu = cpu_seconds(job.pid), time.process_time()
        elif last >= end or (job.most is not None and len(waits) >= job.most):
            is_ending = True
    server_cpu = cpu_seconds(job.pid) - server_cpu
    load_cpu = time.process_time() - load_cpu
    machine_cpu = _machine_cpu_seconds() - machine_cpu
    waits.sort()
    return Sample(
        requests=len(waits),
        seconds=(last - begin) / 1e9,
        p50_us=waits[len(waits) // 2] / 1_000,
        p99_us=waits[len(waits) * 99 // 100] / 1_000,
        server_cpu_seconds=server_cpu,
        load_cpu_seconds=load_cpu,
        foreign_cpu_seconds=max(0.0, machine_cpu - server_cpu - load_cpu),
    )


def main() -> None:
    """Run the jobs read from standard input until it ends."""
    pools: dict[tuple[str, str], Iterator[bytes]] = {}
    gc.disable()
    for line in sys.stdin:
        job = Job(**json.loads(line))
        # A signature is valid for minutes, so signed requests are made for each job.
        kind = job.operation, job.access_key
        if job.access_key or kind not in pools:
            pools[kind] = cycle(make_pool(*kind))
            gc.collect()
        print(json.dumps(asdict(run_job(job, pools[kind]))), flush=True)


if __name__ == "__main__":
    main()
