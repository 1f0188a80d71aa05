"""Where rights are enforced: a store, a server with roles or policies, the evaluator alone."""

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
from keyfold.model import Request, Table
from keyfold.policy import ALL, EVERYTHING, Access, Role, make_guards
from keyfold.policy.accesses import read_accesses
from keyfold.policy.iam import Export, export_policy, find_denial, parse_policy
from keyfold.store import Store, StoreSettings
from keyfold.wire.client import Credentials
from keyfold.wire.client._signing import Signer
from keyfold.wire.server import Server, make_key_gate
from keyfold.wire.server._gate import Gate
from keyfold.wire.server._lookups import PARAMETERS
from tests.oracle.local import target_of
from tests.tenants.cases import Call, Case
from tests.unit.store.known_calls import read_known_calls
from tests.unit.store.store_kinds import START
from tests.unit.wire.server.http import Response, Wire, read_responses
from tests.unit.wire.server.signing import NOW, SECRET, block, write_keys

REGION, ACCOUNT = "us-east-1", "000000000000"


class TenantPrincipal(NamedTuple):
    """One or several roles, and the ids of the principal that has them."""

    roles: tuple[Role, ...]
    ids: dict[str, str]

    @property
    def role_names(self) -> list[str]:
        return [role.name for role in self.roles]

    @property
    def name(self) -> str:
        return "-".join((*self.role_names, *self.ids.values()))

    @property
    def is_tenant(self) -> bool:
        """Whether all its roles are limited to what is its own."""
        return all(role.tenant is not None for role in self.roles)

    @property
    def has_hidden(self) -> bool:
        """Whether all its roles hide some attributes."""
        return all(role.hidden for role in self.roles)

    def may_take(self, entities: set[str]) -> bool:
        """Return whether it may take and release unique values of entities."""
        return any(
            entities <= role.unique or role.can.get(EVERYTHING) == ALL for role in self.roles
        )


class ServerConnection(ABC):
    """A connection to a server; requests can be signed with any key."""

    def __init__(self, authority: str) -> None:
        self._signer = Signer(authority, REGION, agent="tests", accepts="identity")

    def call(self, access_key: str, operation: str, request: dict[str, Any]) -> Response:
        """Return the response without the headers that differ each time."""
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
        """Send the bytes of a request; return the response."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""


class InProcessConnection(ServerConnection):
    """The server's protocol, called in process without a network."""

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


class SocketConnection(ServerConnection):
    """A socket to a running server."""

    def __init__(self, engine: Engine, gate: Gate) -> None:
        self._stack = ExitStack()
        address = urlsplit(self._stack.enter_context(Server(engine, gate=gate).running()))
        super().__init__(address.netloc)
        assert address.hostname is not None  # it is the server's address
        self._socket = socket.create_connection((address.hostname, address.port or 0))

    def exchange(self, sent: bytes) -> Response:
        self._socket.sendall(sent)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._socket.recv(65_536)
        head, _, body = received.partition(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        assert found is not None  # every response has one
        while len(body) < int(found[1]):
            piece = self._socket.recv(65_536)
            received, body = received + piece, body + piece
        (response,) = read_responses(received)
        return response

    def close(self) -> None:
        self._socket.close()
        self._stack.close()


class CountedEngine:
    """An engine that counts its calls."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.calls = 0

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        return self._engine.execute(operation, request)


class EnforcedDatabase:
    """A database behind a server, with two keys per principal: one by role, one by policy."""

    def __init__(self, engine: Engine, table: Table, connection: ServerConnection) -> None:
        self._engine, self._table, self._server = engine, table, connection
        self._counted = CountedEngine(engine)
        self.items = self.dump()
        self.store = Store(
            self._counted,
            StoreSettings([table], cursor_key=bytes(32), clock=START.timestamp, jitter=lambda: 0.0),
            sleep=lambda _: None,
        )

    def dump(self) -> dict[str, Any]:
        """Return all stored items, by key."""
        items = self._engine.execute("Scan", {"TableName": self._table.name})["Items"]
        return {json.dumps([item["pk"], item["sk"]]): item for item in items}

    def restore(self) -> None:
        """Restore the items that were there at first."""
        name = self._table.name
        after = self.dump()
        for key in after.keys() - self.items.keys():
            keys = {part: after[key][part] for part in ("pk", "sk")}
            self._engine.execute("DeleteItem", {"TableName": name, "Key": keys})
        for key, item in self.items.items():
            if after.get(key) != item:
                self._engine.execute("PutItem", {"TableName": name, "Item": item})

    def describe(self) -> Any:
        """Return the descriptions of the tables."""
        names = self._engine.execute("ListTables", {})
        described = self._engine.execute("DescribeTable", {"TableName": self._table.name})
        ttl = self._engine.execute("DescribeTimeToLive", {"TableName": self._table.name})
        return names, described, ttl

    def call(self, access_key: str, call: Call) -> Response:
        return self._server.call(access_key, *call)

    def run(self, principal: TenantPrincipal, case: Case) -> str | None:
        """Run a request as a principal; return the message of a denial, None if it is allowed."""
        assert case.request is not None  # callers check this
        store = self.store.as_principal(*principal.role_names, **principal.ids)
        self._counted.calls = 0
        try:
            store.run(case.request)
        except AccessDenied as denial:
            # Denied before any call.
            assert self._counted.calls == 0
            return str(denial)
        except KeyfoldError:
            # It was allowed, and failed for another reason.
            assert self._counted.calls
        return None

    def read(self, case: Case) -> list[Access]:
        """Return the accesses of a call."""
        return read_accesses(*case.call, self._engine.find_key_names)

    def read_request(self, request: Request[Any]) -> list[Access]:
        """Return the accesses of the calls that a request is known to make."""
        return read_known_calls(request, self._engine.find_key_names)


@contextmanager
def open_databases(
    table: Table,
    principals: list[TenantPrincipal],
    tmp_path: Path,
    items: list[list[dict[str, Any]]],
    make_connection: Callable[[Engine, Gate], ServerConnection],
) -> Generator[list[EnforcedDatabase]]:
    """Open one database per list of items; everything else is the same."""
    blocks: list[str] = []
    for principal in principals:
        ids = ", ".join(f'{name} = "{value}"' for name, value in principal.ids.items())
        policy, roles = f"{principal.name}.json", json.dumps(principal.role_names)
        (tmp_path / policy).write_text(export_of(table, principal).to_json())
        blocks += [
            block(f"role.{principal.name}", more=f"role = {roles}\nids = {{{ids}}}"),
            block(f"policy.{principal.name}", more=f'policy = "{policy}"\nids = {{{ids}}}'),
        ]
    keys = write_keys(tmp_path / "keys.toml", *blocks)
    with ExitStack() as stack:
        databases: list[EnforcedDatabase] = []
        for stored in items:
            engine = stack.enter_context(
                Engine.open(":memory:", upkeep_seconds=None, clock=START.timestamp)
            )
            engine.execute("CreateTable", table.to_dynamodb())
            for item in stored:
                engine.execute("PutItem", {"TableName": table.name, "Item": item})
            gate = make_key_gate(keys, engine.find_key_names, tables=[table], clock=lambda: NOW)
            connection = make_connection(engine, gate)
            stack.callback(connection.close)
            databases.append(EnforcedDatabase(engine, table, connection))
        yield databases


class Rules:
    """Decisions without a server: the guard of a principal, and the evaluator of its policy."""

    def __init__(self, table: Table, principal: TenantPrincipal) -> None:
        self.export = export_of(table, principal)
        self._guard = make_guards([table], principal.role_names, principal.ids)[table.name]
        self._policy, self._ids = parse_policy(self.export.to_json()), principal.ids

    def guard_denies(self, accesses: list[Access], *, keeps_unique: bool = False) -> list[bool]:
        """Return which accesses the guard denies; `keeps_unique` is true for a store."""
        return [
            self._guard.check(access, unique=frozenset() if keeps_unique else None) is not None
            for access in accesses
        ]

    def is_lookup(self, call: Call, accesses: list[Access]) -> bool:
        """Return whether a server runs a call as a lookup, although the guard denies it."""
        operation, request = call
        return (
            operation == "Query"
            and PARAMETERS.issuperset(request)
            and self._guard.find_lookup(accesses[0]) is not None
        )

    def evaluator_denies(self, accesses: list[Access]) -> bool:
        """Return whether the evaluator denies a call with these accesses."""
        denial = find_denial(self._policy, self._ids, accesses, region=REGION, account=ACCOUNT)
        return denial is not None


def export_of(table: Table, principal: TenantPrincipal) -> Export:
    return export_policy(table.layout, *principal.roles, region=REGION, account=ACCOUNT)


def is_denied(response: Response) -> bool:
    assert response.status in (200, 400)
    kind: str = response.json.get("__type", "")
    return kind.endswith("#AccessDeniedException")
