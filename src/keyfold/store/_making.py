"""Tables that are made, and waited for: a service takes a while for what an engine does at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from keyfold.errors import ResourceInUseException, ResourceNotFoundException
from keyfold.model._tables import Table
from keyfold.store._plans import ApiCall, Pause, Plan, Response, RunContext, ask
from keyfold.store._settings import StoreSettings

# Makes a call, and makes it again where the service refuses for the moment.
Ask = Callable[[str, dict[str, Any]], Plan[Response]]

# How long to wait until a table that was made, or changed, can be used: longer each time.
_FIRST_SECONDS = 0.05
_LONGEST_SECONDS = 2.0


def make_table(settings: StoreSettings, table: Table) -> Plan[None]:
    """Make a table that can be used then; one that is there is left as it is.

    One that is being removed is made anew.
    """
    table.check()
    asking = partial(ask, RunContext(settings.clock(), settings))
    while True:
        try:
            # Not asked for again: a table that a failed call has made would be taken for another's.
            yield ApiCall("CreateTable", table.to_dynamodb())
        except ResourceInUseException:
            if (yield from _is_kept(asking, table.name)):
                return
            continue
        yield from wait_until_active(asking, table.name)
        # Refused before.
        if table.ttl is not None:
            yield from asking("UpdateTimeToLive", _ttl_request(table))
        return


def _is_kept(ask: Ask, name: str) -> Plan[bool]:
    """Tell whether a table that is there stays so, once it can be used; if not, once it is gone."""
    try:
        yield from _wait(ask, name, {"CREATING", "DELETING"})
    except ResourceNotFoundException:
        return False
    return True


def wait_until_active(ask: Ask, name: str) -> Plan[None]:
    """Wait until a table can be used, and nothing of it is being changed."""
    yield from _wait(ask, name, {"CREATING", "UPDATING", "DELETING"})


def _wait(ask: Ask, name: str, while_it_is: set[str]) -> Plan[None]:
    seconds = _FIRST_SECONDS
    while True:
        described = (yield from ask("DescribeTable", {"TableName": name}))["Table"]
        if described["TableStatus"] not in while_it_is:
            return
        yield Pause(seconds)
        seconds = min(seconds * 2, _LONGEST_SECONDS)


def _ttl_request(table: Table) -> dict[str, Any]:
    """Return the request that lets a table's items expire."""
    return {
        "TableName": table.name,
        "TimeToLiveSpecification": {"AttributeName": table.ttl, "Enabled": True},
    }
