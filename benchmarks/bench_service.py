"""The processor time of an endpoint: patterns as a service, and the same written by hand in FastAPI.

python -m benchmarks.bench_service
"""

from __future__ import annotations

import gc
import http.client
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any, cast

import keyfold
from benchmarks._report import (
    JUDGED,
    Report,
    describe_machine,
    judge,
    make_parser,
    make_table,
    show,
)
from benchmarks._rounds import Row, Target, rotate
from benchmarks._service_apps import (
    APPLICATIONS,
    LAST_ORDERS,
    LINES,
    ORDER_BY_ID,
    SAVE_ADDRESS,
    USER,
)
from benchmarks._wire_load import Job, cpu_seconds, run_job
from keyfold.deploy import apply
from keyfold.designs import market
from keyfold.wire.client import Client

ROOT = Path(__file__).parents[1]
OURS, EMBEDDED = "keyfold", "keyfold, embedded"
PEERS = ("FastAPI, PynamoDB", "FastAPI, boto3")
# How many times as much processor time a peer must take.
TARGET = Target(3.0, is_least=True)
CONNECTIONS = (1, 16)

_ORDERS = 40
_LAST = 10
_CALLS = 150
_WARM_UP_SECONDS = 0.1
_MOST_SECONDS = 20.0
# A sample during which other programs used more of a processor than this is repeated; of all tries, the one
# with the least counts.
_FOREIGN_SHARE = 0.2
_TRIES = 4
_KEYS = {"AWS_ACCESS_KEY_ID": "benchmark", "AWS_SECRET_ACCESS_KEY": "benchmark"}


class AnswersDiffer(RuntimeError):
    """An application returns something else than the others."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A request of one kind, made from a number that differs from call to call."""

    name: str
    method: str
    path: str

    def make_target(self, number: int) -> str:
        """Return the path with its query."""
        if self.path == LAST_ORDERS:
            return f"{self.path}?user={USER}&count={_LAST}"
        return f"{self.path}?id={_number_of(number)}" if self.path == ORDER_BY_ID else self.path

    def make_body(self, number: int) -> bytes:
        """Return the body; reads have none."""
        if self.path != SAVE_ADDRESS:
            return b""
        place = {"street": f"{number} Market Street", "city": "Odesa", "country": "UA"}
        address = {"user": USER, "number": number % 100 + 1, **place}
        return json.dumps({"address": address}).encode()

    def encode(self, number: int) -> bytes:
        """Return the request as it is sent."""
        body = self.make_body(number)
        head = f"{self.method} {self.make_target(number)} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body


ENDPOINTS = (
    Endpoint(f"the last {_LAST} orders", "GET", LAST_ORDERS),
    Endpoint("one order by id", "GET", ORDER_BY_ID),
    Endpoint("save an address", "POST", SAVE_ADDRESS),
)


@dataclass(frozen=True, slots=True)
class Application:
    """An application that is up."""

    name: str
    process: subprocess.Popen[str]
    port: int
    # The process of the engine that it calls; its own if that is embedded.
    engine: int

    def measure(self, endpoint: Endpoint, connections: int) -> dict[str, float]:
        """Return the processor time of a call in the application's process, and calls a second.

        `foreign` is how many processors were busy with other programs.
        """
        samples: list[dict[str, float]] = []
        for _ in range(_TRIES):
            samples.append(self._measure_once(endpoint, connections))
            if samples[-1]["foreign"] <= _FOREIGN_SHARE:
                break
        return min(samples, key=itemgetter("foreign"))

    def _measure_once(self, endpoint: Endpoint, connections: int) -> dict[str, float]:
        job = Job(
            self.port,
            self.process.pid,
            endpoint.name,
            connections,
            lead_seconds=_WARM_UP_SECONDS,
            seconds=_MOST_SECONDS,
            most=_CALLS,
        )
        gc.collect()
        before = cpu_seconds(self.engine)
        sample = run_job(job, _make_requests(endpoint))
        foreign = sample.foreign_share
        if self.engine != self.process.pid:
            # The engine is no other program. It was busy while nothing was counted, too.
            used = cpu_seconds(self.engine) - before
            foreign -= used / (sample.seconds + _WARM_UP_SECONDS)
        return {
            "cpu_us": sample.cpu_us,
            "per_second": sample.per_second,
            "foreign": max(0.0, foreign),
        }

    def call(self, endpoint: Endpoint, number: int) -> Any:
        """Return the result of one call."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            headers = {"content-type": "application/json"}
            target, body = endpoint.make_target(number), endpoint.make_body(number)
            connection.request(endpoint.method, target, body or None, headers)
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise AnswersDiffer(f"{self.name}: {endpoint.name}: {answer.decode()}")
        return json.loads(answer)


def main() -> None:
    """Measure, and print tables or JSON."""
    options = make_parser("bench_service", __doc__, rounds=30).parse_args()
    os.environ |= _KEYS
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url, engine = stack.enter_context(_serve())
        databases = {EMBEDDED: str(folder / "market.db")}
        with Client(url) as client:
            apply(client, [market.table])
        for database in (url, *databases.values()):
            _fill(database)
        applications = [
            stack.enter_context(
                _start(name, databases.get(name, url), None if name in databases else engine)
            )
            for name in APPLICATIONS
        ]
        _check_answers(applications, url)
        print(f"{options.rounds} rounds of {len(applications)} applications", file=sys.stderr)
        rows = _measure(applications, options.rounds)
    _make_report(rows).publish(options)


@contextmanager
def _serve() -> Generator[tuple[str, int]]:
    """Run the engine that all applications share, and yield its URL and the id of its process."""
    command = [sys.executable, "-m", "keyfold", "serve", "--memory", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"], process.pid
        finally:
            process.terminate()


@contextmanager
def _start(name: str, database: str, engine: int | None) -> Generator[Application]:
    command = [sys.executable, "-m", "benchmarks._service_apps", name, database]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src")))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=env) as process:
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            yield Application(name, process, port, process.pid if engine is None else engine)
        finally:
            process.terminate()


def _fill(database: str) -> None:
    """Write the orders of one user."""
    with keyfold.open(market.table, database) as store:
        for number in range(_ORDERS):
            order, total = market.OrderId.new(), Decimal(number) / 100
            made = market.Order(user=USER, order=order, id=_number_of(number), total=total)
            store.run(made.create())
            for line in range(1, LINES + 1):
                part = market.OrderLine(
                    user=USER,
                    order=order,
                    line=line,
                    product=market.ProductId.new(),
                    seller="rabinovich",
                    name=f"Herring {line}",
                    price=Decimal("0.25"),
                    quantity=line,
                )
                store.run(part.put())


def _number_of(number: int) -> str:
    """Return the business id of an order."""
    return f"2026-{number % _ORDERS:04}"


def _make_requests(endpoint: Endpoint) -> Iterator[bytes]:
    return (endpoint.encode(number) for number in count())


def _check_answers(applications: list[Application], url: str) -> None:
    """Raise AnswersDiffer unless all return the same, apart from how keys are shown."""
    for number, endpoint in enumerate(ENDPOINTS):
        expected, *others = (_without_keys(each.call(endpoint, number)) for each in applications)
        for application, found in zip(applications[1:], others, strict=True):
            if found != expected:
                raise AnswersDiffer(f"{application.name}: {found}, not {expected}")
    with Client(url) as client:
        key = {"pk": {"S": f"U#{USER}"}, "sk": {"S": f"U#{USER}#001"}}
        for application in applications:
            if application.name != EMBEDDED:
                client.execute("DeleteItem", {"TableName": market.table.name, "Key": key})
                application.call(ENDPOINTS[2], 300)
                found = client.execute("GetItem", {"TableName": market.table.name, "Key": key})
                if found["Item"]["street"] != {"S": "300 Market Street"}:
                    raise AnswersDiffer(f"{application.name} wrote {found}")


def _without_keys(answer: Any) -> Any:
    """Return an answer without system keys, of which end users see handles, and our own members."""
    match answer:
        case list():
            return [_without_keys(each) for each in cast("list[Any]", answer)]
        case dict():
            members = cast("dict[str, Any]", answer)
            left_out = {"order", "product"} if "user" in members else {"next", "invalid"}
            return {
                name: _without_keys(each) for name, each in members.items() if name not in left_out
            }
        case _:
            return answer


def _measure(applications: list[Application], rounds: int) -> list[Row]:
    cases = [
        (endpoint, connections, Row({"name": endpoint.name, "connections": connections}))
        for endpoint in ENDPOINTS
        for connections in CONNECTIONS
    ]
    for number in range(rounds):
        for endpoint, connections, row in cases:
            order = rotate(applications, number)
            row.add({each.name: each.measure(endpoint, connections) for each in order})
    return [row for *_, row in cases]


def _make_report(rows: list[Row]) -> Report:
    cpu, rate = itemgetter("cpu_us"), itemgetter("per_second")
    names = list(APPLICATIONS)
    labels = [[str(row.labels["name"]), str(row.labels["connections"])] for row in rows]
    figures = [
        make_table(
            [title, "connections", *names],
            [
                [*label, *(show(row.figure(name, read)) for name in names)]
                for label, row in zip(labels, rows, strict=True)
            ],
        )
        for title, read in (("µs of CPU a call", cpu), ("calls a second", rate))
    ]
    judged = [
        [*label, f"{peer} / {OURS}", *judge(row.ratio((peer, OURS), cpu), TARGET)]
        for peer in PEERS
        for label, row in zip(labels, rows, strict=True)
    ]
    columns = ("times as much CPU", "connections", "compared", "ratio", *JUDGED)
    tables = [*figures, make_table(columns, judged, texts=3)]
    packages = ("boto3", "fastapi", "pynamodb", "uvicorn", "pydantic", "uvloop")
    data = {"cases": [_to_json(row) for row in rows]}
    facts = describe_machine(*packages) | {"other programs meanwhile": _show_foreign(rows)}
    return Report("bench_service", facts, tables, data)


def _show_foreign(rows: list[Row]) -> str:
    shares = [
        sample["foreign"]
        for row in rows
        for each in row.rounds
        for sample in each.measured.values()
    ]
    return f"{median(shares):.2f} of a core, in the median"


def _to_json(row: Row) -> dict[str, Any]:
    found = {name: row.figure(name, itemgetter("cpu_us")) for name in row.contestants}
    return row.labels | {
        "rounds": len(row.rounds),
        "cpu_us": {name: round(each.median, 1) for name, each in found.items() if each},
    }


if __name__ == "__main__":
    main()
