"""The scenario, run with the AWS command line interface.

The commands run inside one interpreter, through the interface's own entry point: starting a
process for each would take a minute.
"""

# pyright: basic
# pyright: reportMissingImports=false
from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from awscli.clidriver import create_clidriver
from reporting import (
    EVERY_TYPE,
    TABLE,
    TOKEN,
    URL,
    Report,
    describe,
    from_wire,
    table_request,
    wire,
)

report = Report()
driver = create_clidriver()

FAILED = re.compile(r"An error occurred \((\w+)\) when calling the \w+ operation: ?(.*)", re.DOTALL)


def run(*command: str, **options: Any) -> tuple[int, str, str]:
    """Run `aws dynamodb COMMAND --option value …`; return its status and output."""
    # The interface writes bytes where possible, so its streams need a `buffer`.
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with redirect_stdout(out), redirect_stderr(err):
        status = driver.main(_arguments(*command, **options))
    return status, _printed(out), _printed(err)


def _arguments(*command: str, **options: Any) -> list[str]:
    arguments = ["dynamodb", *command, "--endpoint-url", URL]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(flag)
        elif isinstance(value, (list, dict)):
            arguments += [flag, json.dumps(value)]
        else:
            arguments += [flag, str(value)]
    return arguments


def _printed(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def aws(*command: str, **options: Any) -> dict[str, Any]:
    """Run a command and return its parsed output."""
    status, out, err = run(*command, **options)
    if status:
        sys.exit(f"aws dynamodb {command}: {status}: {err}")
    return json.loads(out) if out.strip() else {}


def error_of(*command: str, **options: Any) -> dict[str, Any]:
    """Run a command that fails and return the error that it prints."""
    status, _, err = run(*command, **options)
    found = FAILED.search(err)
    if not status or not found:
        return {"code": f"none, but {status}: {err}"}
    return {"code": found[1], "message": found[2].strip()}


def text(value: str) -> dict[str, Any]:
    return {"S": value}


def number(value: int) -> dict[str, Any]:
    return {"N": str(value)}


def key(pk: str, sk: int) -> dict[str, Any]:
    return {"pk": text(pk), "sk": number(sk)}


def sort_keys(items: list[dict[str, Any]]) -> list[int]:
    return [int(item["sk"]["N"]) for item in items]


def create() -> dict[str, Any]:
    request = table_request()
    return {
        "table_name": TABLE,
        "key_schema": request["KeySchema"],
        "attribute_definitions": request["AttributeDefinitions"],
        "global_secondary_indexes": request["GlobalSecondaryIndexes"],
        "local_secondary_indexes": request["LocalSecondaryIndexes"],
        "billing_mode": request["BillingMode"],
    }


def tables() -> None:
    aws("create-table", **create())
    aws("wait", "table-exists", table_name=TABLE)
    for name, seen in describe(aws("describe-table", table_name=TABLE)["Table"]).items():
        report.add(name, seen)
    # Once as a separate process, as users run it.
    listed = subprocess.run(
        [sys.executable, "-m", "awscli", *_arguments("list-tables", query="TableNames")],
        check=True,
        capture_output=True,
    )
    report.add("tables.listed", TABLE in json.loads(listed.stdout))
    aws(
        "update-time-to-live",
        table_name=TABLE,
        time_to_live_specification="Enabled=true,AttributeName=expires",
    )
    described = aws("describe-time-to-live", table_name=TABLE)
    report.add("tables.expiry", described["TimeToLiveDescription"]["AttributeName"])


def items() -> None:
    # The interface takes binaries as text, and one of these is not valid text.
    item = {name: value for name, value in EVERY_TYPE.items() if name != "binary"}
    item["binaries"] = {"BS": sorted(one.decode() for one in from_wire(item["binaries"]))}
    aws("put-item", table_name=TABLE, item=item)
    got = aws("get-item", table_name=TABLE, key=key("types", 1), consistent_read=True)
    report.add("items.stored", wire(got["Item"]))
    got = aws("get-item", table_name=TABLE, key=key("types", 2))
    report.add("items.absent", got.get("Item"))
    got = aws(
        "get-item",
        table_name=TABLE,
        key=key("types", 1),
        projection_expression="#t, #m.#i, #l[1]",
        expression_attribute_names={"#t": "text", "#m": "map", "#i": "inner", "#l": "list"},
    )
    report.add("items.projected", wire(got["Item"]))
    updated = aws(
        "update-item",
        table_name=TABLE,
        key=key("counter", 1),
        update_expression="SET #o = :o ADD #n :n, #t :t",
        expression_attribute_names={"#o": "owner", "#n": "count", "#t": "tags"},
        expression_attribute_values={":o": text("ada"), ":n": number(2), ":t": {"SS": ["x"]}},
        return_values="ALL_NEW",
    )
    report.add("items.updated", wire(updated["Attributes"]))
    updated = aws(
        "update-item",
        table_name=TABLE,
        key=key("counter", 1),
        update_expression="SET #n = #n + :n REMOVE #t",
        expression_attribute_names={"#n": "count", "#t": "tags"},
        expression_attribute_values={":n": number(3)},
        return_values="UPDATED_NEW",
    )
    report.add("items.incremented", wire(updated["Attributes"]))
    deleted = aws("delete-item", table_name=TABLE, key=key("counter", 1), return_values="ALL_OLD")
    report.add("items.deleted", wire(deleted["Attributes"]))


def conditions() -> None:
    created = {**key("condition", 1), "owner": text("ada")}
    absent = "attribute_not_exists(pk)"
    aws("put-item", table_name=TABLE, item=created, condition_expression=absent)
    report.add(
        "conditions.unmet",
        error_of(
            "put-item",
            table_name=TABLE,
            item={**created, "owner": text("bob")},
            condition_expression=absent,
            return_values_on_condition_check_failure="ALL_OLD",
        ),
    )
    aws(
        "update-item",
        table_name=TABLE,
        key=key("condition", 1),
        update_expression="SET #o = :new",
        condition_expression="#o = :old AND attribute_exists(sk)",
        expression_attribute_names={"#o": "owner"},
        expression_attribute_values={":new": text("cy"), ":old": text("ada")},
    )
    got = aws("get-item", table_name=TABLE, key=key("condition", 1))
    report.add("conditions.met", wire(got["Item"]))


def batches() -> None:
    numbers = range(30)
    for chunk in (numbers[:25], numbers[25:]):
        puts = [{"PutRequest": {"Item": _paged(i)}} for i in chunk]
        assert aws("batch-write-item", request_items={TABLE: puts})["UnprocessedItems"] == {}
    keys = [key("paged", i) for i in (3, 29, 77, 12)]
    response = aws("batch-get-item", request_items={TABLE: {"Keys": keys}})
    report.add("batches.read", sorted(sort_keys(response["Responses"][TABLE])))
    deletes = [{"DeleteRequest": {"Key": key("paged", i)}} for i in range(10, 30)]
    aws("batch-write-item", request_items={TABLE: deletes})
    report.add("batches.left", _query(select="COUNT")["Count"])


def _paged(i: int) -> dict[str, Any]:
    owner = "even" if i % 2 == 0 else "odd"
    return {**key("paged", i), "owner": text(owner), "rank": number(100 - i)}


def _query(condition: str = "pk = :pk", **options: Any) -> dict[str, Any]:
    values = {":pk": text("paged"), **options.pop("values", {})}
    return aws(
        "query",
        table_name=TABLE,
        key_condition_expression=condition,
        expression_attribute_values=values,
        **options,
    )


def queries() -> None:
    pages: list[list[int]] = []
    start: dict[str, Any] = {}
    while True:
        # With these two options the interface returns pages as the API does.
        page = _query(limit=4, no_paginate=True, **start)
        pages.append(sort_keys(page["Items"]))
        if "LastEvaluatedKey" not in page:
            break
        start = {"exclusive_start_key": page["LastEvaluatedKey"]}
    report.add("queries.pages", pages)
    first = _query(page_size=3, max_items=5)
    rest = _query(page_size=3, starting_token=first["NextToken"])
    report.add("queries.walked", sort_keys(first["Items"]) + sort_keys(rest["Items"]))
    last = _query(no_scan_index_forward=True, max_items=3)
    report.add("queries.descending", sort_keys(last["Items"]))
    between = _query("pk = :pk AND sk BETWEEN :a AND :b", values={":a": number(3), ":b": number(5)})
    report.add("queries.between", sort_keys(between["Items"]))
    odd = _query(
        filter_expression="#o = :o",
        expression_attribute_names={"#o": "owner"},
        values={":o": text("odd")},
    )
    report.add("queries.filtered", sort_keys(odd["Items"]))
    report.add("queries.counts", [odd["Count"], odd["ScannedCount"]])
    owned = aws(
        "query",
        table_name=TABLE,
        index_name="by_owner",
        key_condition_expression="#o = :o AND sk > :sk",
        expression_attribute_names={"#o": "owner"},
        expression_attribute_values={":o": text("even"), ":sk": number(2)},
    )
    report.add("queries.by_owner", sort_keys(owned["Items"]))
    ranked = _query(index_name="by_rank", max_items=3)
    report.add("queries.by_rank", sort_keys(ranked["Items"]))
    scanned = [
        one
        for segment in range(2)
        for one in sort_keys(
            aws(
                "scan",
                table_name=TABLE,
                segment=segment,
                total_segments=2,
                filter_expression="pk = :pk",
                expression_attribute_values={":pk": text("paged")},
                page_size=5,
            )["Items"]
        )
    ]
    report.add("queries.scanned", sorted(scanned))


def transactions() -> None:
    aws("put-item", table_name=TABLE, item={**key("account", 1), "balance": number(10)})
    aws("put-item", table_name=TABLE, item={**key("account", 2), "balance": number(0)})
    aws("put-item", table_name=TABLE, item=key("account", 3))
    moves = [
        _move(1, -4, condition="balance >= :least", values={":least": number(4)}),
        _move(2, 4),
        {"Delete": {"TableName": TABLE, "Key": key("account", 3)}},
        {"Put": {"TableName": TABLE, "Item": key("account", 4)}},
    ]
    for _ in range(2):
        aws("transact-write-items", transact_items=moves, client_request_token=TOKEN)
    report.add("transactions.read", _read(1, 2, 4))
    report.add("transactions.absent", _read(1, 3)[1])
    check = {
        "TableName": TABLE,
        "Key": key("account", 4),
        "ConditionExpression": "attribute_exists(pk)",
    }
    too_much = _move(
        1,
        -40,
        condition="balance >= :least",
        values={":least": number(40)},
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    report.add(
        "transactions.cancelled",
        error_of(
            "transact-write-items",
            transact_items=[{"ConditionCheck": check}, too_much, _move(2, 40)],
        ),
    )
    report.add("transactions.unchanged", _read(1, 2))
    mismatch = error_of(
        "transact-write-items", transact_items=moves[:2], client_request_token=TOKEN
    )
    report.add("transactions.mismatch", mismatch["code"])


def _move(sk: int, by: int, *, condition: str = "", **more: Any) -> dict[str, Any]:
    update = {
        "TableName": TABLE,
        "Key": key("account", sk),
        "UpdateExpression": "SET balance = balance + :by",
        "ExpressionAttributeValues": {":by": number(by), **more.pop("values", {})},
        **more,
    }
    if condition:
        update["ConditionExpression"] = condition
    return {"Update": update}


def _read(*numbers: int) -> list[dict[str, Any] | None]:
    gets = [{"Get": {"TableName": TABLE, "Key": key("account", sk)}} for sk in numbers]
    responses = aws("transact-get-items", transact_items=gets)["Responses"]
    return [wire(one.get("Item")) for one in responses]


def errors() -> None:
    missing = f"{TABLE}-missing"
    report.add("errors.no_table", error_of("get-item", table_name=missing, key=key("a", 1)))
    report.add("errors.table_in_use", error_of("create-table", **create()))
    report.add("errors.empty_key", error_of("put-item", table_name=TABLE, item=key("", 1)))
    report.add(
        "errors.no_index",
        error_of(
            "query",
            table_name=TABLE,
            index_name="by_nothing",
            key_condition_expression="pk = :pk",
            expression_attribute_values={":pk": text("a")},
        ),
    )
    report.add(
        "errors.wrong_type",
        error_of("put-item", table_name=TABLE, item={"pk": text("a"), "sk": text("1")}),
    )
    report.add(
        "errors.syntax",
        error_of(
            "update-item",
            table_name=TABLE,
            key=key("a", 1),
            update_expression="SET = :v",
            expression_attribute_values={":v": number(1)},
        ),
    )


def end() -> None:
    aws("delete-table", table_name=TABLE)
    aws("wait", "table-not-exists", table_name=TABLE)
    report.add("tables.deleted", error_of("describe-table", table_name=TABLE))


for part in (tables, items, conditions, batches, queries, transactions, errors, end):
    part()
report.print()
