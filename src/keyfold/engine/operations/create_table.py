"""The CreateTable operation, and reading of table definitions."""

from __future__ import annotations

from typing import Any

from keyfold.api.shapes import known_part, table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.replication.replicas import warn_unreplicated
from keyfold.engine.storage import StorageWriter
from keyfold.engine.streams.change_log import needs_log, open_log
from keyfold.engine.streams.lifecycle import (
    apply_stream_change,
    ensure_unique_label,
    switch_stream_on,
)
from keyfold.engine.tables.catalog import read_body, take_number, write_body
from keyfold.engine.tables.definitions import (
    check_all_used,
    check_billing,
    check_global_indexes,
    check_included,
    check_index_throughput,
    check_local_indexes,
    check_pair_length,
    check_stream,
    check_table_key,
    check_throughput,
    index_body,
)
from keyfold.engine.tables.descriptions import to_table_description
from keyfold.engine.tables.resource_policies import new_policy
from keyfold.engine.tables.settings import read_settings
from keyfold.engine.tables.table import IndexBody, KeyElement, TableBody, build_table
from keyfold.engine.tables.tags import read_tags
from keyfold.engine.tables.throughput import check_new_warm, check_on_demand
from keyfold.engine.vectors.definitions import check_vector_indexes, searched_names, vector_body
from keyfold.errors import ResourceInUseException, ValidationException
from keyfold.values.wording import INVALID


def create_table(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Create a table; it is ready at once, though the response says CREATING like the service's."""
    body = read_definition(context, known_part("CreateTable", request))

    def work(writer: StorageWriter) -> None:
        if read_body(writer, body["name"]) is not None:
            raise ResourceInUseException(f"Table already exists: {body['name']}")
        body["number"] = take_number(writer)
        ensure_unique_label(writer, body)
        if needs_log(body):
            body["log"] = open_log(writer, body, body["created_at"])
        writer.create_rows(build_table(body).rows)
        write_body(writer, body)
        apply_stream_change(writer, None, body, body["created_at"])

    context.storage.write(work)
    context.catalog.forget()
    if "log" in body:
        context.wake_upkeep()
    described = to_table_description(context, {**body, "status": "CREATING"})
    for heading in ("GlobalSecondaryIndexes", "VectorIndexes"):
        for index in described.get(heading, ()):
            index["IndexStatus"] = "CREATING"
    return {"TableDescription": described}


def read_definition(context: EngineContext, request: dict[str, Any]) -> TableBody:
    """Return the body of the table that a request defines; raises ServiceError if it is invalid."""
    mode = request.get("BillingMode") or "PROVISIONED"
    throughput = request.get("ProvisionedThroughput")
    check_billing(mode, throughput)
    check_throughput(throughput)
    check_on_demand(request.get("OnDemandThroughput"), mode, None, may_clear=False)
    check_new_warm(request.get("WarmThroughput"), mode, throughput, None)
    check_pair_length(request["KeySchema"], "keySchema")
    for place, index in enumerate(request.get("LocalSecondaryIndexes") or (), start=1):
        check_pair_length(index["KeySchema"], f"localSecondaryIndexes.{place}.member.keySchema")
    definitions = request["AttributeDefinitions"]
    defined: list[str] = [each["AttributeName"] for each in definitions]
    key: list[KeyElement] = request["KeySchema"]
    check_table_key(key, defined)
    local = request.get("LocalSecondaryIndexes")
    if local is not None:
        check_local_indexes(local, key, defined)
    global_ = request.get("GlobalSecondaryIndexes")
    if global_ is not None:
        check_global_indexes(global_, defined, [each["IndexName"] for each in local or ()])
        for index in global_:
            check_index_throughput(mode, index)
    all_indexes = [*(local or ()), *(global_ or ())]
    vector_indexes = request.get("VectorIndexes")
    if vector_indexes is not None:
        taken = [each["IndexName"] for each in all_indexes]
        check_vector_indexes(vector_indexes, mode, defined, taken)
    vectors = [
        vector_body(each, column=f"i{place}", status="ACTIVE")
        for place, each in enumerate(vector_indexes or (), start=len(all_indexes))
    ]
    index_keys = [each["KeySchema"] for each in all_indexes]
    check_all_used(defined, key, index_keys, searched_names(vectors))
    check_stream(request.get("StreamSpecification"))
    indexes: list[IndexBody] = [
        index_body(each, is_global=place >= len(local or ()), column=f"i{place}", status="ACTIVE")
        for place, each in enumerate(all_indexes)
    ]
    check_included(indexes)
    now = context.clock()
    body = TableBody(
        name=table_name(request),
        id=context.new_id(),
        number=0,
        version=1,
        next_column=len(indexes) + len(vectors),
        created_at=now,
        status="ACTIVE",
        definitions=definitions,
        key=key,
        indexes=indexes,
        billing_mode=mode,
        throughput=throughput or {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
        is_protected=bool(request.get("DeletionProtectionEnabled")),
        tags=read_tags(request.get("Tags") or []),
        settings=read_settings(request, context, {}),
    )
    if mode == "PAY_PER_REQUEST":
        body["billing_changed_at"] = now
    if vectors:
        body["vectors"] = vectors
    if request.get("ResourcePolicy") is not None:
        body["policies"] = {"": new_policy(context, request["ResourcePolicy"], None)}
    _read_global_table(request, body)
    stream = request.get("StreamSpecification")
    if stream is not None and stream.get("StreamEnabled"):
        switch_stream_on(body, stream["StreamViewType"], now)
    return body


def _read_global_table(request: dict[str, Any], body: TableBody) -> None:
    """Record that the table is to join a multi-account global table; nothing is replicated."""
    mode = request.get("GlobalTableSettingsReplicationMode")
    source = request.get("GlobalTableSourceArn")
    if source is not None and mode != "ENABLED":
        raise ValidationException(
            f"{INVALID}GlobalTableSettingsReplicationMode must be ENABLED "
            "when GlobalTableSourceArn is specified"
        )
    if mode is not None:
        body["settings"]["GlobalTableSettingsReplicationMode"] = mode
    if source is not None:
        warn_unreplicated(f"table {body['name']}, a replica of {source}")
