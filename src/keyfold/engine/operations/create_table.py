"""CreateTable."""

from __future__ import annotations

from typing import Any

from keyfold.engine._catalog import read_body, take_number, write_body
from keyfold.engine._changes import needs_log, open_log
from keyfold.engine._definitions import (
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
from keyfold.engine._descriptions import to_table_description
from keyfold.engine._responses import Rendering
from keyfold.engine._services import Services
from keyfold.engine._settings import read_settings
from keyfold.engine._streams import follow_table, switch_stream_on
from keyfold.engine._tables import IndexBody, KeyElement, TableBody, build_table
from keyfold.engine._tags import read_tags
from keyfold.engine.shapes import known_part, table_name
from keyfold.engine.storage import Writer
from keyfold.errors import ResourceInUseException


def create_table(
    services: Services,
    request: dict[str, Any],
    rendering: Rendering,  # noqa: ARG001 - one signature for all operations
) -> dict[str, Any]:
    """Make a table; it is ready at once, though the answer says CREATING as the service does."""
    body = _read_definition(services, known_part("CreateTable", request))

    def work(writer: Writer) -> None:
        if read_body(writer, body["name"]) is not None:
            raise ResourceInUseException(f"Table already exists: {body['name']}")
        body["number"] = take_number(writer)
        if needs_log(body):
            body["log"] = open_log(writer, body, body["created_at"])
        writer.create_rows(build_table(body).rows)
        write_body(writer, body)
        follow_table(writer, None, body, body["created_at"])

    services.storage.write(work)
    services.catalog.forget()
    if "log" in body:
        services.wake_upkeep()
    described = to_table_description(services, {**body, "status": "CREATING"})
    for index in described.get("GlobalSecondaryIndexes", ()):
        index["IndexStatus"] = "CREATING"
    return {"TableDescription": described}


def _read_definition(services: Services, request: dict[str, Any]) -> TableBody:
    mode = request.get("BillingMode") or "PROVISIONED"
    throughput = request.get("ProvisionedThroughput")
    check_billing(mode, throughput)
    check_throughput(throughput)
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
    check_all_used(defined, key, [each["KeySchema"] for each in all_indexes])
    check_stream(request.get("StreamSpecification"))
    indexes: list[IndexBody] = [
        index_body(each, is_global=place >= len(local or ()), column=f"i{place}", status="ACTIVE")
        for place, each in enumerate(all_indexes)
    ]
    check_included(indexes)
    now = services.clock()
    body = TableBody(
        name=table_name(request),
        id=services.new_id(),
        number=0,
        version=1,
        next_column=len(indexes),
        created_at=now,
        status="ACTIVE",
        definitions=definitions,
        key=key,
        indexes=indexes,
        billing_mode=mode,
        throughput=throughput or {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
        is_protected=bool(request.get("DeletionProtectionEnabled")),
        tags=read_tags(request.get("Tags") or []),
        settings=read_settings(request, services, {}),
    )
    if mode == "PAY_PER_REQUEST":
        body["billing_changed_at"] = now
    stream = request.get("StreamSpecification")
    if stream is not None and stream.get("StreamEnabled"):
        switch_stream_on(body, stream["StreamViewType"], now)
    return body
