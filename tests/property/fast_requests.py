"""Requests on and off the fast paths: simple, nearly simple and odd ones."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

from keyfold.engine import Engine

Request = dict[str, Any]
Drawn = st.SearchStrategy


class Text(str):
    """A subclass of str, like the members of a StrEnum."""

    __slots__ = ()


# Tables by the types of their keys. Each has the same two indexes: one projects ALL, one KEYS_ONLY.

TABLES = {"Texts": ("S", "S"), "Numbers": ("N", "N"), "Mixed": ("S", "N"), "Bytes": ("B", "B")}
SIMPLE = "Simple"
INDEXES = {"by-a": ("a", None), "by-a-n": ("a", "n")}

GOOD: dict[str, list[Any]] = {
    "S": ["a", "aa", "ab", "b", "a\0", "~", "0", "é", "\U0001f600"],
    "N": ["-12", "-1.5", "0", "0.5", "1", "9", "10", "100", "12345678901234567890"],
    "B": ["AA==", "AP8=", "YQ==", "/w=="],
}


def definition(name: str, keys: tuple[str, ...]) -> Request:
    """Return the request that creates a table."""
    named = dict(zip(("pk", "sk"), keys, strict=False))
    types = {**named, "a": "S", "n": "N"}

    def schema(*attributes: str | None) -> list[Request]:
        kinds = ("HASH", "RANGE")
        given = [each for each in attributes if each is not None]
        return [
            {"AttributeName": attribute, "KeyType": kind}
            for attribute, kind in zip(given, kinds, strict=False)
        ]

    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": kind} for attribute, kind in types.items()
        ],
        "KeySchema": schema(*named),
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index,
                "KeySchema": schema(*attributes),
                "Projection": {"ProjectionType": projection},
            }
            for (index, attributes), projection in zip(
                INDEXES.items(), ("ALL", "KEYS_ONLY"), strict=True
            )
        ],
    }


def fill(engine: Engine) -> None:
    """Create the tables with items that queries find, and load them into the engine's cache."""
    engine.execute("CreateTable", definition(SIMPLE, ("S",)))
    for place, name in enumerate(GOOD["S"]):
        put(engine, SIMPLE, {"pk": {"S": name}}, place)
    for table, (partition, sort) in TABLES.items():
        engine.execute("CreateTable", definition(table, (partition, sort)))
        for place, (one, other) in enumerate(
            (one, other) for one in GOOD[partition][:3] for other in GOOD[sort]
        ):
            put(engine, table, {"pk": {partition: one}, "sk": {sort: other}}, place)
    # The fast paths only take tables that were used since the last change of any table.
    for table in (SIMPLE, *TABLES):
        engine.execute("Scan", {"TableName": table, "Limit": 1})


def put(engine: Engine, table: str, key: Request, place: int) -> None:
    """Write an item whose attributes depend on `place`."""
    more: Request = {"b": {"BOOL": place % 2 == 0}}
    if place % 3:
        more |= {"a": {"S": GOOD["S"][place % 4]}, "n": {"N": GOOD["N"][place % 5]}}
    if place % 4:
        more["c"] = {"S": GOOD["S"][place % 6]} if place % 5 else {"N": GOOD["N"][place % 7]}
    engine.execute("PutItem", {"TableName": table, "Item": {**key, **more}})


# Values that the fast paths take, and values that they must leave to the ordinary path.


_ASCII_TEXTS = [text for text in GOOD["S"] if text.isascii()]
simple_values: dict[str, Drawn[Any]] = {
    "S": st.sampled_from([{"S": text} for text in [*_ASCII_TEXTS, "absent", "x" * 1_024]]),
    "N": st.sampled_from([{"N": number} for number in [*GOOD["N"], "-7", "0.001", "9" * 38]]),
}
odd_values: Drawn[Any] = st.sampled_from(
    [
        *({"S": data} for data in ("", "é", "\ud800", "a\udfff", "x" * 1_025, "é" * 600)),
        *({"S": data} for data in ("x" * 2_048, "x" * 2_049, 5, True, None, Text("a"))),
        *({"N": data} for data in ("01", "1.0", "1e2", "-0", "+1", "5.", ".5", " 1", "x", "")),
        *({"N": data} for data in ("1e126", "1e-131", "9" * 39, 1, 1.5, None, Text("1"), "\uff11")),
        *({"S": []}, {"S": {}}, {"N": []}, {"N": {}}),
        *({"B": data} for data in ("AA==", "YQ==", "", "!", "YQ", 1, None)),
        *({"BOOL": data} for data in (True, False, 1, "true", None)),
        *({"NULL": data} for data in (True, False, None)),
        *({"SS": data} for data in (["a"], ["a", "a"], [], [1], "a")),
        *({"NS": data} for data in (["1"], ["1", "1.0"], [])),
        *({"L": []}, {"L": [{"S": "a"}]}, {"M": {}}, {"M": {"x": {"N": "1e1"}}}, {"M": {"": {}}}),
        *({}, {"X": "a"}, {"S": "a", "N": "1"}, {"S": "a", "X": 1}, {"S": "a", "N": None}),
        *(None, "a", 1, [], [{"S": "a"}], True),
    ]
)
any_values: Drawn[Any] = st.one_of(
    *simple_values.values(), odd_values, st.sampled_from([{"B": data} for data in GOOD["B"]])
)
table_names: Drawn[Any] = st.sampled_from([SIMPLE, *TABLES])
odd_tables: Drawn[Any] = st.sampled_from(
    ["Nowhere", "no", "", "a b", None, 5, "arn:aws:dynamodb:us-east-1:000000000000:table/Texts"]
)


def _mostly(simple: Drawn[Any], odd: Drawn[Any]) -> Drawn[Any]:
    return st.integers(0, 6).flatmap(lambda draw: odd if draw == 0 else simple)


# GetItem.


def _get(table: str, *names: str) -> Drawn[Request]:
    keys = st.fixed_dictionaries(dict.fromkeys(names, simple_values["S"]))
    return keys.map(lambda key: {"TableName": table, "Key": key})


_get_options: Drawn[Request] = st.fixed_dictionaries(
    {},
    optional={
        "ConsistentRead": st.sampled_from([None, True, False]),
        "ReturnConsumedCapacity": st.sampled_from([None, "NONE", "TOTAL", "INDEXES"]),
    },
)
simple_keys: Drawn[Request] = st.tuples(
    st.one_of(_get(SIMPLE, "pk"), _get("Texts", "pk", "sk")), _get_options
).map(lambda drawn: drawn[0] | drawn[1])
key_values = st.one_of(any_values, simple_values["S"])
any_keys: Drawn[Request] = st.fixed_dictionaries(
    {"TableName": _mostly(table_names, odd_tables)},
    optional={
        "Key": _mostly(
            st.fixed_dictionaries({"pk": key_values}, optional={"sk": key_values}),
            st.one_of(
                st.sampled_from([None, {}, [], "a", {"": {"S": "a"}}, {"\ud800": {"S": "a"}}]),
                st.dictionaries(st.sampled_from(["pk", "sk", "a"]), key_values, max_size=3),
            ),
        ),
        "ConsistentRead": st.sampled_from([None, True, False, "true", 1, []]),
        "ReturnConsumedCapacity": st.sampled_from([None, "NONE", "TOTAL", "total", "", 5, []]),
    },
)


# Query.

COMPARATORS = ["=", "<", "<=", ">", ">="]


@st.composite
def simple_queries(draw: st.DrawFn) -> Request:
    """Draw a query that certainly takes the fast path: of a table or an index, filtered or not."""
    table, index = draw(
        st.sampled_from(
            [
                *((name, None) for name in ("Texts", "Numbers", "Mixed", SIMPLE)),
                *((name, index) for name in TABLES for index in INDEXES),
            ]
        )
    )
    types: list[str | None] = ["S", None] if table == SIMPLE else [*TABLES[table]]
    names: tuple[str, str | None] = ("pk", "sk")
    if index is not None:
        names, types = INDEXES[index], ["S", "N"]
    partition, sort = names
    text, values = f"{partition} = :p", {":p": draw(simple_values[str(types[0])])}
    if sort is not None and types[1] is not None and draw(st.booleans()):
        operators = [*COMPARATORS, "BETWEEN", *(["begins_with"] if types[1] == "S" else [])]
        operator = draw(st.sampled_from(operators))
        clause = f"{sort} {operator} :s"
        if operator == "begins_with":
            clause = f"begins_with({sort}, :s)"
        if operator == "BETWEEN":
            clause = f"{sort} BETWEEN :s AND :s"
        text = draw(st.sampled_from([f"{text} AND {clause}", f"{clause} AND {text}"]))
        values[":s"] = draw(simple_values[types[1]])
    request: Request = {"TableName": table, "KeyConditionExpression": text}
    if index is not None:
        request["IndexName"] = index
    if index != "by-a-n" and draw(st.booleans()):
        leaves = draw(st.lists(_simple_leaves("bcd"), min_size=1, max_size=3))
        request["FilterExpression"], more = _write_leaves(leaves)
        values |= more
    request["ExpressionAttributeValues"] = values
    if draw(st.booleans()):
        request["ProjectionExpression"] = draw(st.sampled_from(["pk", "pk, a", "a, n"]))
    request = draw(_named(request))
    limits: dict[str, Drawn[Any]] = {
        "Limit": st.one_of(st.none(), st.integers(1, 12)),
        "ScanIndexForward": st.sampled_from([None, True, False]),
        "ReturnConsumedCapacity": st.sampled_from([None, "NONE", "TOTAL", "INDEXES"]),
    }
    if "ProjectionExpression" not in request:
        limits["Select"] = st.sampled_from([None, "COUNT"])
    if index is None:
        limits["ConsistentRead"] = st.sampled_from([None, True, False])
    return request | draw(st.fixed_dictionaries({}, optional=limits))


_WORDS = re.compile(r"(?<![:\w])(pk|sk|[abcdn])(?!\w)")


@st.composite
def _named(draw: st.DrawFn, request: Request) -> Request:
    """Draw which attributes of a request's expressions get a placeholder."""
    chosen = draw(st.frozensets(st.sampled_from(["pk", "sk", *"abcdn"])))
    used: dict[str, str] = {}

    def replace(found: re.Match[str]) -> str:
        if found[1] not in chosen:
            return found[1]
        used[f"#{found[1]}"] = found[1]
        return f"#{found[1]}"

    written = {
        name: _WORDS.sub(replace, value) if name.endswith("Expression") else value
        for name, value in request.items()
    }
    return {**written, "ExpressionAttributeNames": used} if used else written


Leaf = tuple[str, str, Any]


def _simple_leaves(names: str) -> Drawn[Leaf]:
    """Draw one condition: an attribute, an operator, and the value if it has one."""
    name = st.sampled_from(names)
    return st.one_of(
        st.tuples(name, st.sampled_from([*COMPARATORS, "<>"]), st.one_of(*simple_values.values())),
        st.tuples(name, st.sampled_from(["=", "<>"]), st.booleans().map(lambda it: {"BOOL": it})),
        st.tuples(name, st.sampled_from(["attribute_exists", "attribute_not_exists"]), st.none()),
    )


def _write_leaves(leaves: list[Leaf]) -> tuple[str, dict[str, Any]]:
    """Write conditions as one expression, with its values."""
    clauses: list[str] = []
    values: dict[str, Any] = {}
    for place, (name, operator, value) in enumerate(leaves):
        if operator.startswith("attribute"):
            clauses.append(f"{operator}({name})")
        else:
            clauses.append(f"{name} {operator} :v{place}")
            values[f":v{place}"] = value
    if len(clauses) > 2:
        return f"{clauses[0]} OR {' AND '.join(clauses[1:])}", values
    return " AND ".join(clauses), values


odd_names: Drawn[Any] = st.sampled_from(
    [
        *(None, {}, [], "#pk", {"#pk": "pk"}, {"#c": "c"}, {"#pk": "pk", "#c": "c"}),
        *({"#pk": 5}, {"#pk": None}, {"#pk": ""}, {"#pk": ["pk"]}, {"pk": "pk"}, {"#": "pk"}),
    ]
)
odd_levels: Drawn[Any] = st.sampled_from([None, "NONE", "TOTAL", "INDEXES", "total", "", 5, []])

key_conditions: Drawn[Any] = st.one_of(
    st.sampled_from(
        [
            *("pk = :p", "a = :p", "pk = :p AND sk = :s", "sk >= :s AND pk = :p"),
            *("pk = :p AND sk <> :s", "pk > :p", "pk <> :p", "sk = :s", "pk = :p AND pk = :s"),
            *("pk = :p AND begins_with(sk, :s)", "begins_with(pk, :p)", "pk = :p AND n < :s"),
            *("pk = :p AND sk BETWEEN :s AND :v0", "pk = :p AND sk BETWEEN :s AND :s"),
            *("(pk = :p) AND (sk = :s)", "((pk = :p))", ":p = pk", "pk = :p OR sk = :s"),
            *("pk = :p AND NOT sk = :s", "size(pk) = :p", "pk = sk", "pk = :p AND c = :s"),
            *("#pk = :p", "pk.x = :p", "pk[0] = :p", "pk = :p AND", "pk : p", "", " ", "name = :p"),
            *("pk = :p and sk = :s", "PK = :p", "pk = :p AND sk = :s AND a = :v0", "é = :p"),
            *("pk = :p AND sk IN (:s)", "pk=:p AND\tsk>:s", "pk = :p AND contains(sk, :s)"),
        ]
    ),
    st.text("pks=:<> AND()#é\ud800", max_size=12),
    st.sampled_from([None, 5, []]),
)
filters: Drawn[Any] = st.one_of(
    st.lists(_simple_leaves("abcn"), min_size=1, max_size=2).map(lambda it: _write_leaves(it)[0]),
    st.sampled_from(
        [
            *("b = :v0", "pk = :v0", "sk = :p", "a = :p", "c < :v0", "c = :p AND b = :v0"),
            *("c = :v0 OR b = :v0", "NOT b = :v0", "(b = :v0)", "size(c) > :v0", "#c = :v0"),
            *("c = a", "c.x = :v0", "c = :nowhere", "attribute_exists(pk)", "status = :v0"),
            *("attribute_type(c, :v0)", "", "c =", "c = :v0 AND c = :v0", None, 7, "\ud800 = :v0"),
        ]
    ),
)
any_queries: Drawn[Request] = st.fixed_dictionaries(
    {
        "TableName": _mostly(table_names, odd_tables),
        "KeyConditionExpression": key_conditions,
        "ExpressionAttributeValues": _mostly(
            st.fixed_dictionaries(
                {":p": any_values}, optional={":s": any_values, ":v0": any_values}
            ),
            st.sampled_from([None, {}, [], 5, {"p": {"S": "a"}}, {"": {"S": "a"}}, {":": {}}]),
        ),
    },
    optional={
        "IndexName": st.sampled_from([*INDEXES, "nowhere", "", "x", None, 5]),
        "FilterExpression": filters,
        "Limit": st.sampled_from([None, 1, 2, 5, 0, -1, 2**31, "1", True, 1.5]),
        "ScanIndexForward": st.sampled_from([None, True, False, "false", 0]),
        "ConsistentRead": st.sampled_from([None, True, False, "true", 1]),
        "ExpressionAttributeNames": odd_names,
        "ProjectionExpression": st.sampled_from(
            [None, "pk", "a, c", "c.x", "pk.x", "#pk", "c, c", "", "name", 5, ["pk"]]
        ),
        "Select": st.sampled_from(
            [None, "COUNT", "ALL_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "ALL", "", 5, []]
        ),
        "ExclusiveStartKey": st.one_of(
            st.sampled_from([None, {}, [], "a", {"pk": {"S": "a"}}]),
            st.fixed_dictionaries({"pk": any_values, "sk": any_values}),
        ),
        "ReturnConsumedCapacity": odd_levels,
    },
)


@st.composite
def nearly_simple_queries(draw: st.DrawFn) -> Request:
    """Draw a simple query and change one thing about it."""
    request = draw(simple_queries())
    values: dict[str, Any] = request["ExpressionAttributeValues"]
    match draw(st.sampled_from(["value", "value", "key", "more", "less", "index", "other"])):
        case "value":
            return request | {
                "ExpressionAttributeValues": {
                    **values,
                    draw(st.sampled_from(sorted(values))): draw(any_values),
                }
            }
        case "key":
            text: str = request["KeyConditionExpression"]
            for operator in (" = :s", " < :s", " <= :s", " > :s", " >= :s"):
                if operator in text:
                    sort = "n" if "n" + operator in text else "sk"
                    other = draw(
                        st.sampled_from([f"begins_with({sort}, :s)", f"{sort} BETWEEN :s AND :s"])
                    )
                    text = text.replace(sort + operator, other)
            return request | {"KeyConditionExpression": text}
        case "more":
            more = draw(st.sampled_from([":more", "more", ":é", "", ":p2"]))
            return request | {"ExpressionAttributeValues": {**values, more: draw(any_values)}}
        case "less":
            absent = draw(st.sampled_from(sorted(values)))
            left = {name: value for name, value in values.items() if name != absent}
            return request | {"ExpressionAttributeValues": left}
        case "index":
            index = draw(st.sampled_from([*INDEXES, "nowhere"]))
            return request | {"IndexName": index, "ConsistentRead": draw(st.booleans())}
        case _:
            return request | draw(
                st.sampled_from(
                    [
                        *({"ConsistentRead": True}, {"ConsistentRead": "true"}, {"Limit": 0}),
                        *({"Limit": "1"}, {"ScanIndexForward": 0}, {"TableName": "Nowhere"}),
                        *({"FilterExpression": text} for text in ("pk = :p", "a = :p", "b = :p")),
                        *(
                            {"FilterExpression": text}
                            for text in ("", "#b = :p", "b = :p OR :p = c")
                        ),
                        *({"ExpressionAttributeNames": it} for it in (None, {}, {"#b": "b"})),
                        *({"Select": it} for it in ("COUNT", "ALL_PROJECTED_ATTRIBUTES")),
                        {"ReturnConsumedCapacity": "INDEXES"},
                    ]
                )
            )


items: Drawn[Any] = st.fixed_dictionaries(
    {"pk": _mostly(simple_values["S"], any_values)},
    optional={
        "sk": _mostly(simple_values["S"], any_values),
        **dict.fromkeys(("b", "c", "é"), any_values),
        **{
            name: _mostly(simple_values[kind], odd_values)
            for name, kind in (("a", "S"), ("n", "N"))
        },
    },
)
any_puts: Drawn[Request] = st.fixed_dictionaries(
    {"TableName": _mostly(st.sampled_from(["Texts", "Numbers", SIMPLE]), odd_tables)},
    optional={
        "Item": _mostly(
            items,
            st.sampled_from(
                [
                    *(
                        None,
                        {},
                        [],
                        "a",
                        {"": {"S": "a"}},
                        {"pk": {"S": "a"}, "\ud800": {"N": "1"}},
                    ),
                    {"pk": {"S": "a"}, "sk": {"S": "a"}, "large": {"S": "x" * 409_600}},
                    {"pk": {"S": "a"}, "x" * 65_536: {"S": "a"}},
                ]
            ),
        )
    },
)
simple_puts: Drawn[Request] = st.fixed_dictionaries(
    {
        "TableName": st.just(SIMPLE),
        "Item": st.fixed_dictionaries(
            {"pk": simple_values["S"]},
            optional={"a": simple_values["S"], "n": simple_values["N"], "c": simple_values["N"]},
        ),
    }
)


@st.composite
def conditional_writes(draw: st.DrawFn, *, is_simple: bool) -> tuple[str, Request]:
    """Draw a write of an item of an EnginePair, with a well-formed condition."""
    leaves = draw(
        st.lists(_simple_leaves("abcn"), min_size=1, max_size=3)
        if is_simple
        else st.lists(
            st.tuples(
                st.sampled_from(["a", "b", "c", "pk", "status", "size"]),
                st.sampled_from([*COMPARATORS, "<>", "attribute_exists"]),
                any_values,
            ),
            min_size=1,
            max_size=3,
        )
    )
    text, values = _write_leaves(leaves)
    if not is_simple:
        values |= draw(st.fixed_dictionaries({}, optional={":unused": any_values}))
        for absent in draw(
            st.lists(st.sampled_from(sorted(values)), max_size=1) if values else st.just([])
        ):
            del values[absent]
    request: Request = {"TableName": SIMPLE, "ConditionExpression": text}
    if is_simple:
        request = draw(_named(request))
    if values or (not is_simple and draw(st.booleans())):
        request["ExpressionAttributeValues"] = values
    if draw(st.booleans()):
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    key = {"pk": {"S": draw(st.sampled_from("abcd"))}}
    match draw(st.sampled_from(["PutItem", "DeleteItem", "TransactWriteItems"])):
        case "PutItem":
            return "PutItem", {**request, "Item": {**key, "new": {"BOOL": True}}}
        case "DeleteItem":
            return "DeleteItem", {**request, "Key": key}
        case _:
            return "TransactWriteItems", {**request, "Key": key}
