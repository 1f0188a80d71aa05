"""Requests that break constraints of the API's model, with their failures in the reported order.

Unless a case says otherwise, the failures and their wording are from architect/dynalite's tests,
which were run against DynamoDB, and the order is from captures of 2026 (see
scripts/shape_overrides.json for their sources).
"""

from __future__ import annotations

from typing import Any

A256 = "a" * 256
NAME_PATTERN = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
NOT_NULL = "Member must not be null"
AT_LEAST_3 = "Member must have length greater than or equal to 3"
AT_MOST_255 = "Member must have length less than or equal to 255"
AT_MOST_100 = "Member must have length less than or equal to 100"
AT_LEAST_1 = "Member must have length greater than or equal to 1"
POSITIVE = "Member must have value greater than or equal to 1"
CAPACITY = "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
METRICS = "Member must satisfy enum value set: [SIZE, NONE]"
RETURN_VALUES = (
    "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
)
SELECT = (
    "Member must satisfy enum value set: "
    "[SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]"
)
COMPARISON = (
    "Member must satisfy enum value set: [IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, "
    "NE, LE, BEGINS_WITH, GE, CONTAINS]"
)
MAP_KEYS = f"Map keys must satisfy constraint: [{AT_MOST_255}, {AT_LEAST_3}, {NAME_PATTERN}]"
MAP_VALUE_25 = (
    "Map value must satisfy constraint: "
    "[Member must have length less than or equal to 25, Member must have length greater than or equal to 1]"
)

HASH = {"AttributeName": "a", "KeyType": "HASH"}
KEY = {"a": {"S": "b"}}
TABLE: dict[str, Any] = {
    "TableName": "abc",
    "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
    "KeySchema": [HASH],
}
THROUGHPUT = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}


def null(path: str) -> str:
    return f"Value null at '{path}' failed to satisfy constraint: {NOT_NULL}"


def bad(value: object, path: str, constraint: str) -> str:
    return f"Value '{value}' at '{path}' failed to satisfy constraint: {constraint}"


CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    # Required members and table names, in operations on items.
    ("GetItem", {}, [null("key"), null("tableName")]),
    ("GetItem", {"TableName": None, "Key": None}, [null("key"), null("tableName")]),
    ("PutItem", {}, [null("item"), null("tableName")]),
    ("DeleteItem", {}, [null("key"), null("tableName")]),
    ("UpdateItem", {}, [null("tableName"), null("key")]),
    ("Query", {}, [null("tableName")]),
    ("Scan", {}, [null("tableName")]),
    ("PutItem", {"TableName": "", "Item": {}}, [bad("", "tableName", AT_LEAST_1)]),
    (
        "PutItem",
        {"TableName": "", "ReturnValues": "INVALID", "Item": {}},
        [bad("INVALID", "returnValues", RETURN_VALUES), bad("", "tableName", AT_LEAST_1)],
    ),
    ("PutItem", {"TableName": A256, "Item": KEY}, [bad(A256, "tableName", AT_MOST_255)]),
    (
        "PutItem",
        {"TableName": "bad table!@#", "Item": KEY},
        [bad("bad table!@#", "tableName", NAME_PATTERN)],
    ),
    ("GetItem", {"TableName": "ab", "Key": KEY}, [bad("ab", "tableName", AT_LEAST_3)]),
    (
        "Scan",
        {"TableName": "a;"},
        [bad("a;", "tableName", AT_LEAST_3), bad("a;", "tableName", NAME_PATTERN)],
    ),
    # A name is checked last, so other failures hide it.
    ("PutItem", {"TableName": "a;"}, [null("item")]),
    # Enumerations, in the order of a hash map: 16 buckets for up to 12 members, 32 for more.
    (
        "PutItem",
        {
            "TableName": "abc",
            "Item": KEY,
            "ReturnConsumedCapacity": "INVALID",
            "ReturnItemCollectionMetrics": "INVALID",
            "ReturnValues": "INVALID",
        },
        [
            bad("INVALID", "returnValues", RETURN_VALUES),
            bad("INVALID", "returnConsumedCapacity", CAPACITY),
            bad("INVALID", "returnItemCollectionMetrics", METRICS),
        ],
    ),
    (
        "DeleteItem",
        {"TableName": "abc", "Key": KEY, "ReturnConsumedCapacity": "X", "ReturnValues": "X"},
        [bad("X", "returnValues", RETURN_VALUES), bad("X", "returnConsumedCapacity", CAPACITY)],
    ),
    (
        "UpdateItem",
        {"TableName": "abc", "Key": KEY, "ReturnConsumedCapacity": "X", "ReturnValues": "X"},
        [bad("X", "returnConsumedCapacity", CAPACITY), bad("X", "returnValues", RETURN_VALUES)],
    ),
    (
        "PutItem",
        {"TableName": "abc", "Item": KEY, "ReturnValuesOnConditionCheckFailure": "x"},
        [
            bad(
                "x",
                "returnValuesOnConditionCheckFailure",
                "Member must satisfy enum value set: [ALL_OLD, NONE]",
            )
        ],
    ),
    (
        "GetItem",
        {"TableName": "abc", "ReturnConsumedCapacity": "hi", "AttributesToGet": []},
        [
            bad("[]", "attributesToGet", AT_LEAST_1),
            bad("hi", "returnConsumedCapacity", CAPACITY),
            null("key"),
        ],
    ),
    (
        "PutItem",
        {"TableName": "abc", "Item": KEY, "Expected": {"a": {"ComparisonOperator": "x"}}},
        [bad("x", "expected.a.member.comparisonOperator", COMPARISON)],
    ),
    (
        "UpdateItem",
        {"TableName": "abc", "Key": KEY, "AttributeUpdates": {"a": {"Action": "x"}}},
        [
            bad(
                "x",
                "attributeUpdates.a.member.action",
                "Member must satisfy enum value set: [ADD, PUT, DELETE]",
            )
        ],
    ),
    # Searching.
    (
        "Query",
        {"TableName": "abc", "IndexName": "a;"},
        [bad("a;", "indexName", AT_LEAST_3), bad("a;", "indexName", NAME_PATTERN)],
    ),
    ("Query", {"TableName": "abc", "IndexName": A256}, [bad(A256, "indexName", AT_MOST_255)]),
    (
        "Query",
        {"TableName": "abc", "Limit": 0},
        [f"Value at 'Limit' failed to satisfy constraint: {POSITIVE}"],
    ),
    ("Scan", {"TableName": "abc", "Limit": 0}, [bad(0, "limit", POSITIVE)]),
    (
        "Scan",
        {"TableName": "abc", "Segment": 1_000_000, "TotalSegments": 1_000_001},
        [
            bad(1_000_001, "totalSegments", "Member must have value less than or equal to 1000000"),
            bad(1_000_000, "segment", "Member must have value less than or equal to 999999"),
        ],
    ),
    (
        "Query",
        {
            "TableName": "abc",
            "Select": "hi",
            "ConditionalOperator": "AN",
            "QueryFilter": {"a": {}, "b": {"ComparisonOperator": ""}},
            "KeyConditions": {"a": {}},
        },
        [
            bad("hi", "select", SELECT),
            null("queryFilter.a.member.comparisonOperator"),
            bad("", "queryFilter.b.member.comparisonOperator", COMPARISON),
            bad("AN", "conditionalOperator", "Member must satisfy enum value set: [OR, AND]"),
            null("keyConditions.a.member.comparisonOperator"),
        ],
    ),
    # At most ten are listed and counted.
    (
        "Scan",
        {
            "TableName": "",
            "ReturnConsumedCapacity": "hi",
            "AttributesToGet": [],
            "IndexName": "abc;",
            "Segment": -1,
            "TotalSegments": -1,
            "Select": "hi",
            "Limit": -1,
            "ScanFilter": {"a": {}, "b": {"ComparisonOperator": ""}},
            "ConditionalOperator": "AN",
        },
        [
            bad("hi", "select", SELECT),
            bad("abc;", "indexName", NAME_PATTERN),
            bad(-1, "totalSegments", POSITIVE),
            bad("hi", "returnConsumedCapacity", CAPACITY),
            bad("", "tableName", AT_LEAST_1),
            bad("AN", "conditionalOperator", "Member must satisfy enum value set: [OR, AND]"),
            null("scanFilter.a.member.comparisonOperator"),
            bad("", "scanFilter.b.member.comparisonOperator", COMPARISON),
            bad(-1, "segment", "Member must have value greater than or equal to 0"),
            bad("[]", "attributesToGet", AT_LEAST_1),
        ],
    ),
    # Batches.
    ("BatchGetItem", {}, [null("requestItems")]),
    ("BatchGetItem", {"RequestItems": {"abc": {}}}, [null("requestItems.abc.member.keys")]),
    (
        "BatchGetItem",
        {"RequestItems": {"abc": {"Keys": []}}},
        [f"Value at 'RequestItems.abc.member.Keys' failed to satisfy constraint: {AT_LEAST_1}"],
    ),
    (
        "BatchGetItem",
        {"RequestItems": {"abc": {"Keys": [KEY] * 101}}},
        [f"Value at 'RequestItems.abc.member.Keys' failed to satisfy constraint: {AT_MOST_100}"],
    ),
    (
        "BatchGetItem",
        {
            "RequestItems": {"bad!name": {"Keys": [{"pk": {"S": "a"}}]}},
            "ReturnConsumedCapacity": "X",
        },
        [
            bad('{"bad!name":{"Keys":[{"pk":{"S":"a"}}]}}', "requestItems", MAP_KEYS),
            bad("X", "returnConsumedCapacity", CAPACITY),
        ],
    ),
    ("BatchWriteItem", {}, [null("requestItems")]),
    (
        "BatchWriteItem",
        {"RequestItems": {"abc": []}},
        [bad("{abc=[]}", "requestItems", MAP_VALUE_25)],
    ),
    (
        "BatchWriteItem",
        {"RequestItems": {"abc": [{"PutRequest": {}}, {"DeleteRequest": {}}]}},
        [
            null("requestItems.abc.member.1.member.putRequest.item"),
            null("requestItems.abc.member.2.member.deleteRequest.key"),
        ],
    ),
    (
        "BatchWriteItem",
        {
            "RequestItems": {"bad!name": [{"PutRequest": {"Item": KEY}}]},
            "ReturnConsumedCapacity": "BOGUS",
            "ReturnItemCollectionMetrics": "BOGUS2",
        },
        [
            bad("BOGUS", "returnConsumedCapacity", CAPACITY),
            bad("BOGUS2", "returnItemCollectionMetrics", METRICS),
        ],
    ),
    (
        "BatchWriteItem",
        {"RequestItems": {"bad!name": [{"DeleteRequest": {"Key": {}}}]}},
        [
            bad(
                "{bad!name=[WriteRequest(putRequest=null, deleteRequest=DeleteRequest(key={}))]}",
                "requestItems",
                MAP_KEYS,
            )
        ],
    ),
    # Transactions.
    ("TransactWriteItems", {}, [null("transactItems")]),
    ("TransactWriteItems", {"TransactItems": []}, [bad("[]", "transactItems", AT_LEAST_1)]),
    ("TransactGetItems", {"TransactItems": []}, [bad("[]", "transactItems", AT_LEAST_1)]),
    (
        "TransactWriteItems",
        {
            "TransactItems": [{"Put": {"TableName": "a;", "Item": KEY}}, {"Delete": {}}],
            "ClientRequestToken": "x" * 37,
            "ReturnConsumedCapacity": "BOGUS",
        },
        [
            bad("a;", "transactItems.1.member.put.tableName", AT_LEAST_3),
            bad("a;", "transactItems.1.member.put.tableName", NAME_PATTERN),
            null("transactItems.2.member.delete.key"),
            null("transactItems.2.member.delete.tableName"),
            bad("x" * 37, "clientRequestToken", "Member must have length less than or equal to 36"),
            bad("BOGUS", "returnConsumedCapacity", CAPACITY),
        ],
    ),
    # Operations on tables check the name first, and report only its failures.
    (
        "DescribeTable",
        {"TableName": ""},
        [bad("", "tableName", AT_LEAST_3), bad("", "tableName", NAME_PATTERN)],
    ),
    ("DeleteTable", {"TableName": "abc;"}, [bad("abc;", "tableName", NAME_PATTERN)]),
    ("DescribeTimeToLive", {"TableName": A256}, [bad(A256, "tableName", AT_MOST_255)]),
    ("CreateTable", {"TableName": "ab"}, [bad("ab", "tableName", AT_LEAST_3)]),
    ("UpdateTable", {"TableName": "ab", "BillingMode": "A"}, [bad("ab", "tableName", AT_LEAST_3)]),
    ("CreateTable", {"TableName": "abc", "AttributeDefinitions": []}, [null("keySchema")]),
    (
        "CreateTable",
        {
            "TableName": "abc",
            "AttributeDefinitions": [],
            "KeySchema": [],
            "ProvisionedThroughput": {"ReadCapacityUnits": -1, "WriteCapacityUnits": -1},
            "BillingMode": "A",
        },
        [
            bad(
                "A",
                "billingMode",
                "Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]",
            ),
            bad("[]", "keySchema", AT_LEAST_1),
            bad(-1, "provisionedThroughput.writeCapacityUnits", POSITIVE),
            bad(-1, "provisionedThroughput.readCapacityUnits", POSITIVE),
        ],
    ),
    (
        "CreateTable",
        {
            "TableName": "abc",
            "AttributeDefinitions": [{}, {"AttributeName": "", "AttributeType": "SS"}],
            "KeySchema": [{}, {"AttributeName": "a", "KeyType": "Woop"}],
        },
        [
            null("keySchema.1.member.attributeName"),
            null("keySchema.1.member.keyType"),
            bad(
                "Woop",
                "keySchema.2.member.keyType",
                "Member must satisfy enum value set: [HASH, RANGE]",
            ),
            null("attributeDefinitions.1.member.attributeType"),
            null("attributeDefinitions.1.member.attributeName"),
            bad(
                "SS",
                "attributeDefinitions.2.member.attributeType",
                "Member must satisfy enum value set: [B, N, S]",
            ),
            bad("", "attributeDefinitions.2.member.attributeName", AT_LEAST_1),
        ],
    ),
    (
        "CreateTable",
        {
            **TABLE,
            "LocalSecondaryIndexes": [
                {"IndexName": "l1", "KeySchema": [HASH], "Projection": {"ProjectionType": "ALL"}}
            ],
            "GlobalSecondaryIndexes": [
                {"IndexName": "g1", "KeySchema": [HASH], "Projection": {"ProjectionType": "ALL"}}
            ],
        },
        [
            bad("g1", "globalSecondaryIndexes.1.member.indexName", AT_LEAST_3),
            bad("l1", "localSecondaryIndexes.1.member.indexName", AT_LEAST_3),
        ],
    ),
    (
        "CreateTable",
        {**TABLE, "LocalSecondaryIndexes": [{}]},
        [
            null("localSecondaryIndexes.1.member.indexName"),
            null("localSecondaryIndexes.1.member.keySchema"),
            null("localSecondaryIndexes.1.member.projection"),
        ],
    ),
    (
        "CreateTable",
        {
            **TABLE,
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "",
                    "KeySchema": [HASH],
                    "Projection": {"NonKeyAttributes": [], "ProjectionType": "abc"},
                    "ProvisionedThroughput": {},
                }
            ],
        },
        [
            bad("", "globalSecondaryIndexes.1.member.indexName", AT_LEAST_3),
            bad("", "globalSecondaryIndexes.1.member.indexName", NAME_PATTERN),
            bad("[]", "globalSecondaryIndexes.1.member.projection.nonKeyAttributes", AT_LEAST_1),
            bad(
                "abc",
                "globalSecondaryIndexes.1.member.projection.projectionType",
                "Member must satisfy enum value set: [ALL, INCLUDE, KEYS_ONLY]",
            ),
            null("globalSecondaryIndexes.1.member.provisionedThroughput.writeCapacityUnits"),
            null("globalSecondaryIndexes.1.member.provisionedThroughput.readCapacityUnits"),
        ],
    ),
    # ack-api-quirks (dynamodb, captured 2026-10-09).
    (
        "CreateTable",
        {**TABLE, "StreamSpecification": {}},
        [null("streamSpecification.streamEnabled")],
    ),
    (
        "CreateTable",
        {**TABLE, "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "new_image"}},
        [
            bad(
                "new_image",
                "streamSpecification.streamViewType",
                "Member must satisfy enum value set: "
                "[OLD_IMAGE, KEYS_ONLY, NEW_AND_OLD_IMAGES, NEW_IMAGE]",
            )
        ],
    ),
    (
        "CreateTable",
        {**TABLE, "SSESpecification": {"SSEType": "kms", "KMSMasterKeyId": ""}},
        [
            bad("", "sSESpecification.kMSMasterKeyId", AT_LEAST_1),
            bad(
                "kms",
                "sSESpecification.sSEType",
                "Member must satisfy enum value set: [AES256, KMS]",
            ),
        ],
    ),
    (
        "UpdateTable",
        {
            "TableName": "abc",
            "GlobalSecondaryIndexUpdates": [
                {"Update": {"IndexName": "abc", "ProvisionedThroughput": {}}},
                {
                    "Update": {
                        "IndexName": "abc;",
                        "ProvisionedThroughput": {**THROUGHPUT, "WriteCapacityUnits": 0},
                    }
                },
            ],
        },
        [
            null(
                "globalSecondaryIndexUpdates.1.member.update.provisionedThroughput.writeCapacityUnits"
            ),
            null(
                "globalSecondaryIndexUpdates.1.member.update.provisionedThroughput.readCapacityUnits"
            ),
            bad("abc;", "globalSecondaryIndexUpdates.2.member.update.indexName", NAME_PATTERN),
            bad(
                0,
                "globalSecondaryIndexUpdates.2.member.update.provisionedThroughput.writeCapacityUnits",
                POSITIVE,
            ),
        ],
    ),
    ("UpdateTimeToLive", {"TableName": "abc"}, [null("timeToLiveSpecification")]),
    (
        "UpdateTimeToLive",
        {"TableName": "abc", "TimeToLiveSpecification": {}},
        [null("timeToLiveSpecification.attributeName"), null("timeToLiveSpecification.enabled")],
    ),
    (
        "UpdateTimeToLive",
        {"TableName": "abc", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": ""}},
        [bad("", "timeToLiveSpecification.attributeName", AT_LEAST_1)],
    ),
    ("ListTables", {"Limit": 0}, [bad(0, "limit", POSITIVE)]),
    (
        "ListTables",
        {"Limit": 101},
        [bad(101, "limit", "Member must have value less than or equal to 100")],
    ),
    (
        "ListTables",
        {"ExclusiveStartTableName": ""},
        [
            bad("", "exclusiveStartTableName", NAME_PATTERN),
            bad("", "exclusiveStartTableName", AT_LEAST_3),
        ],
    ),
    ("TagResource", {"ResourceArn": "a:b:c:d:e:f/g"}, [null("tags")]),
    ("UntagResource", {"ResourceArn": "a:b:c:d:e:f/g"}, [null("tagKeys")]),
    # Nulls inside collections are reported like missing members.
    ("CreateTable", {**TABLE, "KeySchema": [None]}, [null("keySchema.1.member")]),
    (
        "GetItem",
        {
            "TableName": "abc",
            "Key": KEY,
            "AttributesToGet": ["a", None],
            "ExpressionAttributeNames": {"#a": None},
        },
        [null("expressionAttributeNames.#a.member"), null("attributesToGet.2.member")],
    ),
    ("BatchWriteItem", {"RequestItems": {"abc": None}}, [null("requestItems.abc.member")]),
    (
        "BatchGetItem",
        {"RequestItems": {"abc": {"Keys": [None]}}},
        [null("requestItems.abc.member.keys.1.member")],
    ),
]
