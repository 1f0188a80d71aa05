"""Tests of the web service, on an engine in memory: `pytest test_service.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import service
from fastapi.testclient import TestClient
from service import Contact, ContactId

from keyfold import Store
from keyfold.errors import AlreadyExists, DeclarationInvalid, TransactionFailed
from keyfold.testing import FaultProfile, OpenAsyncStore, OpenStore, Service

ADA = {"name": "Ada King", "email": "ada@example.com"}
BOOK = "/books/friends/contacts"


@pytest.fixture
def store(keyfold_store: OpenStore) -> Store:
    return keyfold_store(service.table)


@pytest.fixture
def web(keyfold_async_store: OpenAsyncStore) -> Iterator[TestClient]:
    """A client of the service, whose store has the clock and the faults of the test."""
    store = keyfold_async_store(service.table)
    service.app.dependency_overrides[service.get_store] = lambda: store
    yield TestClient(service.app)
    service.app.dependency_overrides.clear()


def add(web: TestClient, **fields: str) -> dict[str, Any]:
    answer = web.post(BOOK, json=ADA | fields)
    assert answer.status_code == 201, answer.text
    created: dict[str, Any] = answer.json()
    return created


def test_a_contact_is_created_and_read(web: TestClient) -> None:
    created = web.post(BOOK, json=ADA)
    assert created.status_code == 201
    assert created.headers["Location"] == f"{BOOK}/{created.json()['contact']}"

    found = web.get(created.headers["Location"])
    assert found.status_code == 200
    assert found.json() == created.json()
    assert found.headers["ETag"] == created.headers["ETag"] == '"1"'


def test_what_does_not_exist_is_404(web: TestClient) -> None:
    missing = f"{BOOK}/{ContactId.new()}"
    assert web.get(missing).status_code == 404
    changed = web.patch(missing, json={"phone": "1"})
    assert changed.status_code == 404
    assert changed.json() == {"code": "not-found", "message": "Contact does not exist."}


def test_pages_follow_by_cursor(web: TestClient, store: Store) -> None:
    for number in range(5):
        email = f"{number}@example.com"
        store.run(Contact(book="friends", contact=ContactId.new(), name="N", email=email).create())
    shown: list[str] = []
    cursor: str | None = None
    while True:
        page = web.get(BOOK, params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        shown += [each["email"] for each in page["contacts"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert shown == [f"{number}@example.com" for number in (4, 3, 2, 1, 0)]


def test_a_cursor_of_another_list_is_refused(web: TestClient) -> None:
    for number in range(3):
        add(web, email=f"{number}@example.com")
    cursor = web.get(BOOK, params={"limit": 1}).json()["next_cursor"]
    answer = web.get("/books/others/contacts", params={"limit": 1, "cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (422, "cursor-invalid")
    assert web.get(BOOK, params={"limit": 1000}).status_code == 422


def test_patch_changes_what_it_has(web: TestClient) -> None:
    contact = add(web, phone="12")
    place = f"{BOOK}/{contact['contact']}"
    changed = web.patch(place, json={"name": "Ada Lovelace"})
    assert changed.json()["name"] == "Ada Lovelace"
    assert changed.json()["phone"] == "12"
    assert changed.headers["ETag"] == '"2"'
    assert web.patch(place, json={"phone": None}).json()["phone"] is None
    assert web.patch(place, json={}).status_code == 200


def test_an_invalid_patch_is_422(web: TestClient) -> None:
    place = f"{BOOK}/{add(web)['contact']}"
    for invalid in ({"email": "nobody"}, {"name": ""}, {"name": None}):
        assert web.patch(place, json=invalid).status_code == 422, invalid
    assert web.get(place).json()["name"] == "Ada King"


def test_a_change_of_an_old_version_is_412(web: TestClient) -> None:
    place = f"{BOOK}/{add(web)['contact']}"
    seen = web.get(place).headers["ETag"]
    assert web.patch(place, json={"phone": "1"}, headers={"If-Match": seen}).status_code == 200
    for stale in (seen, '"x"'):
        headers = {"If-Match": stale}
        assert web.patch(place, json={"phone": "2"}, headers=headers).status_code == 412
        assert web.delete(place, headers=headers).status_code == 412
    assert web.get(place).json()["phone"] == "1"
    assert web.delete(place, headers={"If-Match": '"2"'}).status_code == 204


def test_deleting_twice_is_no_error(web: TestClient) -> None:
    place = f"{BOOK}/{add(web)['contact']}"
    assert [web.delete(place).status_code for _ in range(2)] == [204, 204]
    assert web.get(place).status_code == 404


def test_an_email_address_that_is_taken_is_409_and_shows_no_keys(web: TestClient) -> None:
    add(web)
    answer = web.post("/books/others/contacts", json=ADA | {"email": "ADA@example.com"})
    assert answer.status_code == 409
    assert answer.json() == {
        "code": "unique-taken",
        "message": "Contact: this email is already taken.",
    }


def test_a_book_that_could_be_another_key_is_422(web: TestClient) -> None:
    answer = web.get("/books/a%23b/contacts")
    assert (answer.status_code, answer.json()["code"]) == (422, "key-part-invalid")


def test_an_outage_is_503(web: TestClient, keyfold_dynamodb: Service) -> None:
    keyfold_dynamodb.faults = FaultProfile(throttling=1.0)
    assert web.get(BOOK).status_code == 503


def test_times_are_those_of_the_clock(web: TestClient, keyfold_dynamodb: Service) -> None:
    contact = add(web)
    keyfold_dynamodb.clock.advance(60)
    changed = web.patch(f"{BOOK}/{contact['contact']}", json={"phone": "1"}).json()
    assert changed["created_at"] == contact["created_at"] == contact["updated_at"]
    assert changed["updated_at"] > contact["updated_at"]


def test_errors_have_a_status() -> None:
    exists = AlreadyExists("Contact", "pk='BOOK#a'", "it already exists")
    assert service.status_of(TransactionFailed((None, exists)), has_if_match=True) == 409
    assert service.status_of(DeclarationInvalid(("a bug",)), has_if_match=False) is None


def test_the_application_opens_its_own_store(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a test that uses the fixtures, a store of a URL calls the test's service."""
    monkeypatch.setenv("CONTACTS_DB", "dynamodb://eu-west-1")
    with TestClient(service.app) as web:
        contact = add(web)
    assert store.run(Contact.get(book="friends", contact=contact["contact"])) is not None
