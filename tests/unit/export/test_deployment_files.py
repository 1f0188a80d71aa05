from __future__ import annotations

import ast
import re
import subprocess
import sys
from typing import Any

import pytest

from keyfold import Entity, Key, Table
from keyfold.errors import DeclarationInvalid
from keyfold.export import (
    ExportedDocument,
    export_cdk,
    export_cloudformation,
    export_create_table,
    export_terraform,
)
from tests.exports.deployed import find_differences_of
from tests.exports.tables import TABLES, counters, market, shipments

each_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


def content_of(document: ExportedDocument) -> dict[str, Any]:
    assert not isinstance(document.content, str)
    return document.content


@each_table
def test_the_input_of_create_table_makes_the_declared_table(table: Table) -> None:
    exported = export_create_table(table)
    assert find_differences_of(content_of(exported), table.ttl, table) == []


def test_create_table_cannot_set_a_ttl() -> None:
    [gap] = export_create_table(shipments).gaps
    assert str(gap) == (
        "my-shop.Shipments: CreateTable cannot let items expire by 'expires'. Run: aws dynamodb "
        "update-time-to-live --table-name my-shop.Shipments --time-to-live-specification "
        "Enabled=true,AttributeName=expires"
    )
    assert export_create_table(counters).gaps == ()


@each_table
def test_a_template_makes_the_declared_table(table: Table) -> None:
    [resource] = content_of(export_cloudformation(table))["Resources"].values()
    assert resource["Type"] == "AWS::DynamoDB::Table"
    assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Retain"
    request = dict(resource["Properties"])
    if "StreamSpecification" in request:
        request["StreamSpecification"] = {"StreamEnabled": True, **request["StreamSpecification"]}
    ttl = request.pop("TimeToLiveSpecification", {"Enabled": True, "AttributeName": None})
    assert ttl["Enabled"]
    assert find_differences_of(request, ttl["AttributeName"], table) == []


def test_a_template_exports_the_names_of_what_it_makes() -> None:
    template = content_of(export_cloudformation(shipments, counters))
    assert [*template["Resources"]] == ["MyShopShipmentsTable", "CountersTable"]
    assert template["Outputs"] == {
        "MyShopShipmentsTableName": {"Value": {"Ref": "MyShopShipmentsTable"}},
        "MyShopShipmentsTableArn": {"Value": {"Fn::GetAtt": ["MyShopShipmentsTable", "Arn"]}},
        "MyShopShipmentsTableStreamArn": {
            "Value": {"Fn::GetAtt": ["MyShopShipmentsTable", "StreamArn"]}
        },
        "CountersTableName": {"Value": {"Ref": "CountersTable"}},
        "CountersTableArn": {"Value": {"Fn::GetAtt": ["CountersTable", "Arn"]}},
    }


def test_tables_whose_names_differ_in_punctuation_get_different_resources() -> None:
    tables = [Table(name, key=Key("id")) for name in ("my-shop", "my_shop", "MyShop")]
    template = content_of(export_cloudformation(*tables))
    assert [*template["Resources"]] == ["MyShopTable", "MyShopTable2", "MyShopTable3"]
    configuration = content_of(export_terraform(*tables))
    named = configuration["resource"]["aws_dynamodb_table"]
    assert [*named] == ["my_shop", "my_shop2", "my_shop3"]


# The arguments of aws_dynamodb_table, by the documentation of version 6.29 of the provider.
ARGUMENTS = {
    "": {
        "name",
        "billing_mode",
        "read_capacity",
        "write_capacity",
        "on_demand_throughput",
        "hash_key",
        "range_key",
        "attribute",
        "global_secondary_index",
        "local_secondary_index",
        "ttl",
        "stream_enabled",
        "stream_view_type",
        "deletion_protection_enabled",
        "tags",
        "lifecycle",
    },
    "attribute": {"name", "type"},
    "global_secondary_index": {
        "name",
        "key_schema",
        "projection_type",
        "non_key_attributes",
        "read_capacity",
        "write_capacity",
        "on_demand_throughput",
    },
    "local_secondary_index": {"name", "range_key", "projection_type", "non_key_attributes"},
}


@each_table
def test_a_terraform_configuration_makes_the_declared_table(table: Table) -> None:
    configuration = content_of(export_terraform(table))
    provider = configuration["terraform"]["required_providers"]["aws"]
    assert provider == {"source": "hashicorp/aws", "version": ">= 6.29"}
    [resource] = configuration["resource"]["aws_dynamodb_table"].values()
    assert resource["lifecycle"] == {"prevent_destroy": True}
    assert resource.keys() <= ARGUMENTS[""]
    for block in ("attribute", "global_secondary_index", "local_secondary_index"):
        for each in resource.get(block, ()):
            assert each.keys() <= ARGUMENTS[block]
    resource = read_templates(resource)
    ttl = resource.get("ttl", {"enabled": True, "attribute_name": None})
    assert ttl["enabled"]
    request = from_terraform(resource)
    assert find_differences_of(request, ttl["attribute_name"], table) == []


def read_templates(value: Any) -> Any:
    """Return texts as Terraform reads them: a template would be an error here."""
    if isinstance(value, str):
        assert re.search(r"(?<!\$)\$\{|(?<!%)%\{", value) is None
        return value.replace("$${", "${").replace("%%{", "%{")
    if isinstance(value, list):
        return [read_templates(each) for each in value]  # pyright: ignore[reportUnknownVariableType] - JSON
    if isinstance(value, dict):
        return {read_templates(name): read_templates(each) for name, each in value.items()}  # pyright: ignore[reportUnknownVariableType] - JSON
    return value


def from_terraform(resource: dict[str, Any]) -> dict[str, Any]:
    """Return the CreateTable call that the provider makes of a resource."""

    def throughput(block: dict[str, Any]) -> dict[str, Any]:
        if "on_demand_throughput" in block:
            names = {
                "max_read_request_units": "MaxReadRequestUnits",
                "max_write_request_units": "MaxWriteRequestUnits",
            }
            given = block["on_demand_throughput"].items()
            return {"OnDemandThroughput": {names[name]: units for name, units in given}}
        if resource["billing_mode"] == "PAY_PER_REQUEST":
            return {}
        units = {
            "ReadCapacityUnits": block["read_capacity"],
            "WriteCapacityUnits": block["write_capacity"],
        }
        return {"ProvisionedThroughput": units}

    def projection(block: dict[str, Any]) -> dict[str, Any]:
        named = block.get("non_key_attributes")
        more = {} if named is None else {"NonKeyAttributes": named}
        return {"Projection": {"ProjectionType": block["projection_type"], **more}}

    hash_key = {"AttributeName": resource["hash_key"], "KeyType": "HASH"}
    keys = [hash_key]
    if "range_key" in resource:
        keys.append({"AttributeName": resource["range_key"], "KeyType": "RANGE"})
    request: dict[str, Any] = {
        "TableName": resource["name"],
        "BillingMode": resource["billing_mode"],
        "KeySchema": keys,
        "AttributeDefinitions": [
            {"AttributeName": each["name"], "AttributeType": each["type"]}
            for each in resource["attribute"]
        ],
        **throughput(resource),
    }
    if "global_secondary_index" in resource:
        request["GlobalSecondaryIndexes"] = [
            {
                "IndexName": each["name"],
                "KeySchema": [
                    {"AttributeName": key["attribute_name"], "KeyType": key["key_type"]}
                    for key in each["key_schema"]
                ],
                **projection(each),
                **throughput(each),
            }
            for each in resource["global_secondary_index"]
        ]
    if "local_secondary_index" in resource:
        request["LocalSecondaryIndexes"] = [
            {
                "IndexName": each["name"],
                "KeySchema": [
                    hash_key,
                    {"AttributeName": each["range_key"], "KeyType": "RANGE"},
                ],
                **projection(each),
            }
            for each in resource["local_secondary_index"]
        ]
    if resource.get("stream_enabled"):
        view = resource["stream_view_type"]
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
    if "deletion_protection_enabled" in resource:
        request["DeletionProtectionEnabled"] = resource["deletion_protection_enabled"]
    if "tags" in resource:
        request["Tags"] = [{"Key": key, "Value": each} for key, each in resource["tags"].items()]
    return request


def read_call(node: ast.expr) -> Any:
    """Return what an expression of an exported stack means, in CloudFormation's names."""
    match node:
        case ast.Call(keywords=keywords):
            return {
                "".join(word.capitalize() for word in str(each.arg).split("_")): read_call(
                    each.value
                )
                for each in keywords
            }
        case ast.List(elts=members):
            return [read_call(each) for each in members]
        case _:
            return ast.literal_eval(node)


@each_table
def test_a_stack_has_the_properties_of_the_template(table: Table) -> None:
    source = export_cdk(table).to_text()
    [made] = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "dynamodb.CfnTable"
    ]
    [(name, resource)] = content_of(export_cloudformation(table))["Resources"].items()
    assert ast.literal_eval(made.args[1]) == name
    assert read_call(made) == resource["Properties"]


@pytest.mark.parametrize("tables", [[market], [shipments], [counters], TABLES], ids=len)
def test_a_stack_is_well_formatted_python(tables: list[Table]) -> None:
    source = export_cdk(*tables).to_text()
    ruff = [sys.executable, "-m", "ruff"]
    settings = ["--isolated", "--stdin-filename", "stack.py", "-"]
    for command in (["format", "--check"], ["check", "--select=E,F,I,UP"]):
        done = subprocess.run(
            [*ruff, *command, *settings], input=source, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "export", [export_cdk, export_cloudformation, export_create_table, export_terraform]
)
def test_guards_of_unique_fields_are_left_to_apply(export: Any) -> None:
    gap = export(market).gaps[0]
    assert (gap.subject, gap.advice) == ("Market", "Run keyfold apply once the table exists.")


@pytest.mark.parametrize(
    "export", [export_cdk, export_cloudformation, export_create_table, export_terraform]
)
def test_a_declaration_with_problems_is_not_exported(export: Any) -> None:
    broken = Table("Broken", key=Key("pk"), ttl="expires")

    class Thing(Entity, table=broken, key="T#{id}"):
        id: str

    assert broken.entities.keys() == {Thing.__name__}
    with pytest.raises(DeclarationInvalid, match="no entity has a field stored as 'expires'"):
        export(broken)
