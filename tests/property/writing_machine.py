"""Writes to an engine and to a plain table, which must agree on every response."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from keyfold.engine import Engine
from keyfold.engine.tables import backfill
from keyfold.errors import (
    ConditionalCheckFailedException,
    IdempotentParameterMismatchException,
    TransactionCanceledException,
    ValidationException,
)
from tests.property import strategies as drawn
from tests.property.plain_conditions import Condition, Placeholders, write_condition
from tests.property.plain_table import Attribute, ConditionNotMet, FailsTwice, PlainTable, Refused
from tests.property.plain_updates import Update, write_update
from tests.property.plain_values import Item, comparable_item, in_stored_form
from tests.property.table_requests import Request, create_table

TABLE = "Things"
GRACE_SECONDS = 10
# So few that filling an index takes several batches, with other work in between.
BATCH_ITEMS = 3

Action = Callable[[PlainTable], object]


class WritingMachine(RuleBasedStateMachine):
    """One table, written to through one engine in memory or several on a file."""

    engines_on_file = 2

    def __init__(self) -> None:
        super().__init__()
        self.now = drawn.NOW
        self.tokens = 0
        self.folder = Path(tempfile.mkdtemp())
        self.engines = [self.open_engine() for _ in range(self.engines_on_file or 1)]
        self._small_batches = mock.patch.object(backfill, "BATCH_ITEMS", BATCH_ITEMS)
        self._small_batches.start()

    def teardown(self) -> None:
        try:
            for engine in self.engines:
                assert engine.verify() == []
        finally:
            self._small_batches.stop()
            for engine in self.engines:
                engine.close()
            shutil.rmtree(self.folder)

    def open_engine(self) -> Engine:
        path = self.folder / "things.db" if self.engines_on_file else ":memory:"
        return Engine.open(
            path,
            durability="process" if self.engines_on_file else None,
            clock=lambda: self.now,
            expiry_grace=GRACE_SECONDS,
            upkeep_seconds=None,
        )

    def run(self, data: st.DataObject, operation: str, request: Request) -> dict[str, Any]:
        """Execute a request on one of the engines, drawn at random."""
        engine = data.draw(st.sampled_from(self.engines), label="engine")
        return engine.execute(operation, request)

    @initialize(
        partition_kind=st.sampled_from("SNB"),
        sort_kind=st.sampled_from(["", "S", "N", "B"]),
        has_local=st.booleans(),
        data=st.data(),
    )
    def make_table(
        self, partition_kind: str, sort_kind: str, has_local: bool, data: st.DataObject
    ) -> None:
        partition = Attribute("pk", partition_kind)
        sort = Attribute("sk", sort_kind) if sort_kind else None
        self.table = PlainTable(partition, sort)
        self.keys = drawn.table_keys(partition, sort)
        self.plans = drawn.global_plans((partition, sort) if sort else (partition,))
        chosen = data.draw(st.lists(st.sampled_from(self.plans), max_size=2, unique=True))
        if has_local and sort is not None:
            chosen += drawn.local_plans(partition)
        self.table.indexes = {plan.name: plan for plan in chosen}
        self.run(data, "CreateTable", create_table(TABLE, self.table))
        self.put_many(data)

    @rule(data=st.data())
    def put_many(self, data: st.DataObject) -> None:
        engine = data.draw(st.sampled_from(self.engines))
        for key in data.draw(self.distinct_keys(16)):
            item = {**key, **data.draw(drawn.crowding_attributes)}
            self.table.put(item)
            engine.execute("PutItem", {"TableName": TABLE, "Item": item})

    @rule(data=st.data(), condition=st.none() | drawn.conditions, other=drawn.other_attributes)
    def put(self, data: st.DataObject, condition: Condition | None, other: Item) -> None:
        item = {**data.draw(self.keys), **other}
        request = {"Item": item, **_conditional(condition), "ReturnValues": "ALL_OLD"}
        if condition is None and data.draw(st.booleans()):
            # A put without a condition and return values takes the fast path.
            del request["ReturnValues"]
            self._expect(data, "PutItem", request, lambda: self.table.put(item) and {})
            return
        self._expect(
            data, "PutItem", request, lambda: _attributes(self.table.put(item, condition)[0])
        )

    @rule(
        data=st.data(),
        update=drawn.updates,
        condition=st.none() | drawn.conditions,
        returned=st.sampled_from(["ALL_OLD", "ALL_NEW"]),
    )
    def update(
        self, data: st.DataObject, update: Update, condition: Condition | None, returned: str
    ) -> None:
        key = data.draw(self.keys)
        used = Placeholders()
        request = {"Key": key, "UpdateExpression": write_update(update, used)}
        request |= _conditional(condition, used) | {"ReturnValues": returned}

        def expected() -> Request:
            old, new = self.table.update(key, update, condition)
            return _attributes(old if returned == "ALL_OLD" else new)

        self._expect(data, "UpdateItem", request, expected)

    @rule(data=st.data(), condition=st.none() | drawn.conditions)
    def delete(self, data: st.DataObject, condition: Condition | None) -> None:
        key = data.draw(self.keys)
        request = {"Key": key, **_conditional(condition), "ReturnValues": "ALL_OLD"}
        self._expect(
            data, "DeleteItem", request, lambda: _attributes(self.table.delete(key, condition))
        )

    def _expect(
        self, data: st.DataObject, operation: str, request: Request, expected: Callable[[], Request]
    ) -> None:
        """Run a write on engine and plain table; they must agree on the response or the error."""
        request = {"TableName": TABLE, **request}
        try:
            wanted = expected()
        except Refused:
            with pytest.raises(ValidationException, match=r"."):
                self.run(data, operation, request)
            return
        except ConditionNotMet:
            with pytest.raises(ConditionalCheckFailedException):
                self.run(data, operation, request)
            return
        except FailsTwice:
            with pytest.raises((ValidationException, ConditionalCheckFailedException)):
                self.run(data, operation, request)
            return
        answer = self.run(data, operation, request)
        assert comparable_answer(answer) == comparable_answer(wanted)

    @rule(data=st.data())
    def write_batch(self, data: st.DataObject) -> None:
        writes: list[Request] = []
        actions: list[Action] = []
        for key in data.draw(self.distinct_keys(4)):
            if data.draw(st.booleans()):
                item = {**key, **data.draw(drawn.other_attributes)}
                writes.append({"PutRequest": {"Item": item}})
                actions.append(lambda table, item=item: table.put(item))
            else:
                writes.append({"DeleteRequest": {"Key": key}})
                actions.append(lambda table, key=key: table.delete(key))
        request = {"RequestItems": {TABLE: writes}}
        if self.table.transact(actions):
            assert self.run(data, "BatchWriteItem", request) == {"UnprocessedItems": {}}
        else:
            with pytest.raises(ValidationException, match=r"."):
                self.run(data, "BatchWriteItem", request)

    @rule(data=st.data(), with_token=st.booleans())
    def write_transaction(self, data: st.DataObject, with_token: bool) -> None:
        keys = data.draw(self.distinct_keys(4))
        pairs = [self._draw_action(data, key) for key in keys]
        request: Request = {"TransactItems": [member for member, _ in pairs]}
        if with_token:
            self.tokens += 1
            request["ClientRequestToken"] = f"token-{self.tokens}"
        if not self.table.transact(action for _, action in pairs):
            # An empty key raises ValidationException; everything else is a cancellation reason.
            with pytest.raises((TransactionCanceledException, ValidationException)):
                self.run(data, "TransactWriteItems", request)
            return
        assert self.run(data, "TransactWriteItems", request) == {}
        if with_token:
            # A repetition with the token changes nothing, and another request with it is refused.
            assert self.run(data, "TransactWriteItems", request) == {}
            other = {"TableName": TABLE, "Key": keys[0]}
            other["ConditionExpression"] = "attribute_exists(nowhere)"
            with pytest.raises(IdempotentParameterMismatchException):
                self.run(
                    data, "TransactWriteItems", {**request, "TransactItems": [{"Delete": other}]}
                )

    def _draw_action(self, data: st.DataObject, key: Item) -> tuple[Request, Action]:
        condition = data.draw(st.none() | drawn.conditions)
        used = Placeholders()
        match data.draw(st.sampled_from(["Put", "Update", "Delete", "ConditionCheck"])):
            case "Put":
                item = {**key, **data.draw(drawn.other_attributes)}
                body = {"TableName": TABLE, "Item": item, **_conditional(condition, used)}
                return {"Put": body}, lambda table: table.put(item, condition)
            case "Update":
                update = data.draw(drawn.updates)
                expression = {"UpdateExpression": write_update(update, used)}
                body = {"TableName": TABLE, "Key": key, **expression}
                body |= _conditional(condition, used)
                return {"Update": body}, lambda table: table.update(key, update, condition)
            case "Delete":
                body = {"TableName": TABLE, "Key": key, **_conditional(condition, used)}
                return {"Delete": body}, lambda table: table.delete(key, condition)
            case _:
                checked = condition or data.draw(drawn.conditions)
                body = {"TableName": TABLE, "Key": key, **_conditional(checked, used)}
                return {"ConditionCheck": body}, lambda table: table.check(key, checked)

    def distinct_keys(self, most: int) -> st.SearchStrategy[list[Item]]:
        return st.lists(
            self.keys,
            min_size=most // 4,
            max_size=most,
            unique_by=lambda key: self.table.key_of(in_stored_form({"M": key})["M"]),
        )


def _conditional(condition: Condition | None, used: Placeholders | None = None) -> Request:
    used = used or Placeholders()
    request: Request = {}
    if condition is not None:
        request["ConditionExpression"] = write_condition(condition, used)
    return request | used.parameters()


def _attributes(item: Item | None) -> Request:
    return {} if item is None else {"Attributes": item}


def comparable_answer(answer: Request) -> dict[str, object]:
    """Return a response whose members are items in comparable form."""
    return {name: comparable_item(item) for name, item in answer.items()}
