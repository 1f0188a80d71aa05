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
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks._client_peers import CASES, ITEMS, PEERS
from benchmarks._orders import TABLE, Draw, create_table_request, make_order
from benchmarks._readme import WIDTH, describe_machine, write_readme
from keyfold.wire.client import Client
from tests.clients.environments import Unavailable, make_python

ROOT = Path(__file__).parents[1]
TLS = ROOT / "tests/unit/wire/server/tls"
FLIGHTS = (1, 16)
# Targets: our client, the other client, and how many times as much processor time it must take.
TARGETS = (
    ("keyfold", "boto3", 10.0),
    ("keyfold", "pydynox", 3.0),
    ("keyfold store", "PynamoDB", 5.0),
)
IMPORTS = {
    "keyfold with its client": "import keyfold, keyfold.wire.client",
    "keyfold.open with pydantic": "import keyfold, keyfold.wire.client; keyfold.open",
    "boto3": "import boto3",
}
IMPORT_TARGET = 2.0

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
_BATCH = 25
_IMPORT_ROUNDS = 15


@dataclass(slots=True)
class Result:
    """One case over one kind of connection: the times of each peer, round by round."""

    case: str
    scheme: str
    flight: int
    cpu_us: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    per_second: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    @property
    def name(self) -> str:
        """The name in tables."""
        kind = "TLS" if self.scheme == "https" else "plain"
        return f"{self.case}, {kind}, {self.flight}"

    def ratio(self, ours: str, theirs: str) -> float | None:
        """How many times as much processor time the other takes; None if one was not measured."""
        if ours not in self.cpu_us or theirs not in self.cpu_us:
            return None
        return median(self.cpu_us[theirs]) / median(self.cpu_us[ours])


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
    console = Console(stderr=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        urls = [stack.enter_context(_serve(*flags)) for flags in ((), _tls_flags())]
        for url in urls:
            _fill(url)
        peers = list(_start_peers(stack, urls, options.peers, console))
        console.print(f"{options.rounds} rounds of {len(peers)} peers", style="dim")
        results = _measure(peers, options.rounds)
        imports = _measure_imports(folder, options.import_rounds)
    if options.json:
        print(json.dumps(_to_json(results, imports), indent=2))
    else:
        _show(Console(width=None if sys.stdout.isatty() else WIDTH), results, imports)
    if options.write_readme:
        write_readme("bench_client", lambda readme: _show(readme, results, imports))


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
        for first in range(0, ITEMS, _BATCH):
            puts = [
                {"PutRequest": {"Item": make_order(Draw(number))}}
                for number in range(first, first + _BATCH)
            ]
            client.execute("BatchWriteItem", {"RequestItems": {TABLE: puts}})


def _start_peers(
    stack: ExitStack, urls: list[str], names: list[str], console: Console
) -> Iterator[Peer]:
    for name in names or PEERS:
        try:
            interpreter = _find_interpreter(name)
            for url in urls:
                peer = Peer(name, interpreter, url)
                stack.callback(peer.stop)
                try:
                    peer.measure(CASES[0], 1, 0)
                except PeerEnded:
                    console.print(f"{name}: it does not speak to {url}", style="yellow")
                else:
                    yield peer
        except Unavailable as reason:
            console.print(f"{name}: left out, {reason}", style="yellow")


def _find_interpreter(name: str) -> str:
    if name == "aioboto3":
        return make_python("aioboto3")
    module = _MODULES.get(name)
    if module is not None and find_spec(module) is None:
        raise Unavailable("it is not installed; `make bench-client` installs it")
    return sys.executable


def _measure(peers: list[Peer], rounds: int) -> list[Result]:
    results = [
        Result(case, scheme, flight)
        for case in CASES
        for scheme in ("http", "https")
        for flight in FLIGHTS
    ]
    for number in range(rounds):
        # In turn, so that other load on the machine affects all equally.
        turn = number % len(peers)
        order = peers[turn:] + peers[:turn]
        for result in results:
            for peer in order:
                if peer.is_https is (result.scheme == "https"):
                    figures = peer.measure(result.case, result.flight, number)
                    result.cpu_us.setdefault(peer.name, []).append(figures["cpu_us"])
                    result.per_second.setdefault(peer.name, []).append(figures["per_second"])
    return results


def _measure_imports(folder: Path, rounds: int) -> dict[str, float]:
    """Return the milliseconds that imports take beyond an empty program."""
    env = {**_env(), "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    # The first run compiles the imported modules, as an installation would.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    programs = {"": "pass", **IMPORTS}
    taken: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, program in programs.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True, env=env, cwd=folder)
            if number:
                taken[name].append((time.perf_counter() - start) * 1_000)
    empty = median(taken.pop(""))
    return {name: median(each) - empty for name, each in taken.items()}


def _describe() -> dict[str, str]:
    names = ("boto3", "pynamodb", "pydynox", "aiodynamo", "orjson", "pydantic")
    return {**describe_machine(), **{name: version(name) for name in names if find_spec(name)}}


def _judge(results: list[Result]) -> list[tuple[Result, str, str, float, float]]:
    found = [
        (result, ours, theirs, result.ratio(ours, theirs), target)
        for result in results
        for ours, theirs, target in TARGETS
    ]
    return [(*each[:3], each[3], each[4]) for each in found if each[3] is not None]


def _to_json(results: list[Result], imports: dict[str, float]) -> dict[str, Any]:
    return {
        "machine": _describe(),
        "cases": [
            {
                "name": result.name,
                "cpu_us": {name: round(median(each), 1) for name, each in result.cpu_us.items()},
                "per_second": {
                    name: round(median(each)) for name, each in result.per_second.items()
                },
            }
            for result in results
        ],
        "targets": [
            {
                "name": result.name,
                "ours": ours,
                "theirs": theirs,
                "ratio": round(ratio, 2),
                "target": target,
                "is_met": ratio >= target,
            }
            for result, ours, theirs, ratio, target in _judge(results)
        ],
        "imports_ms": {name: round(each, 1) for name, each in imports.items()},
    }


def _show(console: Console, results: list[Result], imports: dict[str, float]) -> None:
    for name, value in _describe().items():
        console.print(f"- {name}: {value}", highlight=False)
    peers = [name for name in PEERS if any(name in result.cpu_us for result in results)]
    for title, attribute in (("µs of CPU a call", "cpu_us"), ("calls a second", "per_second")):
        table = _make_table(title, [_SHORT.get(name, name) for name in peers])
        for result in results:
            figures = [getattr(result, attribute).get(name) for name in peers]
            shown = ("" if each is None else f"{median(each):,.0f}" for each in figures)
            table.add_row(result.name, *shown)
        console.print()
        console.print(table)
    _show_targets(console, results, imports)


def _show_targets(console: Console, results: list[Result], imports: dict[str, float]) -> None:
    titles = [f"{theirs} / {ours}, at least {target:.0f}" for ours, theirs, target in TARGETS]
    table = _make_table("times as much CPU", titles)
    for result in results:
        ratios = [(result.ratio(ours, theirs), target) for ours, theirs, target in TARGETS]
        table.add_row(result.name, *(_show_ratio(*each) for each in ratios))
    console.print()
    console.print(table)
    console.print()
    for name, taken in imports.items():
        console.print(f"- import of {name}: {taken:.0f} ms", highlight=False)
    ratio = imports["boto3"] / imports["keyfold with its client"]
    met = "met" if ratio >= IMPORT_TARGET else "missed"
    console.print(f"- boto3's takes {ratio:.1f} times as long; at least 2: {met}", highlight=False)


def _make_table(title: str, columns: list[str]) -> Table:
    table = Table(box=box.MARKDOWN)
    table.add_column(title, header_style="", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", header_style="", no_wrap=True)
    return table


def _show_ratio(ratio: float | None, target: float) -> str:
    if ratio is None:
        return ""
    is_met = ratio >= target
    return f"{ratio:.1f} [{'green' if is_met else 'red'}]{'met' if is_met else 'missed'}[/]"


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench_client", description=__doc__)
    parser.add_argument(
        "--rounds",
        type=int,
        default=15,
        help="how often each case is measured (default: %(default)s)",
    )
    parser.add_argument(
        "--import-rounds",
        type=int,
        default=_IMPORT_ROUNDS,
        help="how often imports are measured (default: %(default)s)",
    )
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=[], help="only these")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write-readme", action="store_true", help="put the tables into README.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
