"""Clients in Python: written, imported, and used against running services of the designs."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen
from uuid import UUID, uuid4

import pytest
from pydantic import TypeAdapter

import keyfold
from keyfold import Table
from keyfold.designs import exchange_rates, letsgo, market, pantry
from keyfold.service import export_client, make_endpoints
from keyfold.service._endpoints import to_camel, to_snake
from keyfold.service._openapi import find_example
from tests.services import running_service
from tests.unit.service import awkward

CALLERS: dict[str, tuple[Any, list[str]]] = {
    "exchange_rates": (exchange_rates, ["--as", "publisher"]),
    "letsgo": (letsgo, ["--as", "tenant-member", "--id", "tenant_id=ten-f8a1"]),
    "market": (market, ["--as", "fulfilment", "--as", "registration", "--as", "support"]),
    "pantry": (pantry, ["--as", "service"]),
}
# How a write by the examples of a design may be refused: what it creates exists, what it changes does not,
# or the caller may not.
REFUSALS = {
    "access-denied",
    "already-exists",
    "condition-failed",
    "not-found",
    "transaction-failed",
    "write-refused",
}


def import_client(table: Table, folder: Path) -> ModuleType:
    """Write the client of a table's service into a folder, and import it."""
    file = folder / f"{to_snake(table.name)}_client.py"
    file.write_text(export_client(table).to_text(), "utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Where annotations are looked up.
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    """A client of a design's service, which has the design's example entities; and its module."""
    design, caller = CALLERS[request.param]
    with keyfold.open(design.table, str(tmp_path / "served.db"), durability="process") as store:
        for entity in design.table.example_entities():
            store.run(entity.put())
    module = import_client(design.table, tmp_path)
    with running_service(request.param, "--db", "served.db", *caller, folder=tmp_path) as url:
        kind: Any = vars(module)[f"{to_camel(design.table.name)}Client"]
        with kind(url) as client:
            client.url = url
            yield client, module
    del sys.modules[module.__name__]


@pytest.mark.parametrize("served", CALLERS, indirect=True)
def test_every_pattern_is_called(served: tuple[Any, Any], request: pytest.FixtureRequest) -> None:
    client, module = served
    names: Any = module.__dict__
    design, _ = CALLERS[request.node.callspec.params["served"]]
    outcomes: dict[str, str] = {}
    for name, endpoint in make_endpoints(design.table).items():
        if endpoint.pattern.make.__module__ == "keyfold.designs.letsgo.shop":
            # Another module, which the service has not imported, adds these to the table.
            continue
        method = getattr(client, name)
        assert inspect.getdoc(method) == inspect.cleandoc(endpoint.description)
        example = find_example(endpoint)
        if not {each.name for each in endpoint.parameters if each.is_required} <= {*example}:
            continue
        hints = get_type_hints(method, names)
        arguments = {
            each: TypeAdapter(hints[each]).validate_json(json.dumps(value))
            for each, value in example.items()
            if each in hints
        }
        try:
            result = method(**arguments)
            if endpoint.is_page:
                result = result.page().items
        except module.CallFailed as failed:
            outcomes[name] = failed.code
            continue
        outcomes[name] = "done"
        if not endpoint.writes:
            answered = read_raw(client.url + endpoint.path, example)
            assert to_json(result) == (answered["items"] if endpoint.is_page else answered)
    refused = {name: code for name, code in outcomes.items() if code != "done"}
    assert {*refused.values()} <= REFUSALS, refused
    assert len(outcomes) - len(refused) > 4, refused


def read_raw(url: str, example: dict[str, Any]) -> Any:
    try:
        with urlopen(f"{url}?{urlencode(example)}") as response:
            return json.load(response)
    except HTTPError as error:
        found = json.load(error)
        error.close()
    assert found["code"] == "not-found"
    return None


def to_json(value: Any) -> Any:
    return TypeAdapter(Any).dump_python(value, mode="json", by_alias=True)


@pytest.mark.parametrize("served", ["exchange_rates"], indirect=True)
def test_exact_numbers_and_times_are_written_and_read(served: tuple[Any, Any]) -> None:
    client, module = served
    at = datetime(2026, 7, 1, 12, tzinfo=UTC)
    rate = module.Rate(base="CHF", target="NOK", rate=Decimal("11.90"), at=at)
    saved = client.save(rate, timedelta(hours=6))
    assert (saved.rate, saved.at, saved.stale) == (Decimal("11.90"), at, False)
    assert client.get("CHF", "NOK") == saved
    assert client.get("CHF", "SEK") is None
    assert client.delete("CHF", "NOK") == saved
    assert client.delete("CHF", "NOK") is None
    with pytest.raises(module.CallFailed) as failed:
        client.get("CHF", "XXQ")
    assert (failed.value.status, failed.value.code) == (422, "value-invalid")
    assert [each["argument"] for each in failed.value.errors] == ["target"]


@pytest.mark.parametrize("served", ["pantry"], indirect=True)
def test_pages_are_read_as_they_are_needed(served: tuple[Any, Any]) -> None:
    client, module = served
    group, founder = uuid4(), uuid4()
    client.create_user(module.User(user=founder, name="Ada", email="ada@example.com"))
    client.create_group(group, "House", founder)
    containers = sorted((uuid4() for _ in range(5)), key=str)
    for each in containers:
        client.add_container(group, each, "Shelf")
    found = client.list_of_containers(group, page_size=2)
    assert [len(page.items) for page in found.pages()] == [2, 2, 1]
    assert [each.container for each in found] == containers
    first = found.page()
    rest = client.list_of_containers(group, page_size=2, resume=first.next)
    assert [each.container for each in rest] == containers[2:]
    assert isinstance(containers[0], UUID)


@pytest.mark.parametrize("served", ["pantry"], indirect=True)
def test_a_write_is_sent_again_by_its_key_and_done_once(served: tuple[Any, Any]) -> None:
    client, module = served
    user = module.User(user=uuid4(), name="Ada", email="ada@example.com")
    created = client.create_user(user, idempotency_key="one")
    assert client.create_user(user, idempotency_key="one") == created
    with pytest.raises(module.CallFailed) as failed:
        client.create_user(user)
    assert failed.value.status == 409


@pytest.mark.parametrize("served", ["market"], indirect=True)
def test_a_value_has_its_entity_tag(served: tuple[Any, Any]) -> None:
    client, module = served
    account = client.create_account(module.Account(account=f"A#{'0' * 26}"))
    tag = module.etag_of(account)
    assert tag is not None
    renamed = client.rename_account(account.account, "Corner", if_match=tag)
    assert (renamed.name, module.etag_of(renamed) == tag) == ("Corner", False)
    with pytest.raises(module.CallFailed) as failed:
        client.rename_account(account.account, "Other", if_match=tag)
    assert (failed.value.status, failed.value.code) == (412, "precondition-failed")


def test_names_and_types_that_are_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "clumsy.py").write_text(Path(awkward.__file__).read_text("utf-8"), "utf-8")
    module: Any = import_client(awkward.awkward, tmp_path)
    caller = ("--as", "owner", "--id", "owner=a/b c")
    with (
        running_service(
            "--table", "clumsy:awkward", "--db", "clumsy.db", *caller, folder=tmp_path
        ) as url,
        module.AwkwardThingsClient(url) as client,
    ):
        given = module.ResultsEntity(
            owner="a/b c",
            number=1,
            list_="x",
            first_name="Ada",
            date_=date(2026, 7, 1),
            prices={"EUR": Decimal("1.25"), "USD": None},
            tags={"p", "q"},
            pairs=[("one", 1)],
            raw=b"\x00\xff",
            tree=module.Problem(branches=[module.Problem(label="leaf")]),
            more={"a": [1, None, {"b": True}]},
        )
        stored = client.put(given)
        assert stored.pause == timedelta(minutes=5)
        assert stored == given.model_copy(update={"pause": timedelta(minutes=5)})
        assert client.one("a/b c", 1) == stored
        assert client.one("a/b c", 2) is None
        for number in (2, 3):
            client.put(module.ResultsEntity(owner="a/b c", number=number, tags={"q"}))
        assert [each.number for each in client.list_("a/b c", tagged=["q"])] == [1, 2, 3]
        pages = client.list_("a/b c", page_size=1).pages()
        assert [len(page.items) for page in pages] == [1, 1, 1, 0]
        assert client.close_("a/b c", 3, "body", idempotency_key_="key").list_ == "body"


def test_what_nobody_has_set_is_not_sent(tmp_path: Path) -> None:
    module: Any = import_client(market.table, tmp_path)
    changes = module.UserChanges(name="Ada")
    assert module._to_json(changes) == {"name": "Ada"}
    changes.phones.append("+1 555 0100")
    assert module._to_json(changes) == {"name": "Ada", "phones": ["+1 555 0100"]}
    cart = module.Cart(user="ada", cart="C#1")
    cart.lines["I#1"] = module.CartLine(seller="bob")
    assert module._to_json([cart]) == [
        {"user": "ada", "cart": "C#1", "lines": {"I#1": {"seller": "bob"}}}
    ]
