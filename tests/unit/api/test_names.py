from __future__ import annotations

import pytest

from keyfold.api.shapes import check, plain_name, table_name
from keyfold.errors import ValidationException

ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/Music"


@pytest.mark.parametrize("name", ["Music", ".-_", "a" * 255])
def test_a_plain_name_stands_for_itself(name: str) -> None:
    assert plain_name(name) == name
    assert table_name({"TableName": name}) == name


@pytest.mark.parametrize(
    "arn",
    [
        ARN,
        "arn:aws-cn:dynamodb:cn-north-1:1:table/Music",
        "arn:aws:dynamodb:ddblocal:0:table/Music",
    ],
)
def test_an_arn_stands_for_the_name_in_it(arn: str) -> None:
    assert plain_name(arn) == "Music"
    assert table_name({"TableName": arn}) == "Music"


@pytest.mark.parametrize(
    "arn",
    [
        "arn:",
        "arn:aws:dynamodb",
        "arn:aws:s3:eu-west-1:123456789012:table/Music",
        "arn:aws:dynamodb:eu-west-1:123456789012:table/a;",
        "arn:aws:dynamodb:eu-west-1:123456789012:table/ab",
        f"{ARN}/index/ByYear",
        f"{ARN}\n",
    ],
)
def test_an_arn_that_is_not_of_a_table_is_refused(arn: str) -> None:
    with pytest.raises(ValidationException, match="Valid ARN format is 'arn:<awsPartition>:"):
        plain_name(arn)
    for operation in ("DescribeTable", "Scan"):
        with pytest.raises(ValidationException, match="Valid ARN format is 'arn:<awsPartition>:"):
            check(operation, {"TableName": arn})
