"""The recorder fills in, checks and lists answers, here of a server that is made up."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from tests.conformance.record import Ask, masked, record_case
from tests.endpoints.dynamodb_local import NAME

CHECK, ACCEPT = Namespace(accept=False), Namespace(accept=True)
REQUEST = {"TableName": "Absent"}


def answers(**answer: Any) -> Ask:
    """A server that always answers so."""

    def ask(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return answer

    return ask


def test_an_answer_that_is_missing_is_filled_in_with_patterns_for_what_varies() -> None:
    case: dict[str, Any] = {"name": "n", "source": NAME, "request": REQUEST}
    ask = answers(response={"Table": {"CreationDateTime": 17.5, "ItemCount": 0}})
    assert record_case(case, "DescribeTable", ask, CHECK) == []
    assert case["response"] == {"Table": {"CreationDateTime": {"$type": "number"}, "ItemCount": 0}}
    assert record_case(case, "DescribeTable", ask, CHECK) == []


def test_a_difference_is_an_error_until_it_is_accepted() -> None:
    case: dict[str, Any] = {"name": "n", "source": "AWS", "request": REQUEST, "response": {"a": 1}}
    ask = answers(response={"a": 2, "TableId": "0"})
    assert record_case(case, "DescribeTable", ask, CHECK) == [
        "DescribeTable: response.a: expected 1, got 2",
        "DescribeTable: response.TableId: unexpected, got '0'",
    ]
    assert "differences" not in case
    assert record_case(case, "DescribeTable", ask, ACCEPT) == []
    listed = {"response": {"a": 2, "TableId": masked({"TableId": "0"})["TableId"]}}
    assert case["differences"] == {NAME: listed}


def test_a_difference_that_is_gone_is_forgotten() -> None:
    case: dict[str, Any] = {
        "name": "n",
        "source": "AWS",
        "request": REQUEST,
        "response": {"a": 1},
        "differences": {NAME: {"response": {"a": 2}}},
    }
    assert record_case(case, "DescribeTable", answers(response={"a": 1}), CHECK) == []
    assert "differences" not in case


def test_arns_are_kept_but_for_their_region_and_account() -> None:
    arn = "arn:aws:dynamodb:ddblocal:000000000000:table/Made/index/x"
    pattern = "arn:aws:dynamodb:[a-z0-9-]+:[0-9]{12}:table/Made/index/x"
    assert masked({"IndexArn": arn}) == {"IndexArn": {"$match": pattern}}
