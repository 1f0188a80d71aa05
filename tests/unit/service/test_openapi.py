"""The OpenAPI document: valid, and true of every endpoint."""

from __future__ import annotations

from html import escape
from typing import Any

import pytest
from openapi_spec_validator import validate

from keyfold.designs import exchange_rates, letsgo, market, pantry
from keyfold.service import FixedCaller, create_app, export_openapi, make_endpoints
from keyfold.service._endpoints import OWN_PATHS
from keyfold.service._openapi import write_openapi
from keyfold.service._page import write_page
from tests.unit.service.awkward import awkward
from tests.unit.service.test_app import ADA, notes

TABLES = [exchange_rates.table, letsgo.table, market.table, pantry.table, notes, awkward]


def document_of(table: Any) -> dict[str, Any]:
    return write_openapi(table, make_endpoints(table))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_it_is_valid_and_complete(table: Any) -> None:
    document = document_of(table)
    validate(document)
    found = {each["operationId"] for path in document["paths"].values() for each in path.values()}
    own = {"read-batch", "watch-changes", "check-health", "check-readiness", "show-metrics"}
    assert found == {*make_endpoints(table)} | own


def test_every_path_of_the_service_is_described() -> None:
    app = create_app(notes, ":memory:")
    # Those for people, and the document itself, are not in it.
    assert {*app._handlers} == OWN_PATHS
    assert OWN_PATHS - {*app.openapi["paths"]} == {"/", "/openapi.json"}


def test_health_and_metrics_need_no_credentials() -> None:
    paths = document_of(notes)["paths"]
    is_open = {
        path for path, each in paths.items() for op in each.values() if op.get("security") == []
    }
    assert is_open == {"/healthz", "/readyz", "/metrics"}
    assert document_of(notes)["security"] == [{"token": []}, {"key": []}]


def test_a_service_for_one_caller_needs_no_credentials() -> None:
    app = create_app(notes, ":memory:", authenticator=FixedCaller(ADA))
    operations = [op for each in app.openapi["paths"].values() for op in each.values()]
    assert "security" not in app.openapi
    assert not any("security" in each for each in operations)


def test_it_is_exported_as_it_is_served() -> None:
    assert export_openapi(notes).content == create_app(notes, ":memory:").openapi


def test_an_entity_may_have_the_name_of_what_the_service_has() -> None:
    schemas = document_of(awkward)["components"]["schemas"]
    assert {"label", "branches"} == {*schemas["Problem-Output"]["properties"]}
    assert "code" in schemas["HttpProblem"]["properties"]


def test_decimals_are_marked() -> None:
    price = document_of(notes)["components"]["schemas"]["Note-Output"]["properties"]["price"]
    assert (price["type"], price["format"]) == ("string", "decimal")


def test_parameters_have_types_and_examples() -> None:
    operation = document_of(market.table)["paths"]["/order/last-orders"]["get"]
    assert operation["summary"] == "Get the list of last N orders for user"
    parameters = {each["name"]: each for each in operation["parameters"]}
    assert parameters["count"]["schema"]["type"] == "integer"
    assert parameters["user"]["example"] == "rabinovich"
    assert "cursor" in parameters


def test_arguments_in_the_path_are_not_in_the_query() -> None:
    operation = document_of(notes)["paths"]["/users/{user}/notes"]["get"]
    places = {each["name"]: each["in"] for each in operation["parameters"]}
    assert (places["user"], places["tagged"]) == ("path", "query")


def test_system_keys_are_texts_since_end_users_see_handles() -> None:
    order = document_of(market.table)["components"]["schemas"]["Order"]
    assert order["properties"]["order"] == {"title": "Order", "type": "string"}


def test_fields_with_defaults_are_always_written_but_need_not_be_given() -> None:
    schemas = document_of(notes)["components"]["schemas"]
    written, read = schemas["Note-Output"], schemas["Note-Input"]
    assert "text" in written["required"]
    assert "text" not in read["required"]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_page_for_people_has_every_pattern(table: Any) -> None:
    page = write_page(document_of(table), "http://localhost:8080")
    for endpoint in make_endpoints(table).values():
        assert f"{endpoint.method} {endpoint.path}" in page
        assert escape(endpoint.pattern.name) in page
    # It loads nothing.
    assert "src=" not in page
    assert "<link" not in page


def test_the_page_has_commands_with_the_examples() -> None:
    page = write_page(document_of(market.table), "http://localhost:8080")
    address = "http://localhost:8080/order/last-orders?user=rabinovich&count=10"
    assert escape(f"curl '{address}'") in page
