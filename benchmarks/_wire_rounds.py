"""The measurements: servers are started, filled, and measured in turn."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from benchmarks._orders import Draw
from benchmarks._rounds import Row, rotate
from benchmarks._wire_contestants import (
    BARE,
    KEYFOLD_DURABLE,
    KEYFOLD_PROCESS,
    SIGNED_TENANT,
    SINGLE_COMMITS,
    Contestant,
    bare_server,
    keyfold_servers,
    signed_servers,
    single_commit_server,
)
from benchmarks._wire_load import Job, Sample
from benchmarks._wire_process import Running, check, fill, start
from benchmarks._wire_requests import MIXED, OPERATIONS, make_body

CONNECTIONS = (1, 8, 64)
BARE_CONNECTIONS = 16
GROUP_CONNECTIONS = 64
MILLION = 1_000_000

FRESH_CONNECTIONS = 8

_STARTS = 3
_LEAD_SECONDS = 0.08
_SECONDS = 0.25
# More rounds where only two servers are compared, whose figures are closer to each other.
_PAIR_ROUNDS_MORE = 3
_MILLION_SECONDS = 300.0
# A sample during which other programs used more of a processor than this is repeated, within limits
# for each sample and for all of them together.
_FOREIGN_SHARE = 0.2
_TRIES = 4
_AGAIN_SECONDS = 40.0

# An operation and a number of connections.
Cell = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Million:
    """The state of a server after a million requests, or as many as there was time for."""

    requests: int
    seconds: float
    before_mib: float
    after_mib: float


@dataclass(slots=True)
class Results:
    """All measurements: rows of samples by server, and the memory of each server."""

    # By operation and connections.
    cells: dict[Cell, Row] = field(
        default_factory=lambda: {
            (operation, connections): Row({"operation": operation, "connections": connections})
            for operation in OPERATIONS
            for connections in CONNECTIONS
        }
    )
    # Right after a server's start, by operation.
    fresh: dict[str, Row] = field(
        default_factory=lambda: {each: Row({"operation": each}) for each in OPERATIONS}
    )
    start_ms: Row = field(default_factory=lambda: Row({}, unit="ms"))
    # Servers that are compared with each other alone.
    bare: Row = field(default_factory=lambda: Row({}, (KEYFOLD_PROCESS, BARE)))
    group: Row = field(default_factory=lambda: Row({}, (KEYFOLD_DURABLE, SINGLE_COMMITS)))
    signed: Row = field(default_factory=lambda: Row({}, (SIGNED_TENANT, KEYFOLD_PROCESS)))
    idle_mib: dict[str, float] = field(default_factory=dict[str, float])
    loaded_mib: dict[str, float] = field(default_factory=dict[str, float])
    million: Million | None = None
    # The time spent on repeating samples because the machine was busy.
    again_seconds: float = 0.0

    @property
    def servers(self) -> list[str]:
        """The names of all servers that were measured side by side."""
        return list(self.idle_mib)


class Load:
    """The process that sends the requests."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks._wire_load"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def run(self, job: Job) -> Sample:
        """Run a job; return its sample."""
        assert self._process.stdin is not None  # both are pipes
        assert self._process.stdout is not None
        print(json.dumps(asdict(job)), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the load process ended: {job}")
        return Sample(**json.loads(answer))


@dataclass(frozen=True, slots=True)
class Bench:
    """Measures servers in a folder, for a number of rounds."""

    folder: Path
    rounds: int
    load: Load
    results: Results

    def measure_starts(self, contestants: list[Contestant]) -> None:
        """Measure start-up times, and speeds right after the start."""
        for number in range(_STARTS):
            self._say(f"start {number + 1} of {_STARTS}")
            started: dict[str, float] = {}
            samples: dict[str, dict[str, Sample]] = {each: {} for each in OPERATIONS}
            for contestant in contestants:
                with self._started(contestant, f"start{number}") as server:
                    started[server.name] = server.start_ms
                    fill(server)
                    for operation, found in samples.items():
                        job = self._job(server, operation, FRESH_CONNECTIONS, lead_seconds=0.0)
                        found[server.name] = self.load.run(job)
            self.results.start_ms.add(started)
            for operation, found in samples.items():
                self.results.fresh[operation].add(found)

    def measure_all(self, contestants: list[Contestant]) -> None:
        """Measure each operation at each number of connections, and memory."""
        with ExitStack() as stack:
            servers: list[Running] = []
            for contestant in contestants:
                server = stack.enter_context(self._started(contestant, "round"))
                self._say(f"filling {server.name}, and getting it warm")
                self._prepare(server)
                self.results.idle_mib[server.name] = server.rss_mib()
                servers.append(server)
            for number in range(self.rounds):
                self._say(f"round {number + 1} of {self.rounds}")
                for place, cell in enumerate(self.results.cells):
                    # Rotated, so that it is not always the same server that follows a busy one.
                    self._measure(self.results.cells[cell], rotate(servers, number + place), *cell)
            for server in servers:
                self.results.loaded_mib[server.name] = server.rss_mib()

    def measure_bare(self) -> None:
        """Measure GetItem against the server that responds with constant bytes."""
        self._say("comparing with constant bytes")
        with ExitStack() as stack:
            keyfold, _, _ = keyfold_servers()
            ours = stack.enter_context(self._started(keyfold, "bare"))
            self._prepare(ours)
            size = ours.measure_answer("GetItem", make_body("GetItem", Draw(0)))
            bare = stack.enter_context(self._started(bare_server(size), "bare"))
            self._measure_pair(self.results.bare, [ours, bare], "GetItem", BARE_CONNECTIONS)

    def measure_group_commit(self) -> None:
        """Measure durable writes with and without group commit."""
        self._say("comparing with single commits")
        with ExitStack() as stack:
            _, durable, _ = keyfold_servers()
            servers = [
                stack.enter_context(self._started(each, "group"))
                for each in (durable, single_commit_server())
            ]
            for server in servers:
                self._prepare(server)
            self._measure_pair(
                self.results.group, servers, "PutItem", GROUP_CONNECTIONS, spins=False
            )

    def measure_signed(self) -> None:
        """Measure GetItem that is signed, authorised and counted, against a server without keys."""
        self._say("comparing with signed requests")
        with ExitStack() as stack:
            contestants = signed_servers(self.folder / "signed.db")
            servers: list[Running] = []
            for contestant in contestants:
                servers.append(stack.enter_context(self._started(contestant, "signed")))
                if not contestant.access_key:
                    # All have the same file, which this server fills.
                    self._prepare(servers[-1])
            for server in servers:
                self._ask(server, "GetItem", BARE_CONNECTIONS)
            self._measure_pair(self.results.signed, servers, "GetItem", BARE_CONNECTIONS)

    def measure_million(self) -> None:
        """Send a million requests to one server, and measure its memory."""
        self._say("sending a million requests")
        keyfold, _, _ = keyfold_servers()
        with self._started(keyfold, "million") as server:
            self._prepare(server)
            before = server.rss_mib()
            sample = self.load.run(
                Job(server.port, server.pid, MIXED, 64, 0.0, _MILLION_SECONDS, most=MILLION)
            )
            self.results.million = Million(
                sample.requests, sample.seconds, before, server.rss_mib()
            )

    def _measure_pair(
        self,
        row: Row,
        servers: list[Running],
        operation: str,
        connections: int,
        *,
        spins: bool = True,
    ) -> None:
        """Measure servers that are compared with each other alone.

        A server that is slower than the load has to wake it for each response, which can take
        longer than everything else, unless the load spins.
        """
        for number in range(self.rounds * _PAIR_ROUNDS_MORE):
            self._measure(row, rotate(servers, number), operation, connections, spins=spins)

    def _measure(
        self,
        row: Row,
        servers: list[Running],
        operation: str,
        connections: int,
        *,
        spins: bool = False,
    ) -> None:
        row.add(
            {
                server.name: self._ask(server, operation, connections, spins=spins)
                for server in servers
            }
        )

    def _ask(
        self, server: Running, operation: str, connections: int, *, spins: bool = False
    ) -> Sample:
        job = self._job(server, operation, connections, spins=spins)
        samples = [self.load.run(job)]
        while (
            samples[-1].foreign_share > _FOREIGN_SHARE
            and len(samples) < _TRIES
            and self.results.again_seconds < _AGAIN_SECONDS
        ):
            samples.append(self.load.run(job))
            self.results.again_seconds += samples[-1].seconds + _LEAD_SECONDS
        return min(samples, key=lambda each: each.foreign_share)

    def _job(
        self,
        server: Running,
        operation: str,
        connections: int,
        *,
        lead_seconds: float = _LEAD_SECONDS,
        spins: bool = False,
    ) -> Job:
        return Job(
            port=server.port,
            pid=server.pid,
            operation=operation,
            connections=connections,
            lead_seconds=lead_seconds,
            seconds=_SECONDS,
            spins=spins,
            access_key=server.contestant.access_key,
        )

    def _prepare(self, server: Running) -> None:
        fill(server)
        check(server)
        self.load.run(Job(server.port, server.pid, MIXED, 8, 0.0, server.contestant.warm_seconds))

    @contextmanager
    def _started(self, contestant: Contestant, purpose: str) -> Generator[Running]:
        place = "".join(letter for letter in contestant.name if letter.isalnum())
        server = start(contestant, self.folder / f"{purpose}-{place}")
        try:
            yield server
        finally:
            server.stop()

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr)


def measure_servers(
    folder: Path, contestants: list[Contestant], rounds: int, *, million: bool
) -> Results:
    """Measure everything."""
    results = Results()
    with Load() as load:
        bench = Bench(folder, rounds, load, results)
        bench.measure_starts(contestants)
        bench.measure_all(contestants)
        bench.measure_bare()
        bench.measure_group_commit()
        bench.measure_signed()
        if million:
            bench.measure_million()
    return results
