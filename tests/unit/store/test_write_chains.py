"""Chains that start with a write: a counter gives a new entity its number."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.errors import AlreadyExists, UpdateInvalid
from keyfold.model import Collection, Entity, Key, Table, batch, part, transaction
from keyfold.requests import Chain
from tests.unit.store.store_kinds import AnyStore, OpenStore

office = Table("Office", key=Key("pk", "sk"))


class InvoiceCounter(Entity, table=office, key=("CUSTOMER#{customer}", "COUNTER")):
    customer: str = part()
    count: int = 0


class Invoice(Entity, table=office, key=("CUSTOMER#{customer}", "INVOICE#{number:05}")):
    customer: str = part()
    number: int = part()
    text: str


@office.pattern("issue an invoice", example={"customer": "{customer}", "text": "{text}"})
def issue(customer: str, text: str) -> Chain[Invoice]:
    """Issue the next invoice of a customer."""
    counted = InvoiceCounter.update(customer=customer).increment(InvoiceCounter.f.count)
    return counted.or_create().then(
        lambda counter: Invoice(customer=customer, number=counter.count, text=text).create()
    )


@office.pattern("issue and count", example={"invoice": Invoice(customer="c", number=1, text="t")})
def issue_and_count(invoice: Invoice) -> Any:
    """Issue an invoice and count it, or neither."""
    counter = InvoiceCounter.update(customer=invoice.customer).increment(InvoiceCounter.f.count)
    return transaction(invoice.create(), counter.or_create())


@office.pattern("issue some", example={"invoice": Invoice(customer="c", number=1, text="t")})
def issue_some(invoice: Invoice) -> Any:
    """Issue invoices independently."""
    return batch([invoice.put()])


class Office(Collection):
    """A counter, and its invoices."""

    counter: InvoiceCounter
    invoices: list[Invoice]


@office.pattern("copy an invoice")
def copy_invoice(customer: str) -> Chain[Invoice]:
    """Make an invoice with the text of the first one."""

    def make(found: list[Invoice | None]) -> Any:
        (first,) = found
        text = "" if first is None else first.text
        return Invoice(customer=customer, number=2, text=text).create()

    return batch([Invoice.get(customer=customer, number=1)]).then(make)


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    return open_store(office)


def test_a_counter_gives_a_new_entity_its_number(store: AnyStore) -> None:
    made = [store.run(issue("ada", text)) for text in ("a", "b")]
    assert [(each.number, each.text) for each in made] == [(1, "a"), (2, "b")]
    assert store.run(InvoiceCounter.get(customer="ada")) == InvoiceCounter(customer="ada", count=2)


def test_if_the_second_write_fails_the_first_stays(store: AnyStore) -> None:
    store.run(Invoice(customer="ada", number=1, text="x").create())
    with pytest.raises(AlreadyExists):
        store.run(issue("ada", "a"))
    assert store.run(issue("ada", "a")).number == 2


def test_a_put_and_a_delete_can_be_followed(store: AnyStore) -> None:
    invoice = Invoice(customer="ada", number=1, text="x")
    counted = invoice.create().then(lambda made: InvoiceCounter(customer=made.customer).create())
    assert store.run(counted) == InvoiceCounter(customer="ada")
    moved = invoice.delete().then(lambda old: old.model_copy(update={"number": 2}).create())
    assert store.run(moved) == Invoice(customer="ada", number=2, text="x")
    assert store.run(moved) is None


def test_batches_transactions_and_collections_can_be_followed(store: AnyStore) -> None:
    store.run(Invoice(customer="ada", number=1, text="a").create())
    store.run(InvoiceCounter(customer="ada", count=1).create())
    first, none = Invoice.get(customer="ada", number=1), Invoice.get(customer="ada", number=9)

    def copy(found: list[Any]) -> Any:
        number = 2 + sum(each is not None for each in found)
        return found[0].model_copy(update={"number": number}).create()

    assert store.run(batch([first, none]).then(copy)).number == 3
    third = Invoice.get(customer="ada", number=3)
    assert store.run(transaction(first, third).then(copy)).number == 4
    counted = Office.get(customer="ada").then(lambda office: office.invoices[-1].delete())
    assert store.run(counted) == Invoice(customer="ada", number=4, text="a")
    absent = Office.get(customer="bob").then(lambda office: office.invoices[-1].delete())
    assert store.run(absent) is None


def test_chains_from_batches_are_explained() -> None:
    explained = copy_invoice.explain()
    assert [each.operation for each in explained.steps] == ["BatchGetItem", "PutItem"]
    assert explained.is_atomic


def test_a_write_that_returns_nothing_cannot_be_followed() -> None:
    update = InvoiceCounter.update(customer="ada").increment(InvoiceCounter.f.count)
    with pytest.raises(UpdateInvalid, match=r"then\(\) needs the entity"):
        update.returning_nothing().then(lambda _: update)


def test_patterns_say_whether_they_are_atomic() -> None:
    explained = issue.explain()
    assert [(step.operation, step.key) for step in explained.steps] == [
        ("UpdateItem", "pk='CUSTOMER#{customer}' sk='COUNTER'"),
        ("PutItem", "pk='CUSTOMER#{customer}' sk='INVOICE#00001'"),
    ]
    assert not explained.is_atomic
    assert issue_and_count.explain().is_atomic
    assert not issue_some.explain().is_atomic
