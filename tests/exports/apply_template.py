"""Create the stacks of templates in moto, and print what it says of each table.

Run by the Python of requirements-validators.txt: python apply_template.py TEMPLATE…
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

boto3: Any = import_module("boto3")
mock_aws: Any = import_module("moto").mock_aws


def main() -> None:
    """Print a JSON list: for each template, the responses about its table."""
    os.environ |= {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
    print(json.dumps([apply(Path(each).read_text("utf-8")) for each in sys.argv[1:]], default=str))


@mock_aws
def apply(template: str) -> dict[str, Any]:
    """Return the responses about the table that a template makes."""
    cloudformation = boto3.client("cloudformation", "eu-west-1")
    dynamodb = boto3.client("dynamodb", "eu-west-1")
    cloudformation.create_stack(StackName="stack", TemplateBody=template)
    [stack] = cloudformation.describe_stacks(StackName="stack")["Stacks"]
    assert stack["StackStatus"] == "CREATE_COMPLETE", stack
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
    [name] = [value for key, value in outputs.items() if key.endswith("TableName")]
    described = dynamodb.describe_table(TableName=name)
    arn = described["Table"]["TableArn"]
    assert arn in outputs.values()
    return {
        "DescribeTable": described,
        "DescribeTimeToLive": dynamodb.describe_time_to_live(TableName=name),
        "ListTagsOfResource": dynamodb.list_tags_of_resource(ResourceArn=arn),
    }


if __name__ == "__main__":
    main()
