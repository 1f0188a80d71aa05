"""The quick roads: who takes one gets the answer that the ordinary way gives.

A member that no operation knows is ignored by the service, and keeps a request off the
quick roads. So every request is sent twice, with and without one, and the answers compared.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from copy import deepcopy
from types import CodeType, FrameType
from typing import Any, Literal, Self

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyfold.engine import Engine
from keyfold.engine.expressions import bind_condition, bind_key_condition, check_not_mixed
from keyfold.errors import ServiceError
from keyfold.values import normalise_item
from tests.property.fast_requests import (
    INDEXES,
    SIMPLE,
    Drawn,
    Request,
    any_keys,
    any_puts,
    any_queries,
    conditional_writes,
    definition,
    fill,
    nearly_plain_queries,
    plain_keys,
    plain_puts,
    plain_queries,
    put,
)

Way = Literal["execute", "execute_json"]

QUICK = settings(derandomize=True, max_examples=250, deadline=None)

OFF_THE_ROAD: Request = {"Unknown": 1}

ways: Drawn[Way] = st.sampled_from(["execute", "execute_json"])


@pytest.fixture(scope="module")
def filled() -> Iterator[Engine]:
    """An engine for reading, which knows its tables."""
    with Engine.open(":memory:") as engine:
        fill(engine)
        yield engine
        assert engine.verify() == []


def _answer(engine: Engine, way: Way, operation: str, request: Request) -> tuple[Any, ...]:
    """Return what a caller gets: the answer, or everything that an error says."""
    try:
        if way == "execute":
            return ("answer", engine.execute(operation, deepcopy(request)))
        body = json.dumps(request).encode()
        return ("answer", json.loads(engine.execute_json(operation, body)))
    except ServiceError as error:
        return (error.type, error.message, error.fields)


@contextmanager
def _calls_of(code: CodeType) -> Generator[list[str]]:
    """Note every call of a function, by whatever name it was imported."""
    calls: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is code:
            calls.append(code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def _same_both_ways(engine: Engine, way: Way, operation: str, request: Request) -> tuple[Any, ...]:
    """Send a request with and without the unknown member; return the one answer."""
    quick = _answer(engine, way, operation, request)
    assert quick == _answer(engine, way, operation, request | OFF_THE_ROAD)
    return quick


def _same_on_the_road(
    engine: Engine, way: Way, operation: str, request: Request, *, ordinary: CodeType
) -> tuple[Any, ...]:
    """Do the same for a request that takes the quick road; `ordinary` is called beside it only."""
    with _calls_of(ordinary) as calls:
        quick = _answer(engine, way, operation, request)
    assert not calls, "it took the ordinary way"
    with _calls_of(ordinary) as calls:
        slow = _answer(engine, way, operation, request | OFF_THE_ROAD)
    assert calls, "there is nothing to compare with"
    assert quick == slow
    return quick


@QUICK
@given(ways, plain_keys)
def test_a_get_by_plain_keys_gives_the_same(filled: Engine, way: Way, request: Request) -> None:
    ordinary = normalise_item.__code__
    _same_on_the_road(filled, way, "GetItem", request, ordinary=ordinary)


@QUICK
@given(ways, any_keys)
def test_a_get_by_any_key_gives_the_same(filled: Engine, way: Way, request: Request) -> None:
    _same_both_ways(filled, way, "GetItem", request)


@QUICK
@given(ways, plain_queries())
def test_a_plain_query_gives_the_same(filled: Engine, way: Way, request: Request) -> None:
    ordinary = bind_key_condition.__code__
    kind, page, *_ = _same_on_the_road(filled, way, "Query", request, ordinary=ordinary)
    assert kind == "answer"
    # And so does the rest of it, page by page.
    while "LastEvaluatedKey" in page:
        request = request | {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        _, page = _same_both_ways(filled, way, "Query", request)


@settings(QUICK, max_examples=400)
@given(ways, nearly_plain_queries())
def test_a_nearly_plain_query_gives_the_same(filled: Engine, way: Way, request: Request) -> None:
    _same_both_ways(filled, way, "Query", request)


@settings(QUICK, max_examples=400)
@given(ways, any_queries)
def test_any_query_gives_the_same(filled: Engine, way: Way, request: Request) -> None:
    _same_both_ways(filled, way, "Query", request)


@pytest.mark.parametrize("length", [255, 256])
@pytest.mark.parametrize("where", ["KeyConditionExpression", "FilterExpression"])
def test_a_long_placeholder_gives_the_same(filled: Engine, where: str, length: int) -> None:
    long = ":" + "v" * (length - 1)
    texts = {"KeyConditionExpression": "pk = :p", "FilterExpression": "b = :b"}
    values = {":p": {"S": "a"}, ":b": {"BOOL": True}}
    old = texts[where][-2:]
    texts[where] = texts[where].replace(old, long)
    values[long] = values.pop(old)
    request = {"TableName": SIMPLE, **texts, "ExpressionAttributeValues": values}
    kind, *_ = _same_both_ways(filled, "execute", "Query", request)
    assert kind == ("answer" if length == 255 else "ValidationException")


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"KeyConditionExpression": "pk = :p" + " " * 4_089}, "answer"),
        ({"KeyConditionExpression": "pk = :p" + " " * 4_090}, "ValidationException"),
        ({"FilterExpression": "c = :c" + " " * 4_091}, "ValidationException"),
        ({"FilterExpression": " AND ".join(["c = :c"] * 150)}, "answer"),
        ({"FilterExpression": " AND ".join(["c = :c"] * 151)}, "ValidationException"),
        ({"ExpressionAttributeValues": {":p": {"S": "a"}, ":c": {"S": "x" * 2**21}}}, "Valid"),
        (
            {"ExpressionAttributeValues": {":p": {"S": "a"}, ":c": {"S": "x" * 2**19}}},
            "answer",
        ),
    ],
)
def test_the_limits_of_expressions_hold_on_the_quick_road(
    filled: Engine, more: Request, kind: str
) -> None:
    request: Request = {
        "TableName": SIMPLE,
        "KeyConditionExpression": "pk = :p",
        "FilterExpression": "c = :c",
        "ExpressionAttributeValues": {":p": {"S": "a"}, ":c": {"S": "x"}},
    }
    found, *_ = _same_both_ways(filled, "execute", "Query", request | more)
    assert found.startswith(kind)


def test_plain_queries_find_something(filled: Engine) -> None:
    found = filled.execute(
        "Query",
        {
            "TableName": "Texts",
            "KeyConditionExpression": "pk = :p AND sk > :s",
            "ExpressionAttributeValues": {":p": {"S": "a"}, ":s": {"S": "a"}},
        },
    )
    assert [item["sk"]["S"] for item in found["Items"]] == [
        *("a\0", "aa", "ab", "b", "~", "é", "\U0001f600")
    ]


# Writes: one engine goes by the quick road, its twin does not, and both end up with the same.


class Twins:
    """Two engines that start with the same few items."""

    def __init__(self) -> None:
        self.try_fast = Engine.open(":memory:", clock=lambda: 0.0, new_id=lambda: "id")
        self.ordinary = Engine.open(":memory:", clock=lambda: 0.0, new_id=lambda: "id")
        for engine in (self.try_fast, self.ordinary):
            for name, keys in (("Texts", ("S", "S")), ("Numbers", ("N", "N")), (SIMPLE, ("S",))):
                engine.execute("CreateTable", definition(name, keys))
            for place, name in enumerate(("a", "b", "c")):
                put(engine, SIMPLE, {"pk": {"S": name}}, place + 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for table in ("Texts", "Numbers", SIMPLE):
                for through in ({}, *({"IndexName": index} for index in INDEXES)):
                    request = {"TableName": table, **through}
                    one, other = (
                        engine.execute("Scan", request) for engine in (self.try_fast, self.ordinary)
                    )
                    assert one == other
            assert self.try_fast.verify() == self.ordinary.verify() == []
        finally:
            self.try_fast.close()
            self.ordinary.close()


@settings(QUICK, max_examples=60)
@given(st.lists(st.tuples(ways, plain_puts), min_size=1, max_size=5))
def test_plain_puts_leave_the_same(puts: list[tuple[Way, Request]]) -> None:
    ordinary = check_not_mixed.__code__
    with Twins() as twins:
        for way, request in puts:
            with _calls_of(ordinary) as calls:
                quick = _answer(twins.try_fast, way, "PutItem", request)
            assert not calls, "it took the ordinary way"
            with _calls_of(ordinary) as calls:
                slow = _answer(twins.ordinary, way, "PutItem", request | OFF_THE_ROAD)
            assert calls, "there is nothing to compare with"
            assert quick == slow == ("answer", {})


@settings(QUICK, max_examples=60)
@given(st.lists(st.tuples(ways, any_puts), min_size=4, max_size=12))
def test_any_puts_leave_the_same(puts: list[tuple[Way, Request]]) -> None:
    with Twins() as twins:
        for way, request in puts:
            quick = _answer(twins.try_fast, way, "PutItem", request)
            assert quick == _answer(twins.ordinary, way, "PutItem", request | OFF_THE_ROAD)


# Conditions of writes have a road of their own, whatever else is in the request. A condition
# that is true if it is true, or if it is true, says nothing new and is not plain.


def _said_twice(request: Request) -> Request:
    text = request["ConditionExpression"]
    return {**request, "ConditionExpression": f"({text}) OR ({text})"}


def _write(engine: Engine, way: Way, operation: str, request: Request) -> tuple[Any, ...]:
    if operation == "TransactWriteItems":
        request = {"TransactItems": [{"ConditionCheck": request}]}
    return _answer(engine, way, operation, request)


@settings(QUICK, max_examples=100)
@given(st.lists(st.tuples(ways, conditional_writes(is_plain=True)), min_size=1, max_size=4))
def test_plain_conditions_decide_the_same(
    writes: list[tuple[Way, tuple[str, Request]]],
) -> None:
    ordinary = bind_condition.__code__
    with Twins() as twins:
        for way, (operation, request) in writes:
            with _calls_of(ordinary) as calls:
                quick = _write(twins.try_fast, way, operation, request)
            assert not calls, "it took the ordinary way"
            with _calls_of(ordinary) as calls:
                slow = _write(twins.ordinary, way, operation, _said_twice(request))
            assert calls, "there is nothing to compare with"
            assert quick == slow
            assert quick[0] in (
                *("answer", "ConditionalCheckFailedException", "TransactionCanceledException"),
            )


@settings(QUICK, max_examples=100)
@given(st.lists(st.tuples(ways, conditional_writes(is_plain=False)), min_size=4, max_size=8))
def test_any_conditions_decide_the_same(
    writes: list[tuple[Way, tuple[str, Request]]],
) -> None:
    with Twins() as twins:
        for way, (operation, request) in writes:
            quick = _write(twins.try_fast, way, operation, request)
            assert quick == _write(twins.ordinary, way, operation, _said_twice(request))
