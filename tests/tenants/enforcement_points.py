"""Where rights are enforced: a store, a server with keys, one with policies, the evaluator alone."""

from __future__ import annotations

import json
import re
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from keyfold.engine import Engine
from keyfold.errors import AccessDenied, KeyfoldError
from keyfold.model import Table
from keyfold.policy import Access, Guard, Role
from keyfold.policy.iam import Export, export_policy, find_denial, parse_policy
from keyfold.store import Store, StoreSettings
from keyfold.wire.client import Credentials
from keyfold.wire.client._signing import Signer
from keyfold.wire.server import Server, make_key_gate
from keyfold.wire.server._accesses import read_accesses
from keyfold.wire.server._gate import Gate
from tests.oracle.local import target_of
from tests.tenants.cases import Call, Case
from tests.unit.store.store_kinds import START
from tests.unit.wire.server.http import Response, Wire, read_responses
from tests.unit.wire.server.signing import NOW, SECRET, block, write_keys

REGION, ACCOUNT = "us-east-1", "000000000000"


class Somebody(NamedTuple):
    """A role, with the ids of who has it."""

    role: Role
    ids: dict[str, str]

    @property
    def name(self) -> str:
        return "-".join((self.role.name, *self.ids.values()))


class Line(ABC):
    """A way to a server, by which requests are signed with any key."""

    def __init__(self, authority: str) -> None:
        self._signer = Signer(authority, REGION, agent="tests", accepts="identity")

    def call(self, access_key: str, operation: str, request: dict[str, Any]) -> Response:
        """Return the answer, without what is another each time."""
        body = json.dumps(request).encode()
        credentials = Credentials(access_key, SECRET)
        head = self._signer.write_head(target_of(operation), "", body, NOW, credentials)
        response = self.exchange(head + body)
        headers = {
            name: value
            for name, value in response.headers.items()
            if name not in ("date", "x-amzn-requestid")
        }
        return Response(response.status, headers, response.body)

    @abstractmethod
    def exchange(self, sent: bytes) -> Response:
        """Return what is answered to a request."""

    @abstractmethod
    def close(self) -> None:
        """Hang up."""


class NearLine(Line):
    """The server's own protocol, without a network."""

    def __init__(self, engine: Engine, gate: Gate) -> None:
        super().__init__("localhost:8000")
        self._wire = Wire(engine, gate=gate)
        self._connection, self._transport = self._wire.connect()

    def exchange(self, sent: bytes) -> Response:
        self._transport.written = b""
        self._connection.data_received(sent)
        self._wire.run_until_idle()
        (response,) = read_responses(self._transport.written)
        return response

    def close(self) -> None:
        self._wire.close()


class FarLine(Line):
    """A connection to a server that runs."""

    def __init__(self, engine: Engine, gate: Gate) -> None:
        self._stack = ExitStack()
        place = urlsplit(self._stack.enter_context(Server(engine, gate=gate).running()))
        super().__init__(place.netloc)
        assert place.hostname is not None  # the server's own
        self._socket = socket.create_connection((place.hostname, place.port or 0))

    def exchange(self, sent: bytes) -> Response:
        self._socket.sendall(sent)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._socket.recv(65_536)
        head, _, body = received.partition(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        assert found is not None  # every answer has it
        while len(body) < int(found[1]):
            piece = self._socket.recv(65_536)
            received, body = received + piece, body + piece
        (response,) = read_responses(received)
        return response

    def close(self) -> None:
        self._socket.close()
        self._stack.close()


class CountedEngine:
    """An engine that counts what it is asked for."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.calls = 0

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        return self._engine.execute(operation, request)


class World:
    """A database behind a live server, with keys for all roles: by their rights, and by policies."""

    def __init__(self, engine: Engine, table: Table, line: Line) -> None:
        self._engine, self._table, self._line = engine, table, line
        self._counted = CountedEngine(engine)
        self.items = self.dump()
        self.store = Store(
            self._counted,
            StoreSettings([table], cursor_key=bytes(32), clock=lambda: START, jitter=lambda: 0.0),
            sleep=lambda _: None,
        )

    def dump(self) -> dict[str, Any]:
        """Return all that is stored, by its keys."""
        items = self._engine.execute("Scan", {"TableName": self._table.name})["Items"]
        return {json.dumps([item["pk"], item["sk"]]): item for item in items}

    def restore(self) -> None:
        """Make it again what it was at first."""
        name = self._table.name
        after = self.dump()
        for key in after.keys() - self.items.keys():
            keys = {part: after[key][part] for part in ("pk", "sk")}
            self._engine.execute("DeleteItem", {"TableName": name, "Key": keys})
        for key, item in self.items.items():
            if after.get(key) != item:
                self._engine.execute("PutItem", {"TableName": name, "Item": item})

    def describe(self) -> Any:
        """Return what the tables are like."""
        names = self._engine.execute("ListTables", {})
        described = self._engine.execute("DescribeTable", {"TableName": self._table.name})
        ttl = self._engine.execute("DescribeTimeToLive", {"TableName": self._table.name})
        return names, described, ttl

    def call(self, access_key: str, call: Call) -> Response:
        return self._line.call(access_key, *call)

    def run(self, who: Somebody, case: Case) -> str | None:
        """Return the words of a denial in process; None where something is allowed."""
        assert case.request is not None  # it was asked for
        principal = self.store.as_principal(who.role.name, **who.ids)
        self._counted.calls = 0
        try:
            principal.run(case.request)
        except AccessDenied as denial:
            # Nothing was asked of the database.
            assert self._counted.calls == 0
            return str(denial)
        except KeyfoldError:
            # It was let through, whatever came of it.
            assert self._counted.calls
        return None

    def read(self, case: Case) -> list[Access]:
        """Return what a call would do."""
        return read_accesses(*case.call, self._engine.find_key_names)


@contextmanager
def open_worlds(
    table: Table,
    people: list[Somebody],
    tmp_path: Path,
    items: list[list[dict[str, Any]]],
    make_line: Callable[[Engine, Gate], Line],
) -> Generator[list[World]]:
    """Open a world for each list of items, all else being the same."""
    blocks: list[str] = []
    for who in people:
        ids = ", ".join(f'{name} = "{value}"' for name, value in who.ids.items())
        policy = f"{who.role.name}.json"
        (tmp_path / policy).write_text(export_of(table, who).to_json())
        blocks += [
            block(f"role.{who.name}", more=f'role = "{who.role.name}"\nids = {{{ids}}}'),
            block(f"policy.{who.name}", more=f'policy = "{policy}"\nids = {{{ids}}}'),
        ]
    keys = write_keys(tmp_path / "keys.toml", *blocks)
    with ExitStack() as stack:
        worlds: list[World] = []
        for stored in items:
            engine = stack.enter_context(
                Engine.open(":memory:", upkeep_seconds=None, clock=START.timestamp)
            )
            engine.execute("CreateTable", table.to_dynamodb())
            for item in stored:
                engine.execute("PutItem", {"TableName": table.name, "Item": item})
            gate = make_key_gate(keys, engine.find_key_names, tables=[table], clock=lambda: NOW)
            line = make_line(engine, gate)
            stack.callback(line.close)
            worlds.append(World(engine, table, line))
        yield worlds


class Rules:
    """What decides without any server: the guard of somebody, and the evaluator of their policy."""

    def __init__(self, table: Table, who: Somebody) -> None:
        self.export = export_of(table, who)
        self._guard = Guard(table.layout, who.role, who.ids)
        self._policy, self._ids = parse_policy(self.export.to_json()), who.ids

    def guard_denies(self, accesses: list[Access], *, keeps_unique: bool = False) -> list[bool]:
        """Tell of each access whether the guard denies it, to a store that keeps values unique or not."""
        return [
            self._guard.check(access, keeps_unique=keeps_unique) is not None for access in accesses
        ]

    def evaluator_denies(self, accesses: list[Access]) -> bool:
        """Tell whether the evaluator denies a call that would do all that."""
        denial = find_denial(self._policy, self._ids, accesses, region=REGION, account=ACCOUNT)
        return denial is not None


def export_of(table: Table, who: Somebody) -> Export:
    return export_policy(table.layout, who.role, region=REGION, account=ACCOUNT)


def is_denied(response: Response) -> bool:
    assert response.status in (200, 400)
    kind: str = response.json.get("__type", "")
    return kind.endswith("#AccessDeniedException")
