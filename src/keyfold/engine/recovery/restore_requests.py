"""Definitions of restored tables: what they inherit from their source, and what a request changes.

A restored table has its source's key, indexes, throughput, table class and encryption. It has
none of its tags, stream, expiry, protection and continuous backups, as on the service.
"""

from __future__ import annotations

from typing import Any

from keyfold.engine.context import EngineContext
from keyfold.engine.recovery.restore_job import RestoreBody, begin_restoring
from keyfold.engine.recovery.rewind_job import RESTORE_RECORD
from keyfold.engine.storage import StorageWriter
from keyfold.engine.tables.catalog import read_body, take_number, write_body
from keyfold.engine.tables.definitions import (
    check_billing,
    check_index_throughput,
    check_throughput,
    index_body,
)
from keyfold.engine.tables.descriptions import to_table_description
from keyfold.engine.tables.extras import VectorBody
from keyfold.engine.tables.settings import read_settings
from keyfold.engine.tables.table import IndexBody, TableBody, build_table
from keyfold.engine.vectors.definitions import check_vector_billing, searched_names, vector_body
from keyfold.errors import TableAlreadyExistsException, ValidationException
from keyfold.values.wording import INVALID

# The settings of the source that the restored table inherits.
_KEPT_SETTINGS = ("OnDemandThroughput", "SSEDescription", "TableClassSummary")


def create_restored(
    context: EngineContext,
    writer: StorageWriter,
    request: dict[str, Any],
    source: TableBody,
    summary: dict[str, Any],
    restore: RestoreBody,
) -> TableBody:
    """Create the table that a restore fills, and record that it is to be filled.

    Raises TableAlreadyExistsException or, for invalid overrides, ValidationException.
    """
    name = request["TargetTableName"]
    if read_body(writer, name) is not None:
        raise TableAlreadyExistsException(f"Table already exists: {name}")
    body = _restored_body(context, request, source)
    body["settings"]["RestoreSummary"] = {**summary, "RestoreInProgress": True}
    body["number"] = take_number(writer)
    writer.create_rows(build_table(body).rows)
    write_body(writer, body)
    begin_restoring(writer, name, restore)
    return body


def answer_restore(context: EngineContext, body: TableBody) -> dict[str, Any]:
    """Begin to fill a restored table; return the response, in which it is still being created."""
    context.catalog.forget()
    described = to_table_description(context, body)
    for heading in ("GlobalSecondaryIndexes", "VectorIndexes"):
        for index in described.get(heading, ()):
            index["IndexStatus"] = "CREATING"
    context.begin_job(RESTORE_RECORD, body["name"])
    return {"TableDescription": described}


def _restored_body(context: EngineContext, request: dict[str, Any], source: TableBody) -> TableBody:
    mode, throughput = _restored_billing(request, source)
    indexes = [
        *_restored_indexes(request, "LocalSecondaryIndexOverride", source, is_global=False),
        *_restored_indexes(request, "GlobalSecondaryIndexOverride", source, is_global=True),
    ]
    vectors = _restored_vectors(request, source)
    if vectors:
        check_vector_billing(mode)
    for place, index in enumerate((*indexes, *vectors)):
        index["column"] = f"i{place}"
    for index in indexes:
        if mode == "PAY_PER_REQUEST":
            index.pop("throughput", None)
        elif index["is_global"]:
            given = {"IndexName": index["name"], "ProvisionedThroughput": index.get("throughput")}
            check_index_throughput(mode, given)
    schemas = (source["key"], *(index["key"] for index in indexes))
    used = {element["AttributeName"] for schema in schemas for element in schema}
    used.update(searched_names(vectors))
    settings = {
        name: source["settings"][name] for name in _KEPT_SETTINGS if name in source["settings"]
    }
    overrides = {
        "OnDemandThroughput": request.get("OnDemandThroughputOverride"),
        "SSESpecification": request.get("SSESpecificationOverride"),
    }
    now = context.clock()
    body = TableBody(
        name=request["TargetTableName"],
        id=context.new_id(),
        number=0,
        version=1,
        next_column=len(indexes) + len(vectors),
        created_at=now,
        status="CREATING",
        definitions=[each for each in source["definitions"] if each["AttributeName"] in used],
        key=source["key"],
        indexes=indexes,
        billing_mode=mode,
        throughput=throughput,
        is_protected=False,
        tags={},
        settings=read_settings(overrides, context, settings),
    )
    if vectors:
        body["vectors"] = vectors
    if mode == "PAY_PER_REQUEST":
        body["billing_changed_at"] = now
    return body


def _restored_billing(request: dict[str, Any], source: TableBody) -> tuple[str, dict[str, Any]]:
    mode = request.get("BillingModeOverride") or source["billing_mode"]
    override = request.get("ProvisionedThroughputOverride")
    check_throughput(override)
    if override is None and mode == source["billing_mode"]:
        units = ("ReadCapacityUnits", "WriteCapacityUnits")
        return mode, {unit: source["throughput"][unit] for unit in units}
    check_billing(mode, override)
    return mode, override or {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}


def _restored_indexes(
    request: dict[str, Any], parameter: str, source: TableBody, *, is_global: bool
) -> list[IndexBody]:
    """Return the indexes of one kind: all of the source's, or those that the request selects."""
    existing = {
        index["name"]: index for index in source["indexes"] if index["is_global"] is is_global
    }
    wanted: list[dict[str, Any]] | None = request.get(parameter)
    if wanted is None:
        return [{**index, "status": "ACTIVE"} for index in existing.values()]
    chosen: list[IndexBody] = []
    for definition in wanted:
        index = existing.pop(definition["IndexName"], None)
        if index is None or not _is_same_index(index, definition):
            raise _no_match(parameter, definition)
        restored = index_body(definition, is_global=is_global, column="", status="ACTIVE")
        if "throughput" in index:
            restored.setdefault("throughput", index["throughput"])
        if "on_demand" in index:
            restored.setdefault("on_demand", index["on_demand"])
        chosen.append(restored)
    return chosen


def _restored_vectors(request: dict[str, Any], source: TableBody) -> list[VectorBody]:
    """Return the vector indexes: all of the source's, or those that the request selects."""
    parameter = "VectorIndexOverride"
    existing = {vector["name"]: vector for vector in source.get("vectors", [])}
    wanted: list[dict[str, Any]] | None = request.get(parameter)
    if wanted is None:
        return [{**vector, "status": "ACTIVE"} for vector in existing.values()]
    chosen: list[VectorBody] = []
    for definition in wanted:
        vector = existing.pop(definition["IndexName"], None)
        restored = vector_body(definition, column="", status="ACTIVE")
        if vector is None or not _is_same_vector(vector, restored):
            raise _no_match(parameter, definition)
        chosen.append(restored)
    return chosen


def _no_match(parameter: str, definition: dict[str, Any]) -> ValidationException:
    return ValidationException(
        f"{INVALID}{parameter} must match an index of the source table, "
        f"and name it once. Index: {definition['IndexName']}"
    )


def _is_same_index(index: IndexBody, definition: dict[str, Any]) -> bool:
    """Return whether a definition in a request matches an index."""
    return index["key"] == definition["KeySchema"] and _is_same_projection(
        index["projection"], definition["Projection"]
    )


def _is_same_vector(one: VectorBody, other: VectorBody) -> bool:
    """Return whether two vector indexes have the same definition."""
    return (
        one["attribute"] == other["attribute"]
        and one["dimensions"] == other["dimensions"]
        and one["distance"] == other["distance"]
        and one["search"] == other["search"]
        and _is_same_projection(one["projection"], other["projection"])
    )


def _is_same_projection(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two projections are the same, in whatever order of attributes."""
    return one["ProjectionType"] == other.get("ProjectionType") and set(
        one.get("NonKeyAttributes") or ()
    ) == set(other.get("NonKeyAttributes") or ())
