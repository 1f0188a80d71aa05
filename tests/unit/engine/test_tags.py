"""Tags of tables, which are named by their ARNs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import ResourceNotFoundException, ValidationException
from tests.unit.engine.storage.tables import ADD_INDEX, CREATE, TABLE, create

ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        create(engine)
        yield engine
        assert engine.verify() == []


def _list(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _tag(engine: Engine, **tags: str) -> None:
    assert engine.execute("TagResource", {"ResourceArn": ARN, "Tags": _list(tags)}) == {}


def _tags(engine: Engine) -> dict[str, str]:
    answer = engine.execute("ListTagsOfResource", {"ResourceArn": ARN})
    return {tag["Key"]: tag["Value"] for tag in answer["Tags"]}


def test_the_arn_of_a_description_names_the_table(engine: Engine) -> None:
    described = engine.execute("DescribeTable", {"TableName": TABLE})["Table"]
    assert described["TableArn"] == ARN
    assert _tags(engine) == {}


def test_tags_are_added_replaced_and_removed(engine: Engine) -> None:
    _tag(engine, team="red", stage="test")
    _tag(engine, team="blue", empty="")
    assert _tags(engine) == {"team": "blue", "stage": "test", "empty": ""}
    request = {"ResourceArn": ARN, "TagKeys": ["stage", "unknown"]}
    assert engine.execute("UntagResource", request) == {}
    assert _tags(engine) == {"team": "blue", "empty": ""}


def test_a_table_may_be_created_with_tags_and_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", {**CREATE, "Tags": _list({"team": "red"})})
        engine.execute("UpdateTable", ADD_INDEX)
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        assert _tags(engine) == {"team": "red"}
        engine.execute("DeleteTable", {"TableName": TABLE})
        create(engine)
        assert _tags(engine) == {}, "it is a new table"


def test_a_table_has_fifty_tags_at_the_most(engine: Engine) -> None:
    _tag(engine, **{f"tag-{number}": "x" for number in range(50)})
    _tag(engine, **{"tag-7": "y"})
    with pytest.raises(ValidationException, match="Number of Tags exceed the current limit"):
        _tag(engine, more="x")
    assert len(_tags(engine)) == 50


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([], "Atleast one Tag needs to be provided as Input."),
        (
            [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}],
            "Duplicate Tag Keys provided as input: Duplicate Tag Key found a",
        ),
        ([{"Key": "aws:mine", "Value": "1"}], "Tag Key cannot be prefixed with aws:"),
        ([{"Key": "a!", "Value": "1"}], "The Tag Key provided is invalid, Key: a!"),
        ([{"Key": "a", "Value": "1?"}], r"The Tag Value provided is invalid, Value: 1\?"),
    ],
)
def test_an_invalid_tag_is_refused_together_with_the_others(
    engine: Engine, tags: list[dict[str, str]], message: str
) -> None:
    good = {"Key": "good", "Value": "x"}
    given = [good, *tags] if tags else []
    with pytest.raises(ValidationException, match=message):
        engine.execute("TagResource", {"ResourceArn": ARN, "Tags": given})
    assert _tags(engine) == {}


ABOUT_TAGS: dict[str, dict[str, Any]] = {
    "TagResource": {"Tags": [{"Key": "a", "Value": "b"}]},
    "UntagResource": {"TagKeys": ["a"]},
    "ListTagsOfResource": {},
}


@pytest.mark.parametrize("operation", ABOUT_TAGS)
@pytest.mark.parametrize(
    ("arn", "message"),
    [
        (TABLE, f"ARNs must start with 'arn:': {TABLE}"),
        ("arn:aws:s3:::bucket", "Invalid TableArn: Invalid ResourceArn provided as input"),
        (f"{ARN}/index/by-a", "Invalid TableArn: Invalid ResourceArn provided as input"),
        (f"{ARN}\n", "Invalid TableArn: Invalid ResourceArn provided as input"),
        ("", "."),
        (None, "Invalid TableArn"),
    ],
)
def test_arns_that_are_not_of_a_table_are_refused(
    engine: Engine, operation: str, arn: str | None, message: str
) -> None:
    with pytest.raises(ValidationException, match=message):
        engine.execute(operation, {"ResourceArn": arn, **ABOUT_TAGS[operation]})


@pytest.mark.parametrize("operation", ABOUT_TAGS)
def test_a_missing_table_has_no_tags(engine: Engine, operation: str) -> None:
    arn = ARN.replace(TABLE, "Nowhere")
    with pytest.raises(ResourceNotFoundException, match=f"{arn} not found"):
        engine.execute(operation, {"ResourceArn": arn, **ABOUT_TAGS[operation]})


def test_an_empty_list_of_tags_to_remove_is_refused(engine: Engine) -> None:
    with pytest.raises(ValidationException, match="Atleast one Tag Key needs to be provided"):
        engine.execute("UntagResource", {"ResourceArn": ARN, "TagKeys": []})
