"""A clinic's database, and users that see a part of it through a store and through a server."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from keyfold.engine import Engine
from keyfold.errors import KeyfoldError
from keyfold.model import Page, Request
from keyfold.model._paged_reads import PagedRead
from keyfold.policy import make_guards
from keyfold.store import Store, StoreSettings
from keyfold.wire.server._authorizers import RoleAuthorizer
from keyfold.wire.server._gate import OpenGate
from tests.property.clinic_calls import TABLE, Call
from tests.unit.policy.clinic import File, Member, Note, Setting, Topic, clinic
from tests.unit.store.store_kinds import START
from tests.unit.wire.server.http import Wire, ask

Outcome = tuple[Any, ...]


class ClinicDatabase:
    """The clinic's table with shared data and initial data of ada and bob."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        engine.execute("CreateTable", clinic.to_dynamodb())
        settings = StoreSettings(
            [clinic], cursor_key=bytes(32), clock=START.timestamp, jitter=lambda: 0.0
        )
        self.store = Store(engine, settings, sleep=lambda _: None)
        self._wires: list[Wire] = []
        for user, numbers in (("ada", "123"), ("bob", "1")):
            for number in numbers:
                note = Note(
                    user=user,
                    id=number,
                    text="x",
                    secret="s",
                    state="new",
                    rank=number,
                    topic="flu",
                )
                self.store.run(note.put())
            self.store.run(Member(user=user, email=f"{user}@x").create())
            self.store.run(File(user=user, box="left", name="1").put())
        self.store.run(Topic(topic="flu", title="Flu").put())
        self.store.run(Setting(name="1", value="9 to 5").put())

    def close(self) -> None:
        for wire in self._wires:
            wire.close()

    def log_in(self, user: str, *roles: str) -> ClinicUser:
        """Return a user with some roles, who asks through a store and through a server."""
        guards = make_guards([clinic], roles, {"user": user})
        name, find_key_names = f"{'-'.join(roles)}-{user}", self.engine.find_key_names
        authorizer = RoleAuthorizer(name, guards, find_key_names, "us-east-1")
        wire = Wire(self.engine, gate=OpenGate(authorizer, name))
        self._wires.append(wire)
        return ClinicUser(self.store.as_principal(*roles, user=user), wire)

    def dump(self) -> list[dict[str, Any]]:
        """Return all stored items."""
        return self.engine.execute("Scan", {"TableName": TABLE})["Items"]


def items_of(items: list[dict[str, Any]], user: str) -> list[dict[str, Any]]:
    """Return the items in a user's partitions and index partitions, and their unique values."""
    partitions = (f"U#{user}", f"keyfold#unique#Member#email#S#{user}@x")
    keys = {
        "owner_pk": f"O#{user}",
        "mix": f"M#{user}",
        "pair_user": f"P#{user}",
        "sk": f"MEMBER#{user}",
    }
    return [
        item
        for item in items
        if item["pk"]["S"] in partitions
        or item["pk"]["S"].startswith(f"U#{user}#")
        or any(item.get(name, {}).get("S") == value for name, value in keys.items())
    ]


@contextmanager
def open_clinic() -> Generator[ClinicDatabase]:
    with Engine.open(":memory:", upkeep_seconds=None, clock=START.timestamp) as engine:
        database = ClinicDatabase(engine)
        yield database
        database.close()


class ClinicUser:
    """A user of a database: runs requests and returns everything observable in the responses."""

    def __init__(self, store: Store, wire: Wire) -> None:
        self._store, self._wire = store, wire

    def do(self, asked: Request[Any] | Call) -> list[Outcome]:
        """Return everything observable in the response to a request, and in its next pages."""
        if isinstance(asked, Call):
            return self._call(asked)
        outcomes: list[Outcome] = []
        for _ in range(3):
            outcome, cursor = self._run(asked)
            outcomes.append(outcome)
            if cursor is None or not isinstance(asked, PagedRead):
                break
            asked = cast(PagedRead[Any], asked).after(cursor)
        return outcomes

    def _run(self, request: Request[Any]) -> tuple[Outcome, str | None]:
        try:
            found = self._store.run(request)
        except KeyfoldError as error:
            # The notes of errors contain the request with its cursor, which is random.
            facts = {
                name: repr(value) for name, value in vars(error).items() if name != "__notes__"
            }
            return (type(error), str(error), facts), None
        if not isinstance(found, Page):
            return ("found", repr(found)), None
        page = cast(Page[Any], found)
        shown = ("page", repr(list(page)), page.consumed, page.scanned, page.reads)
        return (*shown, page.cursor is None), page.cursor

    def _call(self, call: Call) -> list[Outcome]:
        outcomes: list[Outcome] = []
        request = call.request
        for _ in range(3):
            (response,) = self._wire.exchange(ask(call.operation, request))
            outcomes.append((response.status, response.headers["x-amz-crc32"], response.body))
            last = json.loads(response.body).get("LastEvaluatedKey")
            if last is None:
                break
            request = {**request, "ExclusiveStartKey": last}
        return outcomes
