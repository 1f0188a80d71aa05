"""Tables as a CloudFormation template."""

from __future__ import annotations

from typing import Any

from keyfold.export._exported import ExportedDocument, find_unique_gaps
from keyfold.export._resource_names import name_tables, to_camel
from keyfold.model import Table


def export_cloudformation(*tables: Table) -> ExportedDocument:
    """Return a CloudFormation template of the tables; raises DeclarationInvalid.

    >>> from keyfold import Key
    >>> template = export_cloudformation(Table("Songs", key=Key("artist"))).content
    >>> template["Resources"]["SongsTable"]["Properties"]["BillingMode"]
    'PAY_PER_REQUEST'

    A table that is removed from the template, or whose stack is deleted, is retained.
    """
    for table in tables:
        table.check()
    named = name_tables(tables, make_logical_id)
    document = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "Written by keyfold export cloudformation. Change the declaration instead.",
        "Resources": {name: make_resource(table) for name, table in named.items()},
        "Outputs": {
            output: {"Value": value}
            for name, table in named.items()
            for output, value in make_outputs(name, table).items()
        },
    }
    return ExportedDocument(document, tuple(find_unique_gaps(tables)))


def make_logical_id(name: str) -> str:
    """Return the logical id of a table: letters and digits alone.

    >>> make_logical_id("my-shop")
    'MyShopTable'
    """
    return f"{to_camel(name)}Table"


def make_resource(table: Table) -> dict[str, Any]:
    """Return the CloudFormation resource of a table."""
    return {
        "Type": "AWS::DynamoDB::Table",
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": _make_properties(table),
    }


def _make_properties(table: Table) -> dict[str, Any]:
    properties = table.to_dynamodb()
    if table.stream is not None:
        view = properties["StreamSpecification"]["StreamViewType"]
        # CloudFormation has no StreamEnabled: a stream that is specified is enabled.
        properties["StreamSpecification"] = {"StreamViewType": view}
    if "Tags" in properties:
        # As the CDK sorts them, so that both give the same template.
        properties["Tags"] = sorted(properties["Tags"], key=lambda tag: tag["Key"])
    if table.ttl is not None:
        properties["TimeToLiveSpecification"] = {"AttributeName": table.ttl, "Enabled": True}
    return properties


def make_outputs(name: str, table: Table) -> dict[str, Any]:
    """Return the values of a stack's outputs: the table's name and ARN, and that of its stream."""
    outputs: dict[str, Any] = {
        f"{name}Name": {"Ref": name},
        f"{name}Arn": {"Fn::GetAtt": [name, "Arn"]},
    }
    if table.stream is not None:
        outputs[f"{name}StreamArn"] = {"Fn::GetAtt": [name, "StreamArn"]}
    return outputs
