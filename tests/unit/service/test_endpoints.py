"""What access patterns are as endpoints."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold import Entity, Get, Key, Query, Table
from keyfold.designs import exchange_rates, letsgo, market, pantry
from keyfold.errors import DeclarationInvalid
from keyfold.service import make_endpoints


def make_notes(**options: Any) -> Table:
    notes = Table("Notes", key=Key("pk", "sk"))

    class Note(Entity, table=notes, key=("USER#{user}", "NOTE#{number:03}")):
        user: str
        number: int
        text: str = ""

    @notes.pattern("Notes of a user", **options)
    def notes_of(user: str) -> Query[Note]:
        return Note.query(user=user)

    @notes.pattern("One note")
    def one_note(user: str, number: int) -> Get[Note]:
        return Note.get(user=user, number=number)

    assert [*notes.patterns.values()] == [notes_of, one_note]
    return notes


@pytest.mark.parametrize("design", [exchange_rates, letsgo, market, pantry])
def test_every_pattern_of_a_design_is_an_endpoint(design: Any) -> None:
    endpoints = make_endpoints(design.table)
    assert [each.pattern.name for each in endpoints.values()] == [*design.table.patterns]
    for endpoint in endpoints.values():
        assert endpoint.arguments.json_schema()["additionalProperties"] is False
        assert endpoint.results.json_schema(mode="serialization") is not None


def test_reads_are_get_and_writes_post() -> None:
    methods = {each.name: each.method for each in make_endpoints(market.table).values()}
    assert methods["last_orders"] == methods["find_by_key"] == methods["order_by_id"] == "GET"
    assert methods["create_user"] == methods["place_order"] == methods["delete_user"] == "POST"


def test_paths_are_named_after_entity_and_function() -> None:
    paths = {each.name: each.path for each in make_endpoints(market.table).values()}
    assert paths["last_orders"] == "/order/last-orders"
    assert paths["user_profile"] == "/user/user-profile"
    # The entity that is written, if nothing says what is returned.
    assert paths["place_order"] == "/order/place-order"
    # No entity is known.
    assert paths["find_by_key"] == "/market/find-by-key"


def test_types_that_are_not_annotated_are_those_of_the_request() -> None:
    # Their annotations name a class of a function, which nobody else knows.
    endpoints = make_endpoints(make_notes())
    assert endpoints["notes_of"].path == "/note/notes-of"
    assert (endpoints["notes_of"].is_page, endpoints["notes_of"].continues) == (True, True)
    assert endpoints["one_note"].entity is endpoints["notes_of"].result


def test_a_pattern_declares_its_path() -> None:
    endpoints = make_endpoints(make_notes(path="/users/{user}/notes"))
    assert endpoints["notes_of"].path == "/users/{user}/notes"


@pytest.mark.parametrize(
    ("path", "fact"),
    [
        ("notes", "its path is 'notes'. Give one such as /orders/{order}."),
        ("/notes/{writer}", "its path has {writer}, which is not one of its parameters."),
        ("/changes", "every service has a path /changes of its own. Give another one."),
        ("/note/one-note", "pattern 'One note' has the path of 'Notes of a user', /note/one-note."),
    ],
)
def test_a_path_that_cannot_be_served_is_refused(path: str, fact: str) -> None:
    with pytest.raises(DeclarationInvalid) as raised:
        make_endpoints(make_notes(path=path))
    assert fact in str(raised.value)


def test_two_functions_of_one_name_are_refused() -> None:
    table = make_notes()

    @table.pattern("Another")
    def one_note() -> Any:
        return None

    assert table.patterns["Another"] is one_note
    with pytest.raises(DeclarationInvalid, match="functions of the same name, one_note"):
        make_endpoints(table)
