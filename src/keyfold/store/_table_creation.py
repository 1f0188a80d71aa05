"""Creates tables and waits until they are active: at once on an engine, not on a service."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import Any

from keyfold.errors import ResourceInUseException, ResourceNotFoundException
from keyfold.model._tables import Table
from keyfold.store._plans import ApiCall, MakeCall, Plan, repeat_call
from keyfold.store._retries import BACKOFF
from keyfold.store._settings import StoreSettings
from keyfold.store._unique_marker import guard_names, plan_record_complete


def plan_create_table(settings: StoreSettings, table: Table) -> Plan[None]:
    """Create a table and wait until it is active; an existing table is left unchanged.

    If a table of that name is being deleted, wait for that, and create it again.
    """
    table.check()
    call = partial(repeat_call, settings.jitter)
    while True:
        try:
            # Not retried: a table that a failed call did create would look like an existing one.
            yield ApiCall("CreateTable", table.to_dynamodb())
        except ResourceInUseException:
            if (yield from _is_kept(call, table.name)):
                return
            continue
        yield from wait_until_active(call, table.name)
        # Refused by the service until the table is active.
        if table.ttl is not None:
            yield from call("UpdateTimeToLive", _ttl_request(table))
        # The table is empty, and every write from now on maintains the guards.
        yield from plan_record_complete(call, table, table.name, guard_names(table))
        return


def plan_drop_table(table: Table) -> Plan[None]:
    """Delete a table and all its items."""
    # Not retried: the table that a failed call did delete would look like a missing one.
    yield ApiCall("DeleteTable", {"TableName": table.name})


def _is_kept(call: MakeCall, name: str) -> Plan[bool]:
    """Wait until a table is created or deleted; return whether it exists then."""
    try:
        yield from _wait(call, name, {"CREATING", "DELETING"})
    except ResourceNotFoundException:
        return False
    return True


def wait_until_active(call: MakeCall, name: str) -> Plan[None]:
    """Wait until a table is active: neither being created, updated nor deleted."""
    yield from _wait(call, name, {"CREATING", "UPDATING", "DELETING"})


def _wait(call: MakeCall, name: str, while_it_is: set[str]) -> Plan[None]:
    for number in count(1):
        described = (yield from call("DescribeTable", {"TableName": name}))["Table"]
        if described["TableStatus"] not in while_it_is:
            return
        yield BACKOFF.pause(number)


def _ttl_request(table: Table) -> dict[str, Any]:
    """Return the payload that enables TTL for a table."""
    return {
        "TableName": table.name,
        "TimeToLiveSpecification": {"AttributeName": table.ttl, "Enabled": True},
    }
