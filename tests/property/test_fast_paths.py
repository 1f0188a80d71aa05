"""The fast paths give the same responses as the ordinary path.

The service ignores unknown members of a request, and the engine takes requests with one off the fast
paths. So every request is sent twice, with and without such a member, and the responses are compared.
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
from hypothesis import given
from hypothesis import strategies as st

from keyfold.api import ProposedWrite
from keyfold.api.expression_use import check_not_mixed
from keyfold.engine import Engine
from keyfold.errors import ServiceError
from keyfold.expressions.conditions import bind_condition
from keyfold.expressions.key_conditions import bind_key_condition
from keyfold.values import normalise_item
from tests.examples import examples
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
    nearly_simple_queries,
    put,
    simple_keys,
    simple_puts,
    simple_queries,
)

Method = Literal["execute", "execute_json"]

SETTINGS = examples(125)

OFF_THE_FAST_PATH: Request = {"Unknown": 1}

methods: Drawn[Method] = st.sampled_from(["execute", "execute_json"])


@pytest.fixture(scope="module")
def filled() -> Iterator[Engine]:
    """A filled engine for reads, with its tables in the cache."""
    with Engine.open(":memory:") as engine:
        fill(engine)
        yield engine
        assert engine.verify() == []


def _answer(engine: Engine, method: Method, operation: str, request: Request) -> tuple[Any, ...]:
    """Return what a caller gets: the response, or all facts of the error."""
    try:
        if method == "execute":
            return ("answer", engine.execute(operation, deepcopy(request)))
        body = json.dumps(request).encode()
        return ("answer", json.loads(engine.execute_json(operation, body)))
    except ServiceError as error:
        return (error.type, error.message, error.fields)


@contextmanager
def _calls_of(code: CodeType) -> Generator[list[str]]:
    """Record every call of a function, by whatever name it was imported."""
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


def _same_on_both_paths(
    engine: Engine, method: Method, operation: str, request: Request
) -> tuple[Any, ...]:
    """Send a request with and without the unknown member; return the response of both."""
    fast = _answer(engine, method, operation, request)
    assert fast == _answer(engine, method, operation, request | OFF_THE_FAST_PATH)
    return fast


def _same_on_the_fast_path(
    engine: Engine, method: Method, operation: str, request: Request, *, ordinary: CodeType
) -> tuple[Any, ...]:
    """Do the same for a request on the fast path; only the ordinary path calls `ordinary`."""
    with _calls_of(ordinary) as calls:
        fast = _answer(engine, method, operation, request)
    assert not calls, "it took the ordinary path"
    with _calls_of(ordinary) as calls:
        slow = _answer(engine, method, operation, request | OFF_THE_FAST_PATH)
    assert calls, "it did not take the ordinary path"
    assert fast == slow
    return fast


@SETTINGS
@given(methods, simple_keys)
def test_a_get_by_simple_keys_gives_the_same_on_both_paths(
    filled: Engine, method: Method, request: Request
) -> None:
    ordinary = normalise_item.__code__
    _same_on_the_fast_path(filled, method, "GetItem", request, ordinary=ordinary)


@SETTINGS
@given(methods, any_keys)
def test_a_get_by_any_key_gives_the_same_on_both_paths(
    filled: Engine, method: Method, request: Request
) -> None:
    _same_on_both_paths(filled, method, "GetItem", request)


@SETTINGS
@given(methods, simple_queries())
def test_a_simple_query_gives_the_same_on_both_paths(
    filled: Engine, method: Method, request: Request
) -> None:
    ordinary = bind_key_condition.__code__
    kind, page, *_ = _same_on_the_fast_path(filled, method, "Query", request, ordinary=ordinary)
    assert kind == "answer"
    # The following pages are the same, too.
    while "LastEvaluatedKey" in page:
        request = request | {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        _, page = _same_on_both_paths(filled, method, "Query", request)


@examples(200)
@given(methods, nearly_simple_queries())
def test_a_nearly_simple_query_gives_the_same_on_both_paths(
    filled: Engine, method: Method, request: Request
) -> None:
    _same_on_both_paths(filled, method, "Query", request)


@examples(200)
@given(methods, any_queries)
def test_any_query_gives_the_same_on_both_paths(
    filled: Engine, method: Method, request: Request
) -> None:
    _same_on_both_paths(filled, method, "Query", request)


@pytest.mark.parametrize("length", [255, 256])
@pytest.mark.parametrize("where", ["KeyConditionExpression", "FilterExpression"])
def test_a_long_placeholder_gives_the_same_on_both_paths(
    filled: Engine, where: str, length: int
) -> None:
    long = ":" + "v" * (length - 1)
    texts = {"KeyConditionExpression": "pk = :p", "FilterExpression": "b = :b"}
    values = {":p": {"S": "a"}, ":b": {"BOOL": True}}
    old = texts[where][-2:]
    texts[where] = texts[where].replace(old, long)
    values[long] = values.pop(old)
    request = {"TableName": SIMPLE, **texts, "ExpressionAttributeValues": values}
    kind, *_ = _same_on_both_paths(filled, "execute", "Query", request)
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
def test_the_limits_of_expressions_hold_on_the_fast_path(
    filled: Engine, more: Request, kind: str
) -> None:
    request: Request = {
        "TableName": SIMPLE,
        "KeyConditionExpression": "pk = :p",
        "FilterExpression": "c = :c",
        "ExpressionAttributeValues": {":p": {"S": "a"}, ":c": {"S": "x"}},
    }
    found, *_ = _same_on_both_paths(filled, "execute", "Query", request | more)
    assert found.startswith(kind)


def test_simple_queries_find_something(filled: Engine) -> None:
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


# Writes: one engine takes the fast path, the other does not, and both store the same.


def _accept(write: ProposedWrite) -> str | None:
    """Look only at the item that is put, as the check of an entity without unique fields does."""
    return "it is refused" if write.after is None else None


class EnginePair:
    """Two engines that start with the same few items; they check writes if `is_checked`."""

    def __init__(self, *, is_checked: bool = False) -> None:
        tables = (("Texts", ("S", "S")), ("Numbers", ("N", "N")), (SIMPLE, ("S",)))
        checks = {name: _accept for name, _ in tables} if is_checked else None
        self.fast, self.ordinary = (
            Engine.open(":memory:", clock=lambda: 0.0, new_id=lambda: "id", write_checks=checks)
            for _ in range(2)
        )
        for engine in (self.fast, self.ordinary):
            for name, keys in tables:
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
                        engine.execute("Scan", request) for engine in (self.fast, self.ordinary)
                    )
                    assert one == other
            assert self.fast.verify() == self.ordinary.verify() == []
        finally:
            self.fast.close()
            self.ordinary.close()


@examples(40)
@given(st.lists(st.tuples(methods, simple_puts), min_size=1, max_size=5), st.booleans())
def test_simple_puts_store_the_same_on_both_paths(
    puts: list[tuple[Method, Request]], is_checked: bool
) -> None:
    ordinary = check_not_mixed.__code__
    with EnginePair(is_checked=is_checked) as engines:
        for method, request in puts:
            with _calls_of(ordinary) as calls:
                fast = _answer(engines.fast, method, "PutItem", request)
            assert not calls, "it took the ordinary path"
            with _calls_of(ordinary) as calls:
                slow = _answer(engines.ordinary, method, "PutItem", request | OFF_THE_FAST_PATH)
            assert calls, "it did not take the ordinary path"
            assert fast == slow == ("answer", {})


@examples(40)
@given(st.lists(st.tuples(methods, any_puts), min_size=4, max_size=12))
def test_any_puts_store_the_same_on_both_paths(puts: list[tuple[Method, Request]]) -> None:
    with EnginePair() as engines:
        for method, request in puts:
            fast = _answer(engines.fast, method, "PutItem", request)
            assert fast == _answer(engines.ordinary, method, "PutItem", request | OFF_THE_FAST_PATH)


# Conditions of writes have their own fast path, whatever else is in the request. `NOT (NOT (x))`
# means the same as `x` and does not take it.


def _off_the_fast_path(request: Request) -> Request:
    text = request["ConditionExpression"]
    return {**request, "ConditionExpression": f"NOT (NOT ({text}))"}


def _write(engine: Engine, method: Method, operation: str, request: Request) -> tuple[Any, ...]:
    if operation == "TransactWriteItems":
        request = {"TransactItems": [{"ConditionCheck": request}]}
    return _answer(engine, method, operation, request)


@examples(60)
@given(st.lists(st.tuples(methods, conditional_writes(is_simple=True)), min_size=1, max_size=4))
def test_simple_conditions_decide_the_same_on_both_paths(
    writes: list[tuple[Method, tuple[str, Request]]],
) -> None:
    ordinary = bind_condition.__code__
    with EnginePair() as engines:
        for method, (operation, request) in writes:
            with _calls_of(ordinary) as calls:
                fast = _write(engines.fast, method, operation, request)
            assert not calls, "it took the ordinary path"
            with _calls_of(ordinary) as calls:
                slow = _write(engines.ordinary, method, operation, _off_the_fast_path(request))
            assert calls, "it did not take the ordinary path"
            assert fast == slow
            assert fast[0] in (
                *("answer", "ConditionalCheckFailedException", "TransactionCanceledException"),
            )


@examples(60)
@given(st.lists(st.tuples(methods, conditional_writes(is_simple=False)), min_size=4, max_size=8))
def test_any_conditions_decide_the_same_on_both_paths(
    writes: list[tuple[Method, tuple[str, Request]]],
) -> None:
    with EnginePair() as engines:
        for method, (operation, request) in writes:
            fast = _write(engines.fast, method, operation, request)
            assert fast == _write(engines.ordinary, method, operation, _off_the_fast_path(request))
