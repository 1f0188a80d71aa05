"""The processor time of a call in the client, compared with other clients for Python.

python -m benchmarks.bench_client
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from typing import Any

from benchmarks._client_peers import CASES, ITEMS, PEERS
from benchmarks._orders import create_table_request, make_batches
from benchmarks._report import (
    JUDGED,
    Report,
    describe_machine,
    judge,
    make_case_table,
    make_parser,
    make_table,
    show,
    to_json,
)
from benchmarks._rounds import Row, Target, rotate
from keyfold.wire.client import Client
from tests.clients.environments import Unavailable, make_python

ROOT = Path(__file__).parents[1]
TLS = ROOT / "tests/unit/wire/server/tls"
FLIGHTS = (1, 16)
# Targets: our client, the other client, and how many times as much processor time it must take.
TARGETS = (
    ("keyfold", "boto3", Target(10.0, is_least=True)),
    ("keyfold", "pydynox", Target(3.0, is_least=True)),
    ("keyfold store", "PynamoDB", Target(5.0, is_least=True)),
)
IMPORTS = {
    "keyfold with its client": "import keyfold, keyfold.wire.client",
    "keyfold.open with pydantic": "import keyfold, keyfold.wire.client; keyfold.open",
    "boto3": "import boto3",
}
IMPORT_TARGET = Target(2.0, is_least=True)

_MODULES = {"PynamoDB": "pynamodb", "pydynox": "pydynox", "aiodynamo": "aiodynamo"}
# Short names for the columns of tables.
_SHORT = {
    "keyfold store": "store",
    "keyfold async": "async",
    "keyfold store async": "async store",
    "boto3 resource": "resource",
}
_CALLS = {1: 160, 16: 320}
_WARM_UP_CALLS = 8
_IMPORT_ROUNDS = 15
_CPU: Callable[[dict[str, float]], float] = itemgetter("cpu_us")
_RATE: Callable[[dict[str, float]], float] = itemgetter("per_second")


@dataclass(frozen=True, slots=True)
class ClientCase:
    """What is measured, over one kind of connection with a number of calls in flight."""

    call: str
    is_https: bool
    flight: int
    row: Row


class Peer:
    """A client in its own process."""

    def __init__(self, name: str, interpreter: str, url: str) -> None:
        self.name, self.is_https = name, url.startswith("https")
        command = [interpreter, "-m", "benchmarks._client_peers", name, url]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=_env()
        )
        self._read()

    def measure(self, case: str, flight: int, seed: int) -> dict[str, float]:
        """Return the processor time of one call."""
        asked = {"case": case, "flight": flight, "seed": seed}
        asked |= {"calls": _CALLS[flight], "warm": _WARM_UP_CALLS}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self._read()

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _read(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise PeerEnded(self.name)
        return json.loads(line)


class PeerEnded(RuntimeError):
    """A peer exited; its output says why."""


def main() -> None:
    """Measure, and print tables or JSON."""
    options = _parse_options()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        urls = [stack.enter_context(_serve(*flags)) for flags in ((), _tls_flags())]
        for url in urls:
            _fill(url)
        peers = list(_start_peers(stack, urls, options.peers))
        print(f"{options.rounds} rounds of {len(peers)} peers", file=sys.stderr)
        rows = _measure(peers, options.rounds)
        imports = _measure_imports(folder, options.import_rounds)
    _make_report(rows, imports).publish(options)


def _env() -> dict[str, str]:
    certificate = str(TLS / "cert.pem")
    return {
        **os.environ,
        "AWS_ACCESS_KEY_ID": "benchmark",
        "AWS_SECRET_ACCESS_KEY": "benchmark",
        "AWS_CA_BUNDLE": certificate,
        "SSL_CERT_FILE": certificate,
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src"))),
    }


def _tls_flags() -> tuple[str, ...]:
    return ("--tls-cert", str(TLS / "cert.pem"), "--tls-key", str(TLS / "key.pem"))


@contextmanager
def _serve(*flags: str) -> Generator[str]:
    """Run our server; yield its URL."""
    command = [sys.executable, "-m", "keyfold", "serve", "--memory", "--port", "0", "--json"]
    with subprocess.Popen([*command, *flags], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            # By name, because its certificate is for that name.
            yield json.loads(process.stdout.readline())["url"].replace("127.0.0.1", "localhost")
        finally:
            process.terminate()


def _fill(url: str) -> None:
    os.environ["AWS_CA_BUNDLE"] = str(TLS / "cert.pem")
    with Client(url) as client:
        client.execute("CreateTable", create_table_request(indexed=False))
        for batch in make_batches(ITEMS):
            client.execute("BatchWriteItem", batch)


def _start_peers(stack: ExitStack, urls: list[str], names: list[str]) -> Iterator[Peer]:
    for name in names or PEERS:
        try:
            interpreter = _find_interpreter(name)
            for url in urls:
                peer = Peer(name, interpreter, url)
                stack.callback(peer.stop)
                try:
                    peer.measure(CASES[0], 1, 0)
                except PeerEnded:
                    print(f"{name}: it does not speak to {url}", file=sys.stderr)
                else:
                    yield peer
        except Unavailable as reason:
            print(f"{name}: left out, {reason}", file=sys.stderr)


def _find_interpreter(name: str) -> str:
    if name == "aioboto3":
        return make_python("aioboto3")
    module = _MODULES.get(name)
    if module is not None and find_spec(module) is None:
        raise Unavailable("it is not installed; `make bench-client` installs it")
    return sys.executable


def _measure(peers: list[Peer], rounds: int) -> list[Row]:
    cases = [
        ClientCase(call, is_https, flight, Row({"name": f"{call}, {kind}, {flight}"}))
        for call in CASES
        for is_https, kind in ((False, "plain"), (True, "TLS"))
        for flight in FLIGHTS
    ]
    for number in range(rounds):
        for case in cases:
            order = [peer for peer in rotate(peers, number) if peer.is_https is case.is_https]
            case.row.add(
                {peer.name: peer.measure(case.call, case.flight, number) for peer in order}
            )
    return [case.row for case in cases]


def _measure_imports(folder: Path, rounds: int) -> Row:
    """Return the milliseconds that imports take beyond an empty program."""
    env = {**_env(), "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    # The first run compiles the imported modules, as an installation would.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    programs = {"": "pass", **IMPORTS}
    row = Row({"name": "import"}, ("boto3", next(iter(IMPORTS))), IMPORT_TARGET, "ms")
    for number in range(rounds + 1):
        taken: dict[str, float] = {}
        for name in rotate([*programs], number):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", programs[name]], check=True, env=env, cwd=folder)
            taken[name] = (time.perf_counter() - start) * 1_000
        empty = taken.pop("")
        if number:
            row.add({name: each - empty for name, each in taken.items()})
    return row


def _make_report(rows: list[Row], imports: Row) -> Report:
    packages = ("boto3", "pynamodb", "pydynox", "aiodynamo", "orjson", "pydantic")
    measured = {name for row in rows for name in row.contestants}
    peers = [name for name in PEERS if name in measured]
    cells = [
        [
            f"{row.labels['name']}: {theirs} / {ours}",
            *judge(row.ratio((theirs, ours), _CPU), target),
        ]
        for ours, theirs, target in TARGETS
        for row in rows
        if row.ratio((theirs, ours), _CPU) is not None
    ]
    tables = [
        _make_peer_table(rows, peers, "µs of CPU a call", _CPU),
        _make_peer_table(rows, peers, "calls a second", _RATE),
        make_table(("times as much CPU", "ratio", *JUDGED), cells),
        make_case_table(
            [imports], {"name": "ms"} | {name: name for name in IMPORTS}, "boto3 / first"
        ),
    ]
    data = {"cases": [_to_json(row) for row in rows], "imports": to_json(imports)}
    return Report("bench_client", describe_machine(*packages), tables, data)


def _to_json(row: Row) -> dict[str, Any]:
    figures = {
        measure: {name: row.figure(name, itemgetter(measure)) for name in row.contestants}
        for measure in ("cpu_us", "per_second")
    }
    return row.labels | {
        measure: {name: round(each.median, 1) for name, each in found.items() if each}
        for measure, found in figures.items()
    }


def _make_peer_table(
    rows: list[Row], peers: list[str], title: str, read: Callable[[dict[str, float]], float]
) -> str:
    cells = [
        [str(row.labels["name"]), *(show(row.figure(name, read)) for name in peers)] for row in rows
    ]
    return make_table([title, *(_SHORT.get(name, name) for name in peers)], cells)


def _parse_options() -> argparse.Namespace:
    parser = make_parser("bench_client", __doc__, rounds=15)
    parser.add_argument(
        "--import-rounds",
        type=int,
        default=_IMPORT_ROUNDS,
        help="how often imports are measured (default: %(default)s)",
    )
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=[], help="only these")
    return parser.parse_args()


if __name__ == "__main__":
    main()
