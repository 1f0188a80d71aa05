"""The UpdateTable operation."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from keyfold.api.shapes import known_part, table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.replication.replicas import change_replicas
from keyfold.engine.storage import RowsChanged, StorageWriter
from keyfold.engine.streams.change_log import save_changed_body
from keyfold.engine.streams.lifecycle import apply_stream_change, change_stream
from keyfold.engine.tables.backfill import begin_backfill, fill_first_batch
from keyfold.engine.tables.catalog import require_settled
from keyfold.engine.tables.definitions import (
    MAX_GLOBAL_INDEXES,
    check_global_key,
    check_included,
    check_index_throughput,
    check_projection,
    index_body,
    set_throughput,
)
from keyfold.engine.tables.descriptions import to_table_description
from keyfold.engine.tables.settings import read_settings
from keyfold.engine.tables.stats import NOTHING
from keyfold.engine.tables.table import AttributeDefinition, IndexBody, TableBody
from keyfold.engine.tables.throughput import check_on_demand, check_warm_change
from keyfold.engine.tables.update_checks import check_changes
from keyfold.engine.vectors.definitions import (
    check_new_vector_index,
    check_vector_billing,
    searched_names,
    vector_body,
)
from keyfold.errors import (
    KeyfoldError,
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    ValidationException,
)
from keyfold.values.wording import INVALID


def update_table(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Change a table's settings, or create or delete one global or vector index."""
    request = known_part("UpdateTable", request)
    name = table_name(request)
    check_changes(request)

    def work(writer: StorageWriter) -> tuple[TableBody, bool]:
        before = require_settled(writer, name)
        after: TableBody = {
            **before,
            "settings": read_settings(request, context, before["settings"]),
        }
        _change_billing(context, request, after)
        _check_throughput_settings(request, before, after)
        if request.get("TableClass") is not None:
            after["settings"]["TableClassSummary"]["LastUpdateDateTime"] = context.clock()
        protected = request.get("DeletionProtectionEnabled")
        if protected is not None:
            after["is_protected"] = protected
        now = context.clock()
        change_stream(request, after, now)
        needs_backfill = _change_indexes(request, after)
        change_replicas(context, request, after)
        save_changed_body(writer, before, after, now)
        apply_stream_change(writer, before, after, now)
        if needs_backfill:
            begin_backfill(writer, after)
        return after, needs_backfill

    after, needs_backfill = context.storage.write(work)
    context.catalog.forget()
    if "log" in after:
        context.wake_upkeep()
    counts = NOTHING
    # The change is committed: an error from here on must not make it look failed, nor cause a
    # retry. If the disk fails now, the next request reports it.
    with suppress(RowsChanged, KeyfoldError):
        counts = context.table_stats.count(after)
    described = to_table_description(context, {**after, "status": "UPDATING"}, counts)
    if needs_backfill:
        fill_first_batch(context, name)
    return {"TableDescription": described}


def _check_throughput_settings(
    request: dict[str, Any], before: TableBody, after: TableBody
) -> None:
    mode, warm = after["billing_mode"], before["settings"].get("WarmThroughput", {})
    check_on_demand(request.get("OnDemandThroughput"), mode, None, may_clear=True)
    check_warm_change(request.get("WarmThroughput"), warm, mode, after["throughput"], None)


def _change_billing(context: EngineContext, request: dict[str, Any], body: TableBody) -> None:
    mode = request.get("BillingMode") or body["billing_mode"]
    wanted = request.get("ProvisionedThroughput")
    if mode == "PAY_PER_REQUEST":
        if wanted is not None:
            raise ValidationException(
                f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits "
                "can be specified when BillingMode is PAY_PER_REQUEST"
            )
        if body["billing_mode"] != mode:
            body["billing_mode"] = mode
            body["billing_changed_at"] = context.clock()
            body["throughput"] = {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
            body["indexes"] = [_without_throughput(index) for index in body["indexes"]]
        return
    if body.get("vectors"):
        check_vector_billing(mode)
    if body["billing_mode"] != mode and wanted is None:
        raise ValidationException(
            f"{INVALID}ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
        )
    if wanted is not None:
        now = body["throughput"]
        same = all(
            now.get(name) == wanted[name] for name in ("ReadCapacityUnits", "WriteCapacityUnits")
        )
        if same and body["billing_mode"] == mode and not request.get("GlobalSecondaryIndexUpdates"):
            raise ValidationException(
                "The provisioned throughput for the table will not change. "
                "The requested value equals the current value. "
                "Current ReadCapacityUnits provisioned for the table: "
                f"{now['ReadCapacityUnits']}. "
                f"Requested ReadCapacityUnits: {wanted['ReadCapacityUnits']}. "
                "Current WriteCapacityUnits provisioned for the table: "
                f"{now['WriteCapacityUnits']}. "
                f"Requested WriteCapacityUnits: {wanted['WriteCapacityUnits']}. "
                "Refer to the Amazon DynamoDB Developer Guide for current limits "
                "and how to request higher limits."
            )
        body["throughput"] = {**now, **wanted, **_change_times(context, now, wanted)}
    body["billing_mode"] = mode


def _change_times(
    context: EngineContext, now: dict[str, Any], wanted: dict[str, Any]
) -> dict[str, float]:
    names = ("ReadCapacityUnits", "WriteCapacityUnits")
    times: dict[str, float] = {}
    if any(wanted[name] > now.get(name, 0) for name in names):
        times["LastIncreaseDateTime"] = context.clock()
    if any(wanted[name] < now.get(name, 0) for name in names):
        times["LastDecreaseDateTime"] = context.clock()
    return times


def _without_throughput(index: IndexBody) -> IndexBody:
    changed = index.copy()
    changed.pop("throughput", None)
    return changed


def _change_indexes(request: dict[str, Any], body: TableBody) -> bool:
    """Apply the index updates of a request to `body`; return whether an index needs backfill."""
    updates: list[dict[str, Any]] = request.get("GlobalSecondaryIndexUpdates") or []
    vector_updates: list[dict[str, Any]] = request.get("VectorIndexUpdates") or []
    structural = [update for update in (*updates, *vector_updates) if not update.get("Update")]
    if len(structural) > 1:
        raise LimitExceededException(
            "Subscriber limit exceeded: Only 1 online index can be created or deleted "
            "simultaneously per table"
        )
    indexes = (*body["indexes"], *body.get("vectors", ()))
    if structural and any(index["status"] != "ACTIVE" for index in indexes):
        raise ResourceInUseException(
            f"Attempt to change a resource which is still in use: "
            f"Table is being updated: {body['name']}"
        )
    needs_backfill = False
    for update in updates:
        if update.get("Create"):
            _add_index(request, update["Create"], body)
            needs_backfill = True
        elif update.get("Delete"):
            _remove_index(update["Delete"]["IndexName"], body)
        else:
            _change_index(update["Update"], body)
    for update in vector_updates:
        if update.get("Create"):
            _add_vector_index(request, update["Create"], body)
            needs_backfill = True
        else:
            _remove_vector_index(update["Delete"]["IndexName"], body)
    return needs_backfill


def _add_vector_index(request: dict[str, Any], wanted: dict[str, Any], body: TableBody) -> None:
    definitions = _merge_definitions(request, body)
    check_new_vector_index(wanted, body, definitions)
    vector = vector_body(wanted, column=f"i{body['next_column']}", status="CREATING")
    body["vectors"] = [*body.get("vectors", []), vector]
    body["next_column"] += 1
    body["definitions"] = _used_definitions(body, definitions)


def _remove_vector_index(name: str, body: TableBody) -> None:
    vectors = body.get("vectors", [])
    remaining = [vector for vector in vectors if vector["name"] != name]
    if len(remaining) == len(vectors):
        raise ResourceNotFoundException("Requested resource not found")
    body["vectors"] = remaining
    definitions = {each["AttributeName"]: each for each in body["definitions"]}
    body["definitions"] = _used_definitions(body, definitions)


def _merge_definitions(request: dict[str, Any], body: TableBody) -> dict[str, AttributeDefinition]:
    """Return the attribute definitions of the table and the request, by name."""
    given: list[AttributeDefinition] = request.get("AttributeDefinitions") or []
    definitions = {each["AttributeName"]: each for each in body["definitions"]}
    for each in given:
        known = definitions.setdefault(each["AttributeName"], each)
        if known["AttributeType"] != each["AttributeType"]:
            raise ValidationException(
                f"{INVALID}Attributes cannot be redefined. Please check that your attribute "
                "has the same type as previously defined. "
                f"Existing schema: Schema:[SchemaElement: key{{{_describe(known)}}}] "
                f"New schema: Schema:[SchemaElement: key{{{_describe(each)}}}]"
            )
    return definitions


def _add_index(request: dict[str, Any], wanted: dict[str, Any], body: TableBody) -> None:
    name = wanted["IndexName"]
    given: list[AttributeDefinition] = request.get("AttributeDefinitions") or []
    definitions = _merge_definitions(request, body)
    if any(index["name"] == name for index in (*body["indexes"], *body.get("vectors", ()))):
        raise ValidationException("Attempting to create an index which already exists")
    # The request must define the index's key attributes even if the table defines them already.
    defined = [each["AttributeName"] for each in given]
    if any(element["AttributeName"] not in defined for element in wanted["KeySchema"]):
        raise ValidationException(
            f"{INVALID}AttributeDefinitions is not specified for index: {name}"
        )
    check_global_key(wanted["KeySchema"], defined)
    check_projection(wanted["Projection"])
    globals_ = [index for index in body["indexes"] if index["is_global"]]
    if len(globals_) >= MAX_GLOBAL_INDEXES:
        raise LimitExceededException(
            f"{INVALID}GlobalSecondaryIndex count exceeds the per-table limit "
            f"of {MAX_GLOBAL_INDEXES}"
        )
    _check_throughput(body, wanted)
    column = f"i{body['next_column']}"
    index = index_body(wanted, is_global=True, column=column, status="CREATING")
    body["indexes"] = [*body["indexes"], index]
    check_included(body["indexes"])
    body["next_column"] += 1
    body["definitions"] = _used_definitions(body, definitions)


def _check_throughput(body: TableBody, wanted: dict[str, Any]) -> None:
    name, throughput = wanted["IndexName"], wanted.get("ProvisionedThroughput")
    if body["billing_mode"] == "PAY_PER_REQUEST" and throughput is not None:
        raise ValidationException(
            f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
            f"for index: {name} when BillingMode is PAY_PER_REQUEST"
        )
    check_index_throughput(body["billing_mode"], wanted)


def _remove_index(name: str, body: TableBody) -> None:
    _find_index(name, body)
    body["indexes"] = [index for index in body["indexes"] if index["name"] != name]
    definitions = {each["AttributeName"]: each for each in body["definitions"]}
    body["definitions"] = _used_definitions(body, definitions)


def _change_index(wanted: dict[str, Any], body: TableBody) -> None:
    found = _find_index(wanted["IndexName"], body)
    if wanted.get("ProvisionedThroughput") is not None:
        _check_throughput(body, wanted)
    mode, name = body["billing_mode"], wanted["IndexName"]
    check_on_demand(wanted.get("OnDemandThroughput"), mode, name, may_clear=True)
    warm, units = found.get("warm", {}), found.get("throughput")
    check_warm_change(wanted.get("WarmThroughput"), warm, mode, units, name)
    changed = found.copy()
    set_throughput(changed, wanted)
    body["indexes"] = [changed if index is found else index for index in body["indexes"]]


def _find_index(name: str, body: TableBody) -> IndexBody:
    for index in body["indexes"]:
        if index["name"] == name:
            if not index["is_global"]:
                raise ValidationException(
                    f"Cannot delete an index that is not a GlobalSecondaryIndex: {name}"
                )
            return index
    raise ResourceNotFoundException("Requested resource not found")


def _used_definitions(
    body: TableBody, definitions: dict[str, AttributeDefinition]
) -> list[AttributeDefinition]:
    schemas = (body["key"], *(index["key"] for index in body["indexes"]))
    used = {element["AttributeName"] for schema in schemas for element in schema}
    used.update(searched_names(body.get("vectors", ())))
    return [each for name, each in definitions.items() if name in used]


def _describe(definition: AttributeDefinition) -> str:
    return f"{definition['AttributeName']}:{definition['AttributeType']}:HASH"
