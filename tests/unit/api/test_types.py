"""Wrong JSON types, refused with the service's wording.

The messages for each type, and the type of each member, are from architect/dynalite's tests
(test/helpers.js and one file per operation), which were run against DynamoDB.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyfold.api.shapes import check, check_types
from keyfold.errors import SerializationException

STRUCTURE = "Start of structure or map found where not expected"
CAST = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
    "java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and "
    "java.lang.Class are in module java.base of loader 'bootstrap')"
)
OURS = "com.amazonaws.dynamodb.v20120810."
SCALARS: list[Any] = ["23", True, 23, -2147483648, 2147483648, 34.56]


def refusals(kind: str) -> list[tuple[Any, str]]:
    """Return values that a member of this kind does not accept, with the service's messages."""
    kind, _, inner = kind.partition("<")
    inner = inner.removesuffix(">")
    inner_class = inner if "." in inner else OURS + inner
    map_class = f"java.util.Map<java.lang.String, {inner_class}>"
    match kind:
        case "String":
            return [
                (True, "TRUE_VALUE cannot be converted to String"),
                (False, "FALSE_VALUE cannot be converted to String"),
                (23, "NUMBER_VALUE cannot be converted to String"),
                (34.56, "DECIMAL_VALUE cannot be converted to String"),
                ([], "Unrecognized collection type class java.lang.String"),
                ({}, STRUCTURE),
            ]
        case "Boolean":
            return [
                ("23", "Unexpected token received from parser"),
                (23, "NUMBER_VALUE cannot be converted to Boolean"),
                (34.56, "DECIMAL_VALUE cannot be converted to Boolean"),
                ([], "Unrecognized collection type class java.lang.Boolean"),
                ({}, STRUCTURE),
            ]
        case "Integer" | "Long":
            return [
                ("23", f"STRING_VALUE cannot be converted to {kind}"),
                (True, f"TRUE_VALUE cannot be converted to {kind}"),
                (False, f"FALSE_VALUE cannot be converted to {kind}"),
                ([], f"Unrecognized collection type class java.lang.{kind}"),
                ({}, STRUCTURE),
            ]
        case "Blob":
            not_text = "only base-64-encoded strings are convertible to bytes"
            bits = "Invalid last non-pad Base64 character dectected"
            length = "Base64 encoded length is expected a multiple of 4 bytes but found: 5"
            return [
                (True, not_text),
                (23, not_text),
                (34.56, not_text),
                ([], "Unrecognized collection type class java.nio.ByteBuffer"),
                ({}, STRUCTURE),
                ("23456", length),
                ("=+/=", bits),
                ("+/+=", bits),
            ]
        case "List":
            return [*((value, "Unexpected field type") for value in SCALARS), ({}, STRUCTURE)]
        case "InnerList":
            return [*((value, CAST) for value in SCALARS), ({}, STRUCTURE)]
        case "Map":
            not_map = f"Unrecognized collection type {map_class}"
            return [*((value, "Unexpected field type") for value in SCALARS), ([], not_map)]
        case "InnerMap":
            return [
                *((value, CAST) for value in SCALARS),
                ([], f"Unrecognized collection type {map_class}"),
            ]
        case "Member":
            return [
                *((value, "Unexpected field type") for value in SCALARS),
                ([], f"Unrecognized collection type class {OURS}{inner}"),
            ]
        case "Element":
            return [
                *((value, "Unexpected value type in payload") for value in SCALARS),
                ([], f"Unrecognized collection type class {OURS}{inner}"),
            ]
        case _:
            raise AssertionError(kind)


STRING_NAMES = "Map<java.lang.String>"
VALUES = "Map<AttributeValue>"
EXPRESSION_MEMBERS = {
    "ExpressionAttributeNames": STRING_NAMES,
    "ExpressionAttributeNames.#a": "String",
    "ExpressionAttributeValues": VALUES,
    "ExpressionAttributeValues.:a": "Element<AttributeValue>",
}
CONDITIONAL_MEMBERS = {
    "TableName": "String",
    "ReturnConsumedCapacity": "String",
    "ReturnItemCollectionMetrics": "String",
    "ReturnValues": "String",
    "ConditionExpression": "String",
    "Expected": "Map<ExpectedAttributeValue>",
    "Expected.a": "Element<ExpectedAttributeValue>",
    "Expected.a.Exists": "Boolean",
    "Expected.a.Value": "Member<AttributeValue>",
    **EXPRESSION_MEMBERS,
}


def filter_members(name: str) -> dict[str, str]:
    return {
        name: "Map<Condition>",
        f"{name}.a": "Element<Condition>",
        f"{name}.a.ComparisonOperator": "String",
        f"{name}.a.AttributeValueList": "List",
        f"{name}.a.AttributeValueList.0": "Element<AttributeValue>",
    }


def key_schema_members(path: str) -> dict[str, str]:
    return {
        f"{path}KeySchema": "List",
        f"{path}KeySchema.0": "Element<KeySchemaElement>",
        f"{path}KeySchema.0.AttributeName": "String",
        f"{path}KeySchema.0.KeyType": "String",
    }


def throughput_members(path: str) -> dict[str, str]:
    return {
        f"{path}ProvisionedThroughput": "Member<ProvisionedThroughput>",
        f"{path}ProvisionedThroughput.ReadCapacityUnits": "Long",
        f"{path}ProvisionedThroughput.WriteCapacityUnits": "Long",
    }


def index_members(path: str) -> dict[str, str]:
    return {
        f"{path}.IndexName": "String",
        f"{path}.Projection": "Member<Projection>",
        f"{path}.Projection.ProjectionType": "String",
        f"{path}.Projection.NonKeyAttributes": "List",
        f"{path}.Projection.NonKeyAttributes.0": "String",
        **key_schema_members(f"{path}."),
    }


READ_MEMBERS = {
    "TableName": "String",
    "AttributesToGet": "List",
    "AttributesToGet.0": "String",
    "ConsistentRead": "Boolean",
    "ReturnConsumedCapacity": "String",
    "ExpressionAttributeNames": STRING_NAMES,
    "ExpressionAttributeNames.#a": "String",
    "ProjectionExpression": "String",
}
SEARCH_MEMBERS = {
    **READ_MEMBERS,
    **EXPRESSION_MEMBERS,
    "ExclusiveStartKey": VALUES,
    "ExclusiveStartKey.a": "Element<AttributeValue>",
    "IndexName": "String",
    "Select": "String",
    "Limit": "Integer",
    "ConditionalOperator": "String",
    "FilterExpression": "String",
}
UPDATES = "GlobalSecondaryIndexUpdates"

MEMBERS: dict[str, dict[str, str]] = {
    "BatchGetItem": {
        "RequestItems": "Map<KeysAndAttributes>",
        "RequestItems.t": "Element<KeysAndAttributes>",
        "RequestItems.t.Keys": "List",
        "RequestItems.t.Keys.0": "InnerMap<AttributeValue>",
        "RequestItems.t.Keys.0.a": "Element<AttributeValue>",
        "RequestItems.t.AttributesToGet": "List",
        "RequestItems.t.ConsistentRead": "Boolean",
        "RequestItems.t.ExpressionAttributeNames": STRING_NAMES,
        "RequestItems.t.ExpressionAttributeNames.#a": "String",
        "RequestItems.t.ProjectionExpression": "String",
        "ReturnConsumedCapacity": "String",
    },
    "BatchWriteItem": {
        "RequestItems": f"Map<java.util.List<{OURS}WriteRequest>>",
        "RequestItems.t": "InnerList",
        "RequestItems.t.0": "Element<WriteRequest>",
        "RequestItems.t.0.DeleteRequest": "Member<DeleteRequest>",
        "RequestItems.t.0.DeleteRequest.Key": VALUES,
        "RequestItems.t.0.DeleteRequest.Key.a": "Element<AttributeValue>",
        "RequestItems.t.0.PutRequest": "Member<PutRequest>",
        "RequestItems.t.0.PutRequest.Item": VALUES,
        "RequestItems.t.0.PutRequest.Item.a": "Element<AttributeValue>",
        "ReturnConsumedCapacity": "String",
        "ReturnItemCollectionMetrics": "String",
    },
    "CreateTable": {
        "TableName": "String",
        "AttributeDefinitions": "List",
        "AttributeDefinitions.0": "Element<AttributeDefinition>",
        "AttributeDefinitions.0.AttributeName": "String",
        "AttributeDefinitions.0.AttributeType": "String",
        "LocalSecondaryIndexes": "List",
        "LocalSecondaryIndexes.0": "Element<LocalSecondaryIndex>",
        "GlobalSecondaryIndexes": "List",
        "GlobalSecondaryIndexes.0": "Element<GlobalSecondaryIndex>",
        "BillingMode": "String",
        **key_schema_members(""),
        **throughput_members(""),
        **index_members("LocalSecondaryIndexes.0"),
        **index_members("GlobalSecondaryIndexes.0"),
        **throughput_members("GlobalSecondaryIndexes.0."),
    },
    "DeleteItem": {"Key": VALUES, "Key.a": "Element<AttributeValue>", **CONDITIONAL_MEMBERS},
    "DeleteTable": {"TableName": "String"},
    "DescribeTable": {"TableName": "String"},
    "DescribeTimeToLive": {"TableName": "String"},
    "GetItem": {"Key": VALUES, "Key.a": "Element<AttributeValue>", **READ_MEMBERS},
    "ListTables": {"ExclusiveStartTableName": "String", "Limit": "Integer"},
    "ListTagsOfResource": {"ResourceArn": "String"},
    "PutItem": {"Item": VALUES, "Item.a": "Element<AttributeValue>", **CONDITIONAL_MEMBERS},
    "Query": {
        **SEARCH_MEMBERS,
        **filter_members("QueryFilter"),
        **filter_members("KeyConditions"),
        "ScanIndexForward": "Boolean",
        "KeyConditionExpression": "String",
    },
    "Scan": {
        **SEARCH_MEMBERS,
        **filter_members("ScanFilter"),
        "Segment": "Integer",
        "TotalSegments": "Integer",
    },
    "TagResource": {
        "ResourceArn": "String",
        "Tags": "List",
        "Tags.0": "Element<Tag>",
        "Tags.0.Key": "String",
        "Tags.0.Value": "String",
    },
    "TransactWriteItems": {
        "TransactItems": "List",
        "TransactItems.0": "Element<TransactWriteItem>",
        "TransactItems.0.Put": "Member<Put>",
        "TransactItems.0.Put.Item": VALUES,
        "ClientRequestToken": "String",
    },
    "UntagResource": {"ResourceArn": "String", "TagKeys": "List", "TagKeys.0": "String"},
    "UpdateItem": {
        "Key": VALUES,
        "Key.a": "Element<AttributeValue>",
        "AttributeUpdates": "Map<AttributeValueUpdate>",
        "AttributeUpdates.a": "Element<AttributeValueUpdate>",
        "AttributeUpdates.a.Action": "String",
        "AttributeUpdates.a.Value": "Member<AttributeValue>",
        "UpdateExpression": "String",
        **CONDITIONAL_MEMBERS,
    },
    "UpdateTable": {
        "TableName": "String",
        "BillingMode": "String",
        UPDATES: "List",
        f"{UPDATES}.0": "Element<GlobalSecondaryIndexUpdate>",
        f"{UPDATES}.0.Update": "Member<UpdateGlobalSecondaryIndexAction>",
        f"{UPDATES}.0.Update.IndexName": "String",
        f"{UPDATES}.0.Create": "Member<CreateGlobalSecondaryIndexAction>",
        f"{UPDATES}.0.Delete": "Member<DeleteGlobalSecondaryIndexAction>",
        f"{UPDATES}.0.Delete.IndexName": "String",
        **throughput_members(""),
        **throughput_members(f"{UPDATES}.0.Update."),
        **throughput_members(f"{UPDATES}.0.Create."),
        **index_members(f"{UPDATES}.0.Create"),
    },
    "UpdateTimeToLive": {
        "TableName": "String",
        "TimeToLiveSpecification": "Member<TimeToLiveSpecification>",
        "TimeToLiveSpecification.Enabled": "Boolean",
        "TimeToLiveSpecification.AttributeName": "String",
    },
}

# The members of an attribute value.
INSIDE_VALUES = {
    "S": "String",
    "N": "String",
    "B": "Blob",
    "BOOL": "Boolean",
    "NULL": "Boolean",
    "SS": "List",
    "SS.0": "String",
    "NS": "List",
    "NS.0": "String",
    "BS": "List",
    "BS.0": "Blob",
    "L": "List",
    "L.0": "Element<AttributeValue>",
    "L.0.BS": "List",
    "L.0.BS.0": "Blob",
    "M": VALUES,
    "M.a": "Element<AttributeValue>",
    "M.a.BS": "List",
    "M.a.BS.0": "Blob",
}


def every_member() -> Iterator[tuple[str, str, str]]:
    for operation, members in MEMBERS.items():
        for path, kind in members.items():
            yield operation, path, kind


def every_inside_value() -> Iterator[tuple[str, str, str]]:
    for operation, path, kind in every_member():
        if kind.endswith("<AttributeValue>") and not kind.startswith(("Map", "InnerMap")):
            for inside, inner_kind in INSIDE_VALUES.items():
                yield operation, f"{path}.{inside}", inner_kind


def build_request(path: str, value: Any) -> dict[str, Any]:
    """Return a request that contains only `value` at `path`."""
    for piece in reversed(path.split(".")):
        value = [value] if piece == "0" else {piece: value}
    return value


def test_a_member_of_a_wrong_type_is_refused(subtests: pytest.Subtests) -> None:
    for operation, path, kind in every_member():
        with subtests.test(operation=operation, path=path, kind=kind):
            for value, message in refusals(kind):
                with pytest.raises(SerializationException) as caught:
                    check(operation, build_request(path, value))
                assert caught.value.message == message, value


def test_a_wrong_type_inside_an_attribute_value_is_refused(subtests: pytest.Subtests) -> None:
    for operation, path, kind in every_inside_value():
        with subtests.test(operation=operation, path=path, kind=kind):
            for value, message in refusals(kind):
                with pytest.raises(SerializationException) as caught:
                    check_types(operation, build_request(path, value))
                assert caught.value.message == message, value


def test_a_wrong_type_comes_before_broken_constraints() -> None:
    request = {"TableName": "x", "ReturnValues": "x", "Item": {"a": {"S": 1}}}
    with pytest.raises(SerializationException, match="NUMBER_VALUE cannot be converted to String"):
        check("PutItem", request)


def test_of_several_wrong_types_the_first_in_the_request_is_reported() -> None:
    with pytest.raises(SerializationException, match="TRUE_VALUE cannot be converted to String"):
        check("PutItem", {"Item": {"a": {"M": {"b": {"S": True}}}, "c": {"S": 1}}, "TableName": 1})
    with pytest.raises(SerializationException, match="NUMBER_VALUE cannot be converted to String"):
        check("PutItem", {"TableName": 1, "Item": {"a": {"S": True}}})


def test_attribute_values_of_a_valid_request_are_left_to_the_engine() -> None:
    request = {"TableName": "Music", "Item": {"a": {"S": 1}}}
    check("PutItem", request)
    with pytest.raises(SerializationException):
        check_types("PutItem", request)


@pytest.mark.parametrize("request_body", [None, [], "x", 1, True, [{}]])
def test_a_request_must_be_an_object(request_body: Any) -> None:
    with pytest.raises(SerializationException):
        check("ListTables", request_body)
    with pytest.raises(SerializationException):
        check_types("ListTables", request_body)


@pytest.mark.parametrize(
    "request_body",
    [
        {"TableName": "a\ud800bc", "Key": {"a": {"S": "b"}}},
        {"TableName": "abc", "Key": {"a": {"S": "b"}}, "ProjectionExpression": "\udc00"},
        {
            "TableName": "abc",
            "Key": {"a": {"S": "b"}},
            "ExpressionAttributeNames": {"#\ud800": "a"},
        },
        {
            "TableName": "abc",
            "Key": {"a": {"S": "b"}},
            "ExpressionAttributeNames": {"#a": "\ud800"},
        },
    ],
)
def test_text_must_be_unicode(request_body: dict[str, Any]) -> None:
    with pytest.raises(SerializationException):
        check("GetItem", request_body)


def test_text_in_an_attribute_value_must_be_unicode() -> None:
    for value in ({"S": "\ud800"}, {"M": {"\udfff": {"S": "a"}}}, {"SS": ["a", "\ud800"]}):
        with pytest.raises(SerializationException):
            check_types("GetItem", {"TableName": "abc", "Key": {"a": value}})


def test_integers_beyond_their_java_type_are_refused() -> None:
    check("Scan", {"TableName": "abc", "Limit": 2**31 - 1})
    with pytest.raises(SerializationException, match="NUMBER_VALUE cannot be converted to Integer"):
        check("Scan", {"TableName": "abc", "Limit": 2**31})


def test_an_integer_given_as_a_decimal_is_refused() -> None:
    with pytest.raises(
        SerializationException, match="DECIMAL_VALUE cannot be converted to Integer"
    ):
        check("Scan", {"TableName": "abc", "Limit": 1.5})


@pytest.mark.parametrize("text", ["", "YQ==", "YWI=", "YWJj", "+/+/", "AAAA"])
def test_binary_text_is_base64(text: str) -> None:
    check_types("PutItem", {"Item": {"a": {"B": text}, "b": {"BS": [text]}}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("YQ", "Base64 encoded length is expected a multiple of 4 bytes but found: 2"),
        ("YQ=", "Base64 encoded length is expected a multiple of 4 bytes but found: 3"),
        ("YR==", "Invalid last non-pad Base64 character dectected"),
        ("YWJ=", "Invalid last non-pad Base64 character dectected"),
        ("YWJj??!!", "Invalid base 64 character: '?'"),
        ("Y===", "Invalid last non-pad Base64 character dectected"),
        ("YQ==YWJj", "Invalid base 64 character: '='"),
        ("é123", "Invalid base 64 character: 'é'"),
        ("YWJj\nYQ=", "Invalid base 64 character: '\n'"),
    ],
)
def test_binary_text_that_is_not_base64_is_refused(text: str, message: str) -> None:
    with pytest.raises(SerializationException) as caught:
        check_types("PutItem", {"Item": {"a": {"B": text}}})
    assert caught.value.message == message


@pytest.mark.parametrize("value", [b"abc", bytearray(b"abc"), memoryview(b"abc")])
def test_python_bytes_are_binary(value: object) -> None:
    check_types("PutItem", {"Item": {"a": {"B": value}, "b": {"BS": [value]}}})


def test_python_values_that_json_lacks_are_refused() -> None:
    with pytest.raises(SerializationException, match="bytes cannot be converted to String"):
        check_types("PutItem", {"Item": {"a": {"S": b"abc"}}})
    with pytest.raises(SerializationException, match="Unexpected field type"):
        check("GetItem", {"TableName": "abc", "Key": {"a": {"S": "b"}}, "AttributesToGet": ("a",)})
    with pytest.raises(SerializationException, match="NUMBER_VALUE cannot be converted to String"):
        check_types("PutItem", {"Item": {1: {"S": "a"}}})


def test_the_type_check_does_not_limit_nesting() -> None:
    value: dict[str, Any] = {"S": "a"}
    for _ in range(5000):
        value = {"L": [value]}
    check_types("PutItem", {"TableName": "abc", "Item": {"a": value}})
    with pytest.raises(SerializationException):
        check_types("PutItem", {"TableName": "abc", "Item": {"a": value, "b": {"S": 1}}})
