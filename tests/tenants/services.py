"""Patterns as a service, as an enforcement point: two worlds that differ in foreign items only.

The rows of `tests/tenants/patterns` are calls in Python. Here they become requests: the endpoint of the
pattern, and its arguments as JSON, with the handles of a principal where it has to give them.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock
from urllib.parse import urlencode

from keyfold import Table
from keyfold.designs.letsgo import shop
from keyfold.engine import Engine
from keyfold.model import Pattern
from keyfold.policy import PrincipalGuard, make_guards
from keyfold.policy.accesses import read_accesses
from keyfold.service import (
    PatternEndpoint,
    PatternService,
    RateLimit,
    RateLimits,
    ServiceSettings,
    make_endpoints,
)
from keyfold.service._api_keys import ApiKeys
from keyfold.store import AsyncStore, Handles, Store, StoreSettings, make_write_checks
from tests.tenants.patterns.rows import Column, PatternTable, Row
from tests.unit.wire.server.signing import SECRET, block, write_keys

CURSOR_KEY = bytes(range(32))
Stored = dict[str, dict[str, Any]]
ChangeItem = Callable[[dict[str, Any]], dict[str, Any] | None]


class PatternCall(NamedTuple):
    """An endpoint, and the arguments of a call as JSON, with ids as staff see them."""

    endpoint: PatternEndpoint
    arguments: dict[str, Any]


class HttpAnswer(NamedTuple):
    """A response of a service."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a problem; empty for a result."""
        kind = self.headers.get("content-type", "")
        return self.json["code"] if kind == "application/problem+json" else ""


@cache
def endpoints_of(table: Table) -> dict[str, PatternEndpoint]:
    """Return the endpoints of a design's own patterns; the shop adds others to letsgo's table."""
    return {
        name: each
        for name, each in make_endpoints(table).items()
        if each.pattern.make.__module__ != shop.__name__
    }


def read_call(table: Table, row: Row) -> PatternCall:
    """Return what a row calls: the pattern that it calls first, and with what."""
    calls: list[tuple[Pattern[..., Any], dict[str, Any]]] = []

    def note(pattern: Pattern[..., Any], *args: Any, **named: Any) -> Any:
        bound = inspect.signature(pattern.make).bind(*args, **named)
        calls.append((pattern, dict(bound.arguments)))
        return pattern.make(*args, **named)

    with mock.patch.object(Pattern, "__call__", note):
        row.make()
    pattern, given = calls[0]
    assert pattern.name == row.pattern
    endpoint = next(each for each in endpoints_of(table).values() if each.pattern is pattern)
    adapters = {each.name: each.adapter for each in endpoint.parameters}
    arguments = {
        name: adapters[name].dump_python(value, mode="json", by_alias=True, exclude_unset=True)
        for name, value in given.items()
    }
    return PatternCall(endpoint, arguments)


def dump_table(engine: Engine, table: Table) -> Stored:
    """Return all items of a table, by key."""
    items = engine.execute("Scan", {"TableName": table.name})["Items"]
    return {json.dumps([item[name] for name in table.key.names]): deepcopy(item) for item in items}


class InLoop:
    """An engine that is called in the event loop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def execute(self, operation: str, request: dict[str, Any], /) -> dict[str, Any]:
        return self._engine.execute(operation, request)


class ServiceWorld:
    """A design's database and the service of its patterns; each column has an API key.

    Each tenant's column has another with the ids of others: `customer` and `customer-other`.
    `change` returns each stored item as this world has it; None if it does not.
    """

    def __init__(
        self, engine: Engine, design: PatternTable, folder: Path, change: ChangeItem
    ) -> None:
        self.engine, self.design = engine, design
        self.columns = dict(list_columns(design))
        settings = StoreSettings(
            [design.table], cursor_key=CURSOR_KEY, clock=design.now.timestamp, is_embedded=True
        )
        Store(engine, settings).create_table(design.table)
        for request in design.stored():
            Store(engine, settings).run(request)
        changed = {key: change(item) for key, item in self.dump().items()}
        self.before = {key: item for key, item in changed.items() if item is not None}
        self.restore()
        self.store = AsyncStore(InLoop(engine), settings)
        self.limits = RateLimits(RateLimit(1, 1_000_000), monotonic=lambda: 0.0)
        keys = write_keys(folder / "keys.toml", *self._write_blocks())
        self.app = PatternService(
            design.table,
            self.store,
            ServiceSettings(
                authenticator=ApiKeys(keys, [design.table]),
                clock=design.now.timestamp,
                monotonic=lambda: 0.0,
                limits=self.limits,
            ),
        )
        self.runner = asyncio.Runner()

    def _write_blocks(self) -> list[str]:
        return [
            block(to_access_key(name), secret_of(name), write_rights(each))
            for name, each in self.columns.items()
        ]

    def close(self) -> None:
        self.app.drain()
        self.runner.close()

    # What is stored.

    def dump(self) -> Stored:
        """Return all stored items, by key."""
        return dump_table(self.engine, self.design.table)

    def restore(self) -> None:
        """Undo all changes in one transaction, as the check of unique values requires."""
        after, named = self.dump(), {"TableName": self.design.table.name}
        members: list[dict[str, Any]] = []
        for key in after.keys() - self.before.keys():
            item = {name: after[key][name] for name in self.design.table.key.names}
            members.append({"Delete": {**named, "Key": item}})
        for key, item in self.before.items():
            if after.get(key) != item:
                members.append({"Put": {**named, "Item": item}})
        if members:
            self.engine.execute("TransactWriteItems", {"TransactItems": members})

    # Requests.

    def handles_of(self, column: str) -> Handles | None:
        """Return the handles of a column's principal; None if it sees ids."""
        each = self.columns[column]
        return self.store.as_principal(*each.roles, **each.ids).handles

    def show(self, column: str, value: Any) -> Any:
        """Return arguments as a column's principal has to give them."""
        handles = self.handles_of(column)
        return value if handles is None else handles.show_json(value)

    def call(self, column: str, call: PatternCall, **headers: str) -> HttpAnswer:
        """Call an endpoint with the API key of a column; `if_match="*"` is a header."""
        return self.call_with(column, call, self.show(column, call.arguments), **headers)

    def call_with(
        self, column: str, call: PatternCall, arguments: Any, **headers: str
    ) -> HttpAnswer:
        """Call an endpoint with arguments as they are."""
        endpoint = call.endpoint
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        if endpoint.writes:
            return self.send("POST", endpoint.path, column, body=arguments, **named)
        query = urlencode([(name, to_query(each)) for name, each in arguments.items()])
        return self.send("GET", f"{endpoint.path}?{query}", column, **named)

    def send(
        self, method: str, url: str, column: str = "", body: Any = None, **headers: str
    ) -> HttpAnswer:
        """Send one request."""
        return self.runner.run(self.exchange(method, url, column, body, headers))

    async def exchange(
        self,
        method: str,
        url: str,
        column: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpAnswer:
        path, _, query = url.partition("?")
        named = {"host": "localhost", "keyfold-capacity": "", **(headers or {})}
        if column:
            named["x-api-key"] = api_key_of(column)
        content = b"" if body is None else json.dumps(body).encode()
        if content:
            named["content-type"] = "application/json"
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), text.encode("latin-1")) for name, text in named.items()],
        }
        return await run_asgi(self.app, scope, content)


async def run_asgi(
    app: Callable[..., Awaitable[None]], scope: dict[str, Any], content: bytes
) -> HttpAnswer:
    """Return what an ASGI application answers to a request."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    head, *parts = sent
    headers = {name.decode(): value.decode("latin-1") for name, value in head["headers"]}
    return HttpAnswer(head["status"], headers, b"".join(part["body"] for part in parts))


def to_access_key(column: str) -> str:
    # A dot ends the access key of an API key.
    return column.replace(".", "-")


def secret_of(column: str) -> str:
    return f"{SECRET}-of-{column}"


def api_key_of(column: str) -> str:
    return f"{to_access_key(column)}.{secret_of(column)}"


def list_columns(design: PatternTable) -> Iterator[tuple[str, Column]]:
    """Yield the columns of a design, and the same for other tenants."""
    for name, each in design.columns.items():
        yield name, each
        if each.ids:
            ids = {key: design.foreign[value] for key, value in each.ids.items()}
            yield f"{name}-other", Column(each.roles, ids)


def to_query(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def write_rights(column: Column) -> str:
    ids = ", ".join(f'{name} = "{value}"' for name, value in column.ids.items())
    return f"role = {json.dumps(column.roles)}\nids = {{{ids}}}"


@contextmanager
def open_world(
    design: PatternTable,
    folder: Path,
    change: ChangeItem = lambda item: item,
    *,
    file: str = ":memory:",
) -> Generator[ServiceWorld]:
    """Open a world on an engine in memory, or in a file, which checks writes."""
    clock = design.now.timestamp
    checks = make_write_checks([design.table], clock=clock)
    with Engine.open(file, clock=clock, upkeep_seconds=None, write_checks=checks) as engine:
        world = ServiceWorld(engine, design, folder, change)
        try:
            yield world
        finally:
            world.close()


class Ownership:
    """Tells which items are foreign to a principal: it has no right to anything about them.

    A guard of a unique value is as its owner is.
    """

    def __init__(self, table: Table, column: Column) -> None:
        self._table = table
        self._guard: PrincipalGuard = make_guards([table], column.roles, column.ids)[table.name]

    def is_foreign(self, item: dict[str, Any]) -> bool:
        owner = item.get("keyfold_owner")
        if owner is not None:
            return self.is_foreign(owner["M"])
        key = {name: item[name] for name in self._table.key.names}
        if any(text["S"].startswith("keyfold#") for text in key.values()):
            # Says that all guards are there.
            return False
        named = {"TableName": self._table.name}
        calls = [
            ("GetItem", {**named, "Key": key}),
            ("DeleteItem", {**named, "Key": key}),
            ("UpdateItem", {**named, "Key": key}),
            ("PutItem", {**named, "Item": key}),
        ]
        return all(self._is_denied(*call) for call in calls)

    def _is_denied(self, operation: str, request: dict[str, Any]) -> bool:
        accesses = read_accesses(operation, request, lambda _: self._guard.key_names)
        return any(self._guard.check(each) is not None for each in accesses)
