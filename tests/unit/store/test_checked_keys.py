"""Entities that compare an item's fields with its key: `checks_key`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import keyfold
from keyfold import Entity, Index, Key, Store, Table, attr, part
from keyfold.errors import ItemInvalid

by_kind = Index("ByKind", key=Key("kind"))
table = Table("Checked", key=Key("pk", "sk"), indexes=[by_kind])


class Page(Entity, table=table, key=("BOOK#{book}", "PAGE#{number:04}"), checks_key=True):
    book: str
    number: int
    kind: str = "page"
    words: int = 0


class Note(Entity, table=table, key=("BOOK#{book}", "NOTE#{name}"), checks_key=True):
    book: str = part()
    name: str = part()
    kind: str = "note"
    text: str = attr(default="")


class Loose(Entity, table=table, key=("BOOK#{book}", "LOOSE#{name}")):
    book: str
    name: str


@pytest.fixture
def store() -> Iterator[Store]:
    with keyfold.open(table, ":memory:", upkeep_seconds=None) as store:
        yield store


def put(store: Store, pk: str, sk: str, **more: Any) -> None:
    item = {"pk": {"S": pk}, "sk": {"S": sk}, **more}
    store.execute("PutItem", {"TableName": "Checked", "Item": item})


PAGE = {"kind": {"S": "page"}, "book": {"S": "emma"}, "number": {"N": "7"}}


@pytest.mark.parametrize(
    ("sk", "changed", "reason"),
    [
        ("PAGE#0008", {}, "its fields make the key pk='BOOK#emma' sk='PAGE#0007'"),
        (
            "PAGE#0007",
            {"book": {"S": "ada"}},
            "its fields make the key pk='BOOK#ada' sk='PAGE#0007'",
        ),
        ("PAGE#0007", {"number": {"N": "77777"}}, "its fields make no key"),
    ],
)
def test_an_item_whose_fields_contradict_its_key_is_reported(
    store: Store, sk: str, changed: dict[str, Any], reason: str
) -> None:
    store.run(Page(book="emma", number=1).create())
    put(store, "BOOK#emma", sk, **PAGE | changed)
    number = int(sk[-4:])
    for query in (Page.query(book="emma"), Page.query(by_kind, kind="page")):
        page = store.run(query)
        assert [each.number for each in page] == [1]
        assert [each.reason for each in page.invalid] == [reason]
    with pytest.raises(ItemInvalid, match="of Checked: its fields make"):
        store.run(Page.get(book="emma", number=number))


def test_an_item_that_agrees_with_its_key_is_returned(store: Store) -> None:
    put(store, "BOOK#emma", "PAGE#0007", **PAGE)
    put(store, "BOOK#emma", "PAGE#0008", kind={"S": "page"})
    store.run(Note(book="emma", name="intro").create())
    assert [each.number for each in store.run(Page.query(book="emma"))] == [7, 8]
    assert store.run(Note.get(book="emma", name="intro")) == Note(book="emma", name="intro")


def test_by_default_fields_are_taken_as_stored(store: Store) -> None:
    put(store, "BOOK#emma", "LOOSE#a", book={"S": "ada"}, name={"S": "b"})
    assert list(store.run(Loose.query(book="emma"))) == [Loose(book="ada", name="b")]
