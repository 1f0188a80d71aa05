"""Calls on the clinic's table as any client with a key could send them."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

TABLE = "Clinic"
Options = st.SearchStrategy[dict[str, Any]]


class Call(NamedTuple):
    """An operation and its request."""

    operation: str
    request: dict[str, Any]


CAPACITY: Options = st.sampled_from([{}, {"ReturnConsumedCapacity": "INDEXES"}])
COLLECTIONS: Options = st.sampled_from([{}, {"ReturnItemCollectionMetrics": "SIZE"}])
CONDITIONS: Options = st.sampled_from(
    [
        {},
        {},
        {"ConditionExpression": "attribute_not_exists(pk)"},
        {"ConditionExpression": "attribute_exists(pk)"},
        {"ConditionExpression": "attribute_exists(owner_pk)"},
        {
            "ConditionExpression": "#text = :x",
            "ExpressionAttributeNames": {"#text": "text"},
            "ExpressionAttributeValues": {":x": {"S": "x"}},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        },
    ]
)
RETURNS: Options = st.sampled_from([{}, {}, {"ReturnValues": "ALL_OLD"}])
PROJECTIONS: Options = st.sampled_from([{}, {}, {"ProjectionExpression": "pk, sk, rank"}])
NUMBERS = st.sampled_from("123")


@st.composite
def make_keys(
    draw: st.DrawFn, partitions: st.SearchStrategy[str], sorts: st.SearchStrategy[str]
) -> dict[str, Any]:
    return {"pk": {"S": draw(partitions)}, "sk": {"S": draw(sorts)}}


@st.composite
def make_items(
    draw: st.DrawFn,
    keys: st.SearchStrategy[dict[str, Any]],
    values: dict[str, st.SearchStrategy[str]],
) -> dict[str, Any]:
    names = draw(st.sets(st.sampled_from(sorted(values)), max_size=5))
    return {**draw(keys), **{name: {"S": draw(values[name])} for name in sorted(names)}}


@st.composite
def calls(draw: st.DrawFn, users: st.SearchStrategy[str], token: str) -> Call:
    """Draw a call on the partitions of users from `users`."""
    partitions = st.one_of(
        users.map(lambda user: f"U#{user}"),
        users.map(lambda user: f"U#{user}"),
        users.map(lambda user: f"U#{user}#F#left"),
        users.map(lambda user: f"keyfold#unique#Member#email#S#{user}@x"),
        st.sampled_from(["C#flu", "SETTINGS", "U#", "X"]),
    )
    sorts = st.one_of(
        NUMBERS.map(lambda number: f"N#{number}"),
        NUMBERS.map(lambda number: f"N#{number}"),
        NUMBERS.map(lambda number: f"F#{number}"),
        users.map(lambda user: f"MEMBER#{user}"),
        st.just("keyfold#unique"),
    )
    keys = make_keys(partitions, sorts)
    values: dict[str, st.SearchStrategy[str]] = {
        "owner_pk": users.map(lambda user: f"O#{user}"),
        "owner_sk": NUMBERS,
        "mix": users.map(lambda user: f"M#{user}") | st.just("flu"),
        "pair_user": users.map(lambda user: f"P#{user}"),
        "pair_topic": st.just("flu"),
        "state": st.just("new"),
        "text": st.sampled_from(["x", "y" * 900]),
        "secret": st.just("s"),
        "age": st.just("1"),
        "email": users.map(lambda user: f"{user}@x"),
    }
    items = make_items(keys, values)

    @st.composite
    def changes(draw: st.DrawFn) -> dict[str, Any]:
        name = draw(st.sampled_from(sorted(values)))
        if draw(st.integers(0, 4)) == 0:
            return {"UpdateExpression": "REMOVE #n", "ExpressionAttributeNames": {"#n": name}}
        text = draw(st.sampled_from(["#n = :v", "#n = :v", "#n = if_not_exists(#n, :v)"]))
        return {
            "UpdateExpression": f"SET {text}",
            "ExpressionAttributeNames": {"#n": name},
            "ExpressionAttributeValues": {":v": {"S": draw(values[name])}},
        }

    def written() -> dict[str, Any]:
        return {**draw(CAPACITY), **draw(COLLECTIONS)}

    def member() -> dict[str, Any]:
        match draw(st.sampled_from(["Put", "Put", "Update", "Delete", "ConditionCheck"])):
            case "Put":
                return {"Put": {"TableName": TABLE, "Item": draw(items), **draw(CONDITIONS)}}
            case "Update":
                return {"Update": {"TableName": TABLE, "Key": draw(keys), **draw(changes())}}
            case "Delete":
                return {"Delete": {"TableName": TABLE, "Key": draw(keys), **draw(CONDITIONS)}}
            case _:
                condition = {"ConditionExpression": "attribute_exists(pk)", **draw(CONDITIONS)}
                return {"ConditionCheck": {"TableName": TABLE, "Key": draw(keys), **condition}}

    several = range(draw(st.sampled_from([1, 1, 1, 2, 3])))
    operation = draw(st.sampled_from(OPERATIONS))
    request: dict[str, Any]
    match operation:
        case "GetItem":
            request = {"Key": draw(keys), **draw(PROJECTIONS), **draw(CAPACITY)}
        case "PutItem":
            request = {"Item": draw(items), **draw(CONDITIONS), **draw(RETURNS), **written()}
        case "UpdateItem":
            request = {"Key": draw(keys), **draw(changes()), **draw(RETURNS), **written()}
        case "DeleteItem":
            request = {"Key": draw(keys), **draw(CONDITIONS), **draw(RETURNS), **written()}
        case "Query":
            request = {**draw(queries(partitions, keys, users)), **draw(CAPACITY)}
        case "Scan":
            request = draw(st.sampled_from([{}, {"IndexName": "ByOwner"}, {"Select": "COUNT"}]))
        case "BatchGetItem":
            wanted: dict[str, Any] = {"Keys": [draw(keys) for _ in several], **draw(PROJECTIONS)}
            return Call(operation, {"RequestItems": {TABLE: wanted}, **draw(CAPACITY)})
        case "BatchWriteItem":
            members = [
                {"PutRequest": {"Item": draw(items)}}
                if draw(st.booleans())
                else {"DeleteRequest": {"Key": draw(keys)}}
                for _ in several
            ]
            return Call(operation, {"RequestItems": {TABLE: members}, **written()})
        case "TransactGetItems":
            gets = [{"Get": {"TableName": TABLE, "Key": draw(keys)}} for _ in several]
            return Call(operation, {"TransactItems": gets, **draw(CAPACITY)})
        case "TransactWriteItems":
            given: dict[str, Any] = draw(st.sampled_from([{}, {"ClientRequestToken": token}]))
            members = [member() for _ in several]
            return Call(operation, {"TransactItems": members, **given, **written()})
        case "ExecuteStatement":
            text = f"SELECT * FROM \"{TABLE}\" WHERE pk = '{draw(partitions)}'"
            return Call(operation, {"Statement": text})
        case "ListTables" | "ListStreams" | "DescribeLimits":
            return Call(operation, {})
        case _:
            request = {}
    return Call(operation, {"TableName": TABLE, **request})


def transact_put(user: str, number: str, token: str) -> Call:
    """Return a transaction with a token that puts one item of a user."""
    item = {"pk": {"S": f"U#{user}"}, "sk": {"S": f"N#{number}"}, "text": {"S": "x"}}
    members = [{"Put": {"TableName": TABLE, "Item": item}}]
    return Call("TransactWriteItems", {"TransactItems": members, "ClientRequestToken": token})


@st.composite
def queries(
    draw: st.DrawFn,
    partitions: st.SearchStrategy[str],
    keys: st.SearchStrategy[dict[str, Any]],
    users: st.SearchStrategy[str],
) -> dict[str, Any]:
    """Draw a query of the table or an index, perhaps with a start key."""
    user = draw(users)
    index, equal = draw(
        st.sampled_from(
            [
                (None, {"pk": draw(partitions)}),
                (None, {"pk": draw(partitions)}),
                ("ByText", {"pk": draw(partitions)}),
                ("ByOwner", {"owner_pk": f"O#{user}"}),
                ("ByOwner", {"owner_pk": f"O#{user}"}),
                ("ByMix", {"mix": f"M#{user}"}),
                ("ByState", {"state": "new"}),
                ("ByPair", {"pair_user": f"P#{user}", "pair_topic": "flu"}),
                ("ByKey", {"sk": f"MEMBER#{user}"}),
                ("ByKey", {"sk": "N#1"}),
            ]
        )
    )
    values = {f":{name}": {"S": value} for name, value in equal.items()}
    request: dict[str, Any] = {
        "KeyConditionExpression": " AND ".join(f"#{name} = :{name}" for name in equal),
        "ExpressionAttributeNames": {f"#{name}": name for name in equal},
        "ExpressionAttributeValues": values,
    }
    if index is not None:
        request["IndexName"] = index
    if draw(st.booleans()):
        request["Limit"] = draw(st.integers(1, 2))
    if draw(st.integers(0, 3)) == 0:
        request |= draw(st.sampled_from([{"Select": "COUNT"}, {"ScanIndexForward": False}]))
    if draw(st.integers(0, 3)) == 0:
        start = {**draw(keys), **{name: {"S": value} for name, value in equal.items()}}
        request["ExclusiveStartKey"] = start | (
            {"owner_sk": {"S": "2"}}
            if index == "ByOwner"
            else {"text": {"S": "x"}}
            if index == "ByText"
            else {}
        )
    return request


OPERATIONS = [
    *("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query"),
    *("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Query"),
    *("BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"),
    *("TransactWriteItems", "TransactWriteItems"),
    *("Scan", "ExecuteStatement", "DescribeTable", "DescribeTimeToLive", "ListTables"),
    *("ListStreams", "DescribeLimits", "DeleteTable"),
]
