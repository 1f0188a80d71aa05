"""The accesses of calls on items, and of statements."""

from __future__ import annotations

from typing import Any

import pytest

from keyfold.engine import Engine, TableKeyNames
from keyfold.errors import SerializationException, ServiceError, ValidationException
from keyfold.policy import ALL, Access, Right
from keyfold.policy.accesses import read_accesses

ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/Shop"
KEY = {"pk": {"S": "U#ada"}, "sk": {"S": "1"}}
OWN = ({"S": "U#ada"},)

SHOP = TableKeyNames(
    "pk", "sk", {"ByMail": ("mail",), "ByCity": ("country", "city"), "Local": ("pk",)}
)


def find_keys(table: str) -> TableKeyNames | None:
    return SHOP if table == "Shop" else None


def read(operation: str, **request: Any) -> list[Access]:
    return read_accesses(operation, request, find_keys)


def read_one(operation: str, **request: Any) -> Access:
    (access,) = read(operation, TableName="Shop", **request)
    assert access.table == "Shop"
    return access


def test_a_get_reads_a_whole_item_of_one_partition() -> None:
    access = read_one("GetItem", Key=KEY)
    assert access == Access(
        "GetItem",
        "Shop",
        rights=Right.GET,
        partition=OWN,
        sort_key=KEY["sk"],
        attributes=None,
        named=frozenset({"pk", "sk"}),
        select="ALL_ATTRIBUTES",
    )


@pytest.mark.parametrize(
    "projection",
    [
        {"ProjectionExpression": "#n.b[1], c", "ExpressionAttributeNames": {"#n": "a"}},
        {"AttributesToGet": ["a", "c"]},
    ],
)
def test_a_projection_names_top_level_attributes(projection: dict[str, Any]) -> None:
    access = read_one("GetItem", Key=KEY, **projection)
    assert access.attributes == {"pk", "sk", "a", "c"}
    assert access.select == "SPECIFIC_ATTRIBUTES"


def test_a_table_may_be_named_by_its_arn() -> None:
    (access,) = read("GetItem", TableName=ARN, Key=KEY)
    assert (access.table, access.partition) == ("Shop", OWN)


def test_a_key_without_the_partition_key_may_access_any_partition() -> None:
    assert read_one("GetItem", Key={"sk": {"S": "1"}}).partition is None


def test_an_unknown_table_may_access_any_partition() -> None:
    (access,) = read("GetItem", TableName="Other", Key=KEY)
    assert access.partition is None


def test_a_batch_has_an_access_for_each_key() -> None:
    keys = [KEY, {"pk": {"S": "U#bob"}, "sk": {"S": "1"}}]
    accesses = read(
        "BatchGetItem",
        RequestItems={"Shop": {"Keys": keys}, "Other": {"Keys": [KEY]}},
        ReturnConsumedCapacity="TOTAL",
    )
    assert [(each.table, each.partition) for each in accesses] == [
        ("Shop", OWN),
        ("Shop", ({"S": "U#bob"},)),
        ("Other", None),
    ]
    assert {(each.action, each.rights, each.capacity) for each in accesses} == {
        ("BatchGetItem", Right.GET, "TOTAL")
    }


def test_a_put_writes_the_attributes_it_names() -> None:
    item = {**KEY, "mail": {"S": "ada@example.org"}}
    access = read_one(
        "PutItem",
        Item=item,
        ConditionExpression="attribute_not_exists(#o)",
        ExpressionAttributeNames={"#o": "old"},
        ReturnValues="ALL_OLD",
    )
    assert access.rights == Right.CREATE | Right.UPDATE
    assert access.written == item
    assert access.attributes == {"pk", "sk", "mail", "old"}
    assert (access.partition, access.return_values) == (OWN, "ALL_OLD")


@pytest.mark.parametrize(
    ("condition", "rights"),
    [
        ({"ConditionExpression": "attribute_not_exists(pk)"}, Right.CREATE),
        ({"ConditionExpression": "attribute_not_exists(sk)"}, Right.CREATE),
        ({"ConditionExpression": "attribute_exists(pk)"}, Right.UPDATE),
        ({"ConditionExpression": "(attribute_exists(pk) AND a = b) AND c = d"}, Right.UPDATE),
        (
            {
                "ConditionExpression": "a = b AND attribute_not_exists(#p)",
                "ExpressionAttributeNames": {"#p": "pk"},
            },
            Right.CREATE,
        ),
        ({"ConditionExpression": "attribute_exists(pk) OR a = b"}, Right.CREATE | Right.UPDATE),
        ({"ConditionExpression": "NOT attribute_exists(pk)"}, Right.CREATE | Right.UPDATE),
        ({"ConditionExpression": "attribute_exists(a)"}, Right.CREATE | Right.UPDATE),
        ({"Expected": {"pk": {"Exists": False}}}, Right.CREATE),
        ({"Expected": {"pk": {"ComparisonOperator": "NULL"}}}, Right.CREATE),
        ({"Expected": {"pk": {"ComparisonOperator": "NOT_NULL"}}}, Right.UPDATE),
        ({"Expected": {"a": {"Exists": False}}}, Right.CREATE | Right.UPDATE),
        (
            {
                "Expected": {"pk": {"Exists": False}, "a": {"Exists": False}},
                "ConditionalOperator": "OR",
            },
            Right.CREATE | Right.UPDATE,
        ),
        ({}, Right.CREATE | Right.UPDATE),
    ],
)
@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem"])
def test_a_condition_distinguishes_creating_from_replacing(
    operation: str, condition: dict[str, Any], rights: Right
) -> None:
    given = {"Item": KEY} if operation == "PutItem" else {"Key": KEY}
    assert read_one(operation, **given, **condition).rights == rights


def test_an_update_lists_the_attributes_it_reads_and_writes() -> None:
    access = read_one(
        "UpdateItem",
        Key=KEY,
        UpdateExpression="SET a = :v, b.c = :v, d = if_not_exists(e, :v) REMOVE f ADD g :n",
        ConditionExpression="h > :n",
        ExpressionAttributeValues={":v": {"S": "x"}, ":n": {"N": "1"}},
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    assert access.attributes == {"pk", "sk", *"abdefgh"}
    # A value computed from the stored item is unknown.
    assert access.written == {
        **KEY,
        "a": {"S": "x"},
        "b": None,
        "d": None,
        "f": {},
        "g": None,
    }
    assert access.returns_on_failure
    assert access.return_values == "NONE"


def test_a_legacy_update_lists_the_attributes_it_writes() -> None:
    access = read_one(
        "UpdateItem",
        Key=KEY,
        AttributeUpdates={
            "a": {"Value": {"S": "x"}},
            "b": {"Action": "ADD", "Value": {"N": "1"}},
            "c": {"Action": "DELETE"},
            "e": {"Action": "DELETE", "Value": {"SS": ["x"]}},
        },
        Expected={"d": {"Value": {"S": "y"}}},
    )
    assert access.attributes == {"pk", "sk", *"abcde"}
    assert access.written == {**KEY, "a": {"S": "x"}, "b": None, "c": {}, "e": None}


def test_a_delete_writes_nothing_into_indexes() -> None:
    access = read_one("DeleteItem", Key=KEY, ConditionExpression="attribute_exists(secret)")
    assert (access.rights, access.written) == (Right.DELETE, {})
    assert access.attributes == {"pk", "sk", "secret"}


def test_a_batch_write_has_an_access_for_each_member() -> None:
    accesses = read(
        "BatchWriteItem",
        RequestItems={
            "Shop": [
                {"PutRequest": {"Item": {**KEY, "a": {"S": "x"}}}},
                {"DeleteRequest": {"Key": KEY}},
                {},
            ]
        },
    )
    assert [(each.rights, each.partition) for each in accesses] == [
        (Right.CREATE | Right.UPDATE, OWN),
        (Right.DELETE, OWN),
        # The engine refuses it; only a principal with all rights gets that far.
        (ALL, None),
    ]
    assert accesses[0].attributes == {"pk", "sk", "a"}


def test_each_member_of_a_transaction_is_a_separate_action() -> None:
    place = {"TableName": "Shop", "Key": KEY}
    accesses = read(
        "TransactWriteItems",
        TransactItems=[
            {"Put": {"TableName": "Shop", "Item": KEY}},
            {"Update": {**place, "UpdateExpression": "REMOVE a"}},
            {"Delete": place},
            {
                "ConditionCheck": {
                    **place,
                    "ConditionExpression": "attribute_exists(b)",
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
            },
        ],
    )
    assert [(each.action, each.rights) for each in accesses] == [
        ("PutItem", Right.CREATE | Right.UPDATE),
        ("UpdateItem", Right.CREATE | Right.UPDATE),
        ("DeleteItem", Right.DELETE),
        ("ConditionCheckItem", Right.GET),
    ]
    assert all(each.partition == OWN for each in accesses)
    assert {each.enclosing for each in accesses} == {"TransactWriteItems"}
    assert accesses[3].attributes == {"pk", "sk", "b"}
    assert accesses[3].returns_on_failure


def test_the_reads_of_a_transaction_are_gets() -> None:
    get = {"TableName": "Shop", "Key": KEY, "ProjectionExpression": "a"}
    (access,) = read("TransactGetItems", TransactItems=[{"Get": get}])
    assert (access.action, access.enclosing) == ("GetItem", "TransactGetItems")
    assert access.attributes == {"pk", "sk", "a"}


@pytest.mark.parametrize(
    "condition",
    [
        {
            "KeyConditionExpression": "pk = :p AND sk > :s",
            "ExpressionAttributeValues": {":p": {"S": "U#ada"}, ":s": {"S": "1"}},
        },
        {
            "KeyConditionExpression": ":s < sk AND (:p = #p)",
            "ExpressionAttributeNames": {"#p": "pk"},
            "ExpressionAttributeValues": {":p": {"S": "U#ada"}, ":s": {"S": "1"}},
        },
        {
            "KeyConditions": {
                "pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "U#ada"}]},
                "sk": {"ComparisonOperator": "GT", "AttributeValueList": [{"S": "1"}]},
            }
        },
    ],
)
def test_a_query_accesses_only_its_partition(condition: dict[str, Any]) -> None:
    access = read_one("Query", **condition)
    assert (access.rights, access.partition) == (Right.QUERY, OWN)
    assert (access.attributes, access.named) == (None, {"pk", "sk"})
    assert access.select == "ALL_ATTRIBUTES"


def test_a_query_by_another_attribute_may_access_any_partition() -> None:
    access = read_one(
        "Query",
        KeyConditionExpression="mail = :m",
        ExpressionAttributeValues={":m": {"S": "U#ada"}},
    )
    assert access.partition is None


def test_a_query_without_a_fixed_partition_may_access_any_partition() -> None:
    access = read_one(
        "Query",
        KeyConditionExpression="begins_with(pk, :p)",
        ExpressionAttributeValues={":p": {"S": "U#"}},
    )
    assert access.partition is None


def test_a_query_of_an_index_accesses_only_its_partition_of_the_index() -> None:
    access = read_one(
        "Query",
        IndexName="ByMail",
        KeyConditionExpression="mail = :m",
        ExpressionAttributeValues={":m": {"S": "x"}},
    )
    assert (access.index_name, access.partition) == ("ByMail", ({"S": "x"},))
    assert access.select == "ALL_PROJECTED_ATTRIBUTES"


def test_an_index_may_have_several_partition_attributes() -> None:
    by_city = {
        "IndexName": "ByCity",
        "ExpressionAttributeValues": {":a": {"S": "DE"}, ":b": {"S": "Ulm"}},
    }
    access = read_one("Query", KeyConditionExpression="city = :b AND country = :a", **by_city)
    assert access.partition == ({"S": "DE"}, {"S": "Ulm"})
    part = read_one("Query", KeyConditionExpression="city = :b AND country > :a", **by_city)
    assert part.partition is None


def test_an_unknown_index_may_access_any_partition() -> None:
    access = read_one(
        "Query",
        IndexName="Absent",
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues={":p": {"S": "U#ada"}},
    )
    assert access.partition is None


@pytest.mark.parametrize(
    ("wanted", "attributes", "select"),
    [
        ({}, None, "ALL_ATTRIBUTES"),
        ({"Select": "COUNT"}, {"pk", "f"}, "COUNT"),
        ({"ProjectionExpression": "a"}, {"pk", "f", "a"}, "SPECIFIC_ATTRIBUTES"),
        ({"Select": "ALL_ATTRIBUTES"}, None, "ALL_ATTRIBUTES"),
    ],
)
def test_a_query_lists_the_attributes_it_filters_by(
    wanted: dict[str, Any], attributes: set[str] | None, select: str
) -> None:
    access = read_one(
        "Query",
        KeyConditionExpression="pk = :p",
        FilterExpression="f.g = :p",
        ExpressionAttributeValues={":p": {"S": "U#ada"}},
        **wanted,
    )
    assert (access.attributes, access.select) == (attributes, select)
    assert access.named >= {"pk", "f"}


def test_a_scan_accesses_all_partitions() -> None:
    access = read_one("Scan", ScanFilter={"a": {"ComparisonOperator": "NULL"}}, Select="COUNT")
    assert (access.rights, access.partition) == (Right.QUERY, None)
    assert access.attributes == {"a"}


def test_a_vector_search_is_a_separate_action() -> None:
    access = read_one(
        "SearchVectors",
        IndexName="ByMood",
        TopK=3,
        SearchVector=[{"N": "1"}],
        SearchConditionExpression="kind = :k",
        ExpressionAttributeValues={":k": {"S": "book"}},
    )
    assert (access.rights, access.partition, access.attributes) == (Right(0), None, None)
    assert access.named == {"kind"}


@pytest.mark.parametrize(
    ("statement", "action"),
    [
        ('SELECT a FROM "Shop" WHERE pk = ?', "PartiQLSelect"),
        ("INSERT INTO Shop VALUE {'pk': ?}", "PartiQLInsert"),
        ("UPDATE Shop SET a = 1 WHERE pk = ?", "PartiQLUpdate"),
        ("DELETE FROM Shop WHERE pk = ?", "PartiQLDelete"),
    ],
)
def test_a_statement_is_one_of_four_actions(statement: str, action: str) -> None:
    member = {"Statement": statement, "Parameters": [{"S": "U#ada"}]}
    expected = Access(action, "Shop", attributes=None, is_opaque=True)
    for operation, request in (
        ("ExecuteStatement", member),
        ("BatchExecuteStatement", {"Statements": [member]}),
        ("ExecuteTransaction", {"TransactStatements": [member]}),
    ):
        assert read(operation, **request) == [expected._replace(enclosing=operation)]


def test_an_unparsable_statement_needs_access_to_everything() -> None:
    accesses = read("BatchExecuteStatement", Statements=[{"Statement": "SELEC"}])
    (access,) = accesses
    assert (access.action, access.table, access.is_opaque) == ("PartiQLSelect", None, True)
    with pytest.raises(ValidationException, match="Unsupported operation"):
        read("ExecuteStatement", Statement="SELEC")


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("GetItem", []),
        ("GetItem", {"TableName": 3, "Key": KEY}),
        ("GetItem", {"TableName": "Shop", "Key": {"pk": {"S": 3}}}),
        ("BatchGetItem", {"RequestItems": {"Shop": [KEY]}}),
    ],
)
def test_wrong_types_are_refused_before_authorization(operation: str, request_: Any) -> None:
    with pytest.raises(SerializationException):
        read_accesses(operation, request_, find_keys)


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("GetItem", {}),
        ("GetItem", {"Key": KEY, "ProjectionExpression": "a,"}),
        ("GetItem", {"Key": KEY, "ProjectionExpression": "#a"}),
        ("PutItem", {"Item": KEY, "ConditionExpression": "a ="}),
        ("UpdateItem", {"Key": KEY, "UpdateExpression": "SET"}),
        ("Query", {}),
        ("Query", {"KeyConditionExpression": "pk = 1"}),
        ("Query", {"Select": "SPECIFIC_ATTRIBUTES"}),
    ],
)
def test_unreadable_requests_are_refused_before_authorization(
    operation: str, request_: dict[str, Any]
) -> None:
    request_ = {"TableName": "Shop", **request_}
    with (
        Engine.open(":memory:", upkeep_seconds=None) as engine,
        pytest.raises(ServiceError) as refused,
    ):
        engine.execute(operation, request_)
    with pytest.raises(ServiceError) as read_refused:
        read_accesses(operation, request_, find_keys)
    assert isinstance(read_refused.value, ValidationException)
    assert str(read_refused.value) == str(refused.value)


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(ServiceError, match="UnknownOperationException"):
        read_accesses("DropEverything", {}, find_keys)
