"""Tables as a Terraform configuration in JSON syntax, for a file that ends with `.tf.json`."""

from __future__ import annotations

from typing import Any, cast

from keyfold.export._exported import ExportedDocument, find_unique_gaps
from keyfold.export._resource_names import name_tables, to_snake
from keyfold.model import Table

# The first version whose global indexes take a key_schema, which has several attributes.
_PROVIDER = ">= 6.29"
_RESOURCE = "aws_dynamodb_table"


_TERRAFORM_MAXIMUMS = {
    "MaxReadRequestUnits": "max_read_request_units",
    "MaxWriteRequestUnits": "max_write_request_units",
}


def export_terraform(*tables: Table) -> ExportedDocument:
    """Return a Terraform configuration of the tables; raises DeclarationInvalid.

    >>> from keyfold import Key
    >>> configuration = export_terraform(Table("Songs", key=Key("artist"))).content
    >>> configuration["resource"]["aws_dynamodb_table"]["songs"]["hash_key"]
    'artist'

    Terraform refuses to destroy a table of it (`prevent_destroy`).
    """
    for table in tables:
        table.check()
    named = name_tables(tables, to_snake)
    source = {"source": "hashicorp/aws", "version": _PROVIDER}
    document = {
        "//": "Written by keyfold export terraform. Change the declaration instead.",
        "terraform": {"required_providers": {"aws": source}},
        "resource": {_RESOURCE: {name: _make_resource(table) for name, table in named.items()}},
        "output": {
            output: {"value": value}
            for name, table in named.items()
            for output, value in _make_outputs(name, table).items()
        },
    }
    return ExportedDocument(document, tuple(find_unique_gaps(tables)))


def _make_resource(table: Table) -> dict[str, Any]:
    request = table.to_dynamodb()
    resource: dict[str, Any] = {
        "name": table.name,
        "billing_mode": request["BillingMode"],
        **_make_throughput(request),
        "hash_key": table.key.partition[0],
    }
    if table.key.sort:
        resource["range_key"] = table.key.sort[0]
    resource["attribute"] = [
        {"name": each["AttributeName"], "type": each["AttributeType"]}
        for each in request["AttributeDefinitions"]
    ]
    if "GlobalSecondaryIndexes" in request:
        resource["global_secondary_index"] = [
            _make_global_index(each) for each in request["GlobalSecondaryIndexes"]
        ]
    if "LocalSecondaryIndexes" in request:
        resource["local_secondary_index"] = [
            _make_local_index(each) for each in request["LocalSecondaryIndexes"]
        ]
    if table.ttl is not None:
        resource["ttl"] = {"attribute_name": table.ttl, "enabled": True}
    if table.stream is not None:
        resource["stream_enabled"] = True
        resource["stream_view_type"] = request["StreamSpecification"]["StreamViewType"]
    if table.deletion_protection is not None:
        resource["deletion_protection_enabled"] = table.deletion_protection
    if table.tags:
        resource["tags"] = dict(table.tags)
    return {**_escape(resource), "lifecycle": {"prevent_destroy": True}}


def _make_global_index(index: dict[str, Any]) -> dict[str, Any]:
    keys = [
        {"attribute_name": each["AttributeName"], "key_type": each["KeyType"]}
        for each in index["KeySchema"]
    ]
    return {
        "name": index["IndexName"],
        "key_schema": keys,
        **_make_projection(index),
        **_make_throughput(index),
    }


def _make_local_index(index: dict[str, Any]) -> dict[str, Any]:
    sort_key = index["KeySchema"][-1]["AttributeName"]
    return {"name": index["IndexName"], "range_key": sort_key, **_make_projection(index)}


def _make_projection(index: dict[str, Any]) -> dict[str, Any]:
    projection = index["Projection"]
    made: dict[str, Any] = {"projection_type": projection["ProjectionType"]}
    if "NonKeyAttributes" in projection:
        made["non_key_attributes"] = projection["NonKeyAttributes"]
    return made


def _make_throughput(definition: dict[str, Any]) -> dict[str, Any]:
    provisioned = definition.get("ProvisionedThroughput")
    if "OnDemandThroughput" in definition:
        maximums = {
            _TERRAFORM_MAXIMUMS[name]: each
            for name, each in definition["OnDemandThroughput"].items()
        }
        return {"on_demand_throughput": maximums}
    if provisioned is None:
        return {}
    return {
        "read_capacity": provisioned["ReadCapacityUnits"],
        "write_capacity": provisioned["WriteCapacityUnits"],
    }


def _make_outputs(name: str, table: Table) -> dict[str, str]:
    attributes = {"name": "name", "arn": "arn"}
    if table.stream is not None:
        attributes["stream_arn"] = "stream_arn"
    return {
        f"{name}_table_{output}": f"${{{_RESOURCE}.{name}.{attribute}}}"
        for output, attribute in attributes.items()
    }


def _escape(value: Any) -> Any:
    """Return a value whose texts Terraform takes as they are, and not as templates."""
    match value:
        case str():
            return value.replace("${", "$${").replace("%{", "%%{")
        case list():
            return [_escape(each) for each in cast(list[Any], value)]
        case dict():
            pairs = cast(dict[str, Any], value).items()
            return {_escape(name): _escape(each) for name, each in pairs}
        case _:
            return value
