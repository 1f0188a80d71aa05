"""Clients of aioboto3 and aiobotocore: they use the engine too, without blocking their loop.

aioboto3 requires an old botocore, so it is not installed for development: stand-ins for its
classes show here that they are patched whenever they are loaded. The real ones are tested in a
separate environment; see tests/clients/programs/aioboto3_in_process.py.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from keyfold.testing import FaultProfile, dynamodb
from tests.unit.testing.tables import CREATE, TABLE


class StandIn:
    """The parts of an AioBaseClient that we patch."""

    def __init__(self, service_name: str) -> None:
        model = SimpleNamespace(service_name=service_name)
        self._ruleset_resolver = object()
        self.meta = SimpleNamespace(endpoint_url="https://example.com", service_model=model)

    async def _make_request(self, *arguments: Any) -> tuple[str, tuple[Any, ...]]:
        return "network", arguments

    async def _resolve_endpoint_ruleset(self, *arguments: Any) -> tuple[str, Any]:
        if self._ruleset_resolver is None:
            return self.meta.endpoint_url, {}
        return "resolved", arguments

    async def _convert_to_request_dict(self, *, set_user_agent_header: bool = True) -> bool:
        return set_user_agent_header


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that loads the stand-ins, as an import of aiobotocore would."""
    session_class = import_module("botocore.session").Session
    client, session = ModuleType("aiobotocore.client"), ModuleType("aiobotocore.session")
    stand_in = type("AioBaseClient", (StandIn,), dict(vars(StandIn)))
    client.AioBaseClient = stand_in  # pyright: ignore[reportAttributeAccessIssue]

    def create_client(self: Any, service_name: str, *_: Any, **options: Any) -> Any:
        return stand_in(service_name), options

    aio_session = type("AioSession", (session_class,), {"create_client": create_client})
    session.AioSession = aio_session  # pyright: ignore[reportAttributeAccessIssue]

    def load() -> None:
        monkeypatch.setitem(sys.modules, "aiobotocore.client", client)
        monkeypatch.setitem(sys.modules, "aiobotocore.session", session)

    return load


def ask(client: Any) -> tuple[Any, Any, Any]:
    """Return the results of a client's three patched methods."""
    model = import_module("botocore.session").get_session().get_service_model("dynamodb")
    operation = model.operation_model("ListTables")

    async def ask() -> tuple[Any, Any, Any]:
        request = {"body": b"{}"}
        return (
            await client._make_request(operation, request, {}),
            await client._resolve_endpoint_ruleset(operation, {}, {}),
            await client._convert_to_request_dict(),
        )

    return asyncio.run(ask())


def make_stand_in(service_name: str) -> tuple[Any, dict[str, Any]]:
    return sys.modules["aiobotocore.session"].AioSession().create_client(service_name)


def test_classes_loaded_before_are_patched(load: Callable[[], None]) -> None:
    load()
    with dynamodb() as service:
        service.execute("CreateTable", CREATE)
        client, options = make_stand_in("dynamodb")
        (http, parsed), endpoint, has_user_agent = ask(client)
    assert (http.status_code, parsed["TableNames"]) == (200, [TABLE])
    assert (endpoint, has_user_agent) == (("https://example.com", {}), False)
    assert options["aws_access_key_id"] == "keyfold"
    assert ask(client)[0][0] == "network"
    assert make_stand_in("dynamodb")[1] == {}


def test_classes_loaded_inside_are_patched_when_a_session_is_created(
    load: Callable[[], None],
) -> None:
    with dynamodb():
        load()
        client, _ = make_stand_in("dynamodb")
        assert ask(client)[0][1]["TableNames"] == []
    assert ask(client)[0][0] == "network"


def test_clients_of_other_services_are_not_patched(load: Callable[[], None]) -> None:
    load()
    with dynamodb():
        client, options = make_stand_in("sqs")
        request, endpoint, has_user_agent = ask(client)
    assert (request[0], endpoint[0], has_user_agent, options) == ("network", "resolved", True, {})


def test_a_delay_does_not_block_the_loop(
    load: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    load()
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", note)
    faults = FaultProfile(latency=1.0, latency_seconds=0.5)
    with dynamodb(faults=faults, sleep=lambda _: pytest.fail("it blocks")):
        ask(make_stand_in("dynamodb")[0])
    assert waits == [0.5]
