"""`dynamodb(tables=…)`: what the code under test writes must fit the declaration."""

from __future__ import annotations

import pytest

from keyfold import Entity, Key, Table, part
from keyfold.errors import ValidationException
from keyfold.testing import FaultProfile, dynamodb

notes = Table("Notes", key=Key("pk"))


class Note(Entity, table=notes, key="NOTE#{name}"):
    name: str = part()
    text: str


GOOD = {"pk": {"S": "NOTE#a"}, "text": {"S": "x"}}


@pytest.mark.parametrize("faults", [FaultProfile(), FaultProfile(stale_reads=0.5, seed=1)])
def test_writes_that_do_not_fit_are_refused(faults: FaultProfile) -> None:
    with dynamodb(tables=[notes], faults=faults) as service:
        for _ in range(2):
            service.execute("CreateTable", notes.to_dynamodb())
            service.execute("PutItem", {"TableName": "Notes", "Item": GOOD})
            with pytest.raises(ValidationException, match="text: Field required"):
                service.execute("PutItem", {"TableName": "Notes", "Item": {"pk": {"S": "NOTE#b"}}})
            service.reset()


@dynamodb(tables=[notes])
def test_a_decorated_test_is_checked() -> None:
    with notes.open("dynamodb://us-east-1") as store:
        store.create_table(notes)
        store.run(Note(name="a", text="x").create())


def test_without_tables_nothing_is_checked() -> None:
    with dynamodb() as service:
        service.execute("CreateTable", notes.to_dynamodb())
        service.execute("PutItem", {"TableName": "Notes", "Item": {"pk": {"S": "other"}}})
