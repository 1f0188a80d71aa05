"""The accesses of the calls that each kind of request is known to make."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from keyfold.api import TableKeyNames
from keyfold.model import (
    Collection,
    Entity,
    Expiry,
    Key,
    Request,
    Table,
    Version,
    batch,
    now,
    part,
    transaction,
)
from keyfold.policy import Access, Right
from tests.unit.policy.clinic import Note, by_owner, by_pair, by_text, clinic
from tests.unit.store.known_calls import read_known_calls
from tests.unit.store.store_kinds import START

NOTE = Note(user="ada", id="1", text="x", rank="7")
KEY = {"pk": {"S": "U#ada"}, "sk": {"S": "N#1"}}
HERE = ({"S": "U#ada"},)
PARTS = {"user": "ada", "id": "1"}

shelves = Table("Shelves", key=Key("pk"), ttl="ttl")


class Shelf(Entity, table=shelves, key="S#{id}"):
    id: str = part()
    books: int = 0
    version: Version = 0
    ttl: Expiry | None = None


class Summary(BaseModel):
    text: str


class Notes(Collection):
    notes: list[Note]


def find_keys(table: str) -> TableKeyNames | None:
    tables = {each.name: each for each in (clinic, shelves)}
    return tables[table].layout.key_names


def read(request: Request[Any]) -> list[Access]:
    """Return the accesses without what only IAM depends on."""
    return [
        each._replace(named=frozenset(), enclosing=None)
        for each in read_known_calls(request, find_keys)
    ]


def only(request: Request[Any]) -> Access:
    [access] = read(request)
    return access


def names(*more: str) -> frozenset[str]:
    return frozenset({"pk", "sk", *more})


def test_a_get_reads_the_whole_item_or_only_named_attributes() -> None:
    whole = Access(
        "GetItem",
        "Clinic",
        rights=Right.GET,
        partition=HERE,
        sort_key=KEY["sk"],
        attributes=None,
        select="ALL_ATTRIBUTES",
    )
    assert only(Note.get(**PARTS)) == whole
    assert only(clinic.get(pk="U#ada", sk="N#1")) == whole
    assert only(Note.get(**PARTS).map(lambda found, _: found)) == whole
    assert only(Note.get(**PARTS).then(lambda _: Note.get(**PARTS))) == whole
    assert only(Note.get(**PARTS).only(Summary)) == whole._replace(
        attributes=names("text"), select="SPECIFIC_ATTRIBUTES"
    )


def test_a_query_accesses_one_partition() -> None:
    whole = Access(
        "Query",
        "Clinic",
        rights=Right.QUERY,
        partition=HERE,
        sort_prefix="N#",
        attributes=None,
        select="ALL_ATTRIBUTES",
    )
    query = Note.query(user="ada")
    for same in (query, query.first(), query.count(), Notes.get(user="ada")):
        assert only(same) == whole
    assert only(clinic.query(pk="U#ada")) == whole._replace(sort_prefix="")
    assert only(query.where(Note.f.secret.eq("x")).limit(3)) == whole
    partial = only(query.only(Summary).where(Note.f.secret.eq("x")))
    assert partial == whole._replace(
        attributes=names("text", "secret"), select="SPECIFIC_ATTRIBUTES"
    )
    # Counting reads whole items.
    assert only(query.only(Summary).count()) == whole


def test_a_query_of_an_index_accesses_a_partition_of_the_index() -> None:
    owned = only(Note.query(by_owner, user="ada").only(Summary))
    assert (owned.index_name, owned.partition) == ("ByOwner", ({"S": "O#ada"},))
    assert (owned.sort_key, owned.sort_prefix) == (None, "")
    assert owned.attributes == names("owner_pk", "owner_sk", "text")
    pair = only(Note.query(by_pair, user="ada", topic="flu"))
    assert pair.partition == ({"S": "P#ada"}, {"S": "flu"})
    assert pair.select == "ALL_PROJECTED_ATTRIBUTES"
    assert only(Note.query(by_text, user="ada").since("m")).partition == HERE
    ranged = only(Note.query(by_text, user="ada").since("m").only(Summary))
    assert ranged.attributes == names("text")


def test_a_scan_names_no_partition() -> None:
    whole = Access("Scan", "Clinic", rights=Right.QUERY, attributes=None, select="ALL_ATTRIBUTES")
    for same in (clinic.scan(), Note.scan().first()):
        assert only(same) == whole
    assert only(clinic.scan(by_owner)).index_name == "ByOwner"


@pytest.mark.parametrize(
    ("request_", "rights"),
    [
        (NOTE.put(), Right.CREATE | Right.UPDATE),
        (NOTE.create(), Right.CREATE),
        (NOTE.create().or_get(), Right.CREATE),
        (NOTE.replace(), Right.UPDATE),
        (NOTE.put().where(Note.f.text.eq("x")), Right.CREATE | Right.UPDATE),
        (Shelf(id="1").put(), Right.CREATE),
        (Shelf(id="1", version=3).put(), Right.CREATE | Right.UPDATE),
        (Shelf(id="1", version=3).replace(), Right.UPDATE),
        (Shelf(id="1").create(), Right.CREATE),
    ],
)
def test_the_rights_of_a_put_follow_from_its_conditions(
    request_: Request[Any], rights: Right
) -> None:
    assert only(request_).rights == rights


def test_a_put_writes_all_of_its_item() -> None:
    access = only(NOTE.put().where(Note.f.secret.eq("x")))
    item = NOTE.put().item
    assert access == Access(
        "PutItem",
        "Clinic",
        rights=Right.CREATE | Right.UPDATE,
        partition=HERE,
        sort_key=KEY["sk"],
        attributes=frozenset({*item, "secret"}),
        written=item,
        return_values="NONE",
        returns_on_failure=True,
    )
    assert not only(NOTE.put()).returns_on_failure
    expiring = only(Shelf(id="1").create().expiring_in(timedelta(hours=1)))
    assert expiring.written["ttl"] == {"N": str(int(START.timestamp()) + 3600)}


def test_an_update_writes_its_key_its_fields_and_their_index_keys() -> None:
    update = Note.update(**PARTS).set(Note.f.rank, "9").remove(Note.f.state)
    access = only(update.where(Note.f.secret.eq("x")))
    assert access == Access(
        "UpdateItem",
        "Clinic",
        rights=Right.UPDATE,
        partition=HERE,
        sort_key=KEY["sk"],
        attributes=names("rank", "owner_sk", "state", "secret"),
        written={**KEY, "rank": {"S": "9"}, "owner_sk": {"S": "9"}, "state": {}},
        return_values="ALL_NEW",
        returns_on_failure=True,
    )


def test_a_value_that_the_service_computes_is_unknown() -> None:
    access = only(Shelf.update(id="1").increment(Shelf.f.books))
    assert access.written == {"pk": {"S": "S#1"}, "books": None, "version": None}
    copied = only(Note.update(**PARTS).set(Note.f.text, Note.f.secret))
    assert copied.written["text"] is None
    assert copied.attributes == names("text", "secret")
    expiring = only(Shelf.update(id="1").set(Shelf.f.ttl, now))
    assert expiring.written["ttl"] == {"N": str(int(START.timestamp()))}


def test_a_delete_names_its_key_and_condition() -> None:
    plain = Access(
        "DeleteItem",
        "Clinic",
        rights=Right.DELETE,
        partition=HERE,
        sort_key=KEY["sk"],
        attributes=names(),
        return_values="ALL_OLD",
    )
    assert only(Note.delete(**PARTS)) == plain
    assert only(Note.delete(**PARTS).where(Note.f.text.eq("x"))) == plain._replace(
        attributes=names("text"), returns_on_failure=True
    )


def test_a_write_that_returns_nothing_asks_for_no_values() -> None:
    check = Note.check(Note.f.text.eq("x"), **PARTS).returning_nothing()
    for request in (
        NOTE.create().returning_nothing(),
        Note.update(**PARTS).set(Note.f.text, "x").returning_nothing(),
        Note.delete(**PARTS).where(Note.f.text.eq("x")).returning_nothing(),
        transaction(check),
    ):
        access = only(request)
        assert access.return_values in (None, "NONE")
        assert not access.returns_on_failure
        body = request.to_dynamodb(now=START)
        for member in body.get("TransactItems", [{"": body}]):
            [sent] = member.values()
            assert not {"ReturnValues", "ReturnValuesOnConditionCheckFailure"} & sent.keys()


def test_a_transaction_has_one_access_per_member() -> None:
    check = Note.check(Note.f.text.eq("x"), user="bob", id="1")
    accesses = read(transaction(NOTE.create(), Note.delete(user="ada", id="2"), check))
    assert [each.action for each in accesses] == ["PutItem", "DeleteItem", "ConditionCheckItem"]
    assert [each.return_values for each in accesses] == [None, None, None]
    assert accesses[2] == Access(
        "ConditionCheckItem",
        "Clinic",
        rights=Right.GET,
        partition=({"S": "U#bob"},),
        sort_key={"S": "N#1"},
        attributes=names("text"),
        returns_on_failure=True,
    )
    reads = read(transaction(Note.get(**PARTS)))
    assert [each.action for each in reads] == ["GetItem"]


def test_a_batch_has_one_access_per_member() -> None:
    accesses = read(batch([NOTE.put(), Note.delete(**PARTS), Note.get(**PARTS)]))
    assert [(each.action, each.rights) for each in accesses] == [
        ("BatchWriteItem", Right.CREATE | Right.UPDATE),
        ("BatchWriteItem", Right.DELETE),
        ("BatchGetItem", Right.GET),
    ]
    assert accesses[1].return_values is None


def test_a_lookup_is_not_among_the_accesses_of_the_caller() -> None:
    chain = Note.get(**PARTS).lookup_then(lambda _: Note.get(**PARTS))
    assert read(chain) == []
